"""Rules of instances and the GPUs they run on."""

from collections.abc import Iterator, Mapping
from typing import Any

from apps.serving.backends.triton.preflight.tensors import is_tensorrt
from apps.serving.preflight import Fault, Rule, Severity, Subject

FIELD = "instance_group"
# Backends that run on a GPU or not at all.
NEED_GPU = frozenset({"tensorrt", "tensorrtllm", "dali"})


def _groups(subject: Subject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, group in enumerate(subject.get(FIELD, ())):
        yield group.get("kind", "KIND_AUTO"), {"place": place, **group}


def _gpus_elsewhere(subject: Subject) -> Iterator[Fault]:
    for kind, group in _groups(subject):
        if kind in ("KIND_CPU", "KIND_MODEL") and group.get("gpus"):
            yield Fault(f"instance_group {group['place']} is {kind} and names GPUs {group['gpus']}", FIELD)


def _profiles(subject: Subject) -> Iterator[Fault]:
    for _, group in _groups(subject):
        if group.get("profile") and not is_tensorrt(subject):
            yield Fault(f"instance_group {group['place']} names a profile", FIELD)


def _needs_gpu(subject: Subject) -> str:
    kinds = {kind for kind, _ in _groups(subject)}
    if "KIND_GPU" in kinds:
        return "instance_group asks for KIND_GPU"
    backend = subject.get("backend", "") or ("tensorrt" if is_tensorrt(subject) else "")
    return f"the backend {backend!r} runs on a GPU only" if backend in NEED_GPU else ""


def _no_gpu(subject: Subject) -> Iterator[Fault]:
    why, server = _needs_gpu(subject), subject.at
    if why and server.gpus == 0:
        yield Fault(f"{server.name} has no GPU: {why}", FIELD)


def _gpu_unknown(subject: Subject) -> Iterator[Fault]:
    why, server = _needs_gpu(subject), subject.at
    if why and server.gpus is None:
        yield Fault(f"nobody said whether {server.name} has a GPU: {why}", FIELD)


def _ids(subject: Subject) -> Iterator[Fault]:
    server = subject.at
    if not server.gpus:
        return
    for _, group in _groups(subject):
        strange = [gpu for gpu in group.get("gpus", ()) if not 0 <= gpu < server.gpus]
        if strange:
            has = f"{server.gpus} GPU{'s' if server.gpus > 1 else ''}"
            yield Fault(f"instance_group {group['place']} names GPUs {strange}, {server.name} has {has}", FIELD)


RULES = (
    Rule(
        "gpus-without-gpu",
        Severity.ERROR,
        "Only KIND_GPU and KIND_AUTO name GPUs.",
        "The server refuses gpus for KIND_CPU and KIND_MODEL.",
        "Drop gpus, or make it KIND_GPU.",
        _gpus_elsewhere,
    ),
    Rule(
        "profile",
        Severity.ERROR,
        "Optimisation profiles are TensorRT's alone.",
        "The server refuses them for any other backend.",
        "Drop profile.",
        _profiles,
    ),
    Rule(
        "gpu-missing",
        Severity.ERROR,
        "What needs a GPU goes where one is.",
        "The server refuses KIND_GPU without one, and a plan cannot run on a CPU.",
        "Promote to servers with GPUs (skip this one), or use KIND_CPU or KIND_AUTO. The server's label gpus says how "
        "many it has.",
        _no_gpu,
        needs=("server",),
    ),
    Rule(
        "gpu-unknown",
        Severity.WARNING,
        "It is known whether a server has a GPU.",
        "A Triton does not tell over its control API, so somebody has to.",
        "Give the server the label gpus with their number, 0 for none.",
        _gpu_unknown,
        needs=("server",),
    ),
    Rule(
        "gpu-id",
        Severity.ERROR,
        "A GPU that is named is there.",
        "The server refuses an instance_group that names one it does not have.",
        "Name GPUs from 0 to the server's last, or none: then all are used.",
        _ids,
        needs=("server",),
    ),
)
