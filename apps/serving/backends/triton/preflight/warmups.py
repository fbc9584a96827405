"""Rules of model_warmup and version_policy in the file: Conch makes its own, but what would end a server is refused."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from apps.serving.backends.triton import warmup
from apps.serving.backends.triton.preflight.ensembles import is_ensemble
from apps.serving.backends.triton.preflight.tensors import shown
from apps.serving.preflight import Fault, Rule, Severity, Subject

FIELD = "model_warmup"
SOURCES = ("zero_data", "random_data", "input_data_file")
# Above this a product of dims does not fit the server's own numbers.
MOST_ELEMENTS = 2**63 - 1


def _entries(subject: Subject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for entry in subject.get(FIELD, ()):
        yield f"warm-up {shown(entry.get('name', ''))}", entry


def _inputs(subject: Subject) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for what, entry in _entries(subject):
        for name, tensor in entry.get("inputs", {}).items():
            yield f"{what}, input {shown(name)}", str(name), tensor


def _sizes(subject: Subject) -> Iterator[Fault]:
    for what, entry in _entries(subject):
        needed = warmup.entry_bytes(entry)
        if needed > warmup.LIMIT_BYTES:
            much = "more bytes than a server can count" if needed > MOST_ELEMENTS else f"{needed:,} bytes"
            yield Fault(f"{what} needs {much}, the limit is {warmup.LIMIT_BYTES:,}", FIELD)


def _batches(subject: Subject) -> Iterator[Fault]:
    largest = max(1, subject.get("max_batch_size", 0))
    for what, entry in _entries(subject):
        if entry.get("batch_size", 0) > largest:
            yield Fault(
                f"{what} has batch_size {entry['batch_size']}, at most {largest} is taken", f"{FIELD}.batch_size"
            )


def _tensors(subject: Subject) -> Iterator[Fault]:
    declared = {str(one.get("name")): one for one in subject.get("input", ())}
    for what, name, tensor in _inputs(subject):
        if declared and name not in declared:
            yield Fault(f"{what} is no input of the model", f"{FIELD}.inputs")
        elif declared and tensor.get("data_type") != declared[name].get("data_type"):
            wants = declared[name].get("data_type")
            yield Fault(f"{what} has data_type {tensor.get('data_type')}, the model wants {wants}", f"{FIELD}.inputs")
        if any(size < 1 for size in tensor.get("dims", ())):
            yield Fault(f"{what} has dims {list(tensor['dims'])}: each must be given, 1 or more", f"{FIELD}.inputs")
        elif declared.get(name) and not _fits(tensor.get("dims", ()), declared[name].get("dims", ())):
            wants = list(declared[name].get("dims", ()))
            yield Fault(f"{what} has dims {list(tensor.get('dims', ()))}, the model wants {wants}", f"{FIELD}.inputs")
        if not any(source in tensor for source in SOURCES):
            yield Fault(f"{what} says nothing of its data", f"{FIELD}.inputs")


def _fits(given: Any, wanted: Any) -> bool:
    return len(given) == len(wanted) and all(want in (-1, got) for got, want in zip(given, wanted, strict=True))


def _files(subject: Subject) -> Iterator[Fault]:
    for what, _, tensor in _inputs(subject):
        name = str(tensor.get("input_data_file", ""))
        if not name:
            continue
        if name.startswith("/") or ".." in name.split("/") or "\\" in name:
            yield Fault(f"{what} reads {shown(name)}, which leads out of the model's directory", f"{FIELD}.inputs")
        elif subject.files is not None and f"shared/warmup/{name}" not in subject.files:
            yield Fault(f"{what} reads {shown(name)}, and there is no warmup/{name} beside config.pbtxt", FIELD)


def _empty(subject: Subject) -> Iterator[Fault]:
    for what, entry in _entries(subject):
        if not entry.get("batch_size") or not entry.get("inputs"):
            lacks = "inputs" if entry.get("batch_size") else "batch_size"
            yield Fault(f"{what} has no {lacks}: the server runs nothing and says nothing", FIELD)


def _unused(subject: Subject) -> Iterator[Fault]:
    if subject.get(FIELD):
        yield Fault(
            "model_warmup gives only its sizes: Conch warms with zeros, of its first entry's dims where dims are -1",
            FIELD,
        )


def _policy(subject: Subject) -> Iterator[Fault]:
    if subject.get("version_policy") is not None:
        yield Fault("version_policy is not used: Conch decides which versions are loaded", "version_policy")


def _agents(subject: Subject) -> Iterator[Fault]:
    if subject.get("model_repository_agents.agents"):
        yield Fault(
            "model_repository_agents run on the server before each load; Conch neither checks nor needs them",
            "model_repository_agents",
        )


def _large_inputs(subject: Subject) -> Iterator[Fault]:
    """Inputs whose smallest request is larger than anything Conch sends."""
    if is_ensemble(subject):
        return
    for tensor in subject.get("input", ()):
        elements = math.prod(abs(size) for size in tensor.get("dims", ()))
        if elements > MOST_ELEMENTS:
            yield Fault(f"input {shown(tensor.get('name'))}: its dims multiply to more than 2^63", "input.dims")
        elif elements > warmup.LIMIT_BYTES:
            yield Fault(
                f"input {shown(tensor.get('name'))} has at least {elements:,} elements: too many for a warm-up", "input"
            )


RULES = (
    Rule(
        "warmup-size",
        Severity.ERROR,
        "A warm-up is of a size a server can hold.",
        "A model_warmup whose dims multiply to something huge ends the whole server (signal 11) while it loads.",
        "Use dims of a real request.",
        _sizes,
    ),
    Rule(
        "warmup-batch",
        Severity.ERROR,
        "A warm-up's batch is at most max_batch_size.",
        "A larger one ended the whole server in 8 of 10 loads, and fails the load in the others.",
        "Lower the warm-up's batch_size.",
        _batches,
    ),
    Rule(
        "warmup-inputs",
        Severity.ERROR,
        "A warm-up's inputs are the model's, with type, dims and data.",
        "The server fails the load otherwise.",
        "Name each input with its data_type, dims without -1, and zero_data, random_data or input_data_file.",
        _tensors,
    ),
    Rule(
        "warmup-file",
        Severity.ERROR,
        "A warm-up's file lies in the model's warmup directory.",
        "The server opens the path as it is written, wherever it leads, and fails the load when nothing is there.",
        "Put the file into warmup/ beside config.pbtxt and name it without directories above it.",
        _files,
    ),
    Rule(
        "warmup-empty",
        Severity.WARNING,
        "A warm-up runs something.",
        "With batch_size 0 or without inputs the server passes it over, and the first client meets a cold model.",
        "Give batch_size and inputs, or leave model_warmup to Conch.",
        _empty,
    ),
    Rule(
        "warmup-unused",
        Severity.NOTE,
        "Conch decides the warm-up.",
        "All versions of a model must say the same warm-up to stand side by side. Where dims are -1, zeros of the "
        "sizes in the first entry are sent, else of 1.",
        "Nothing needs to be done. For real data add samples to the model: each new version is warmed with them.",
        _unused,
    ),
    Rule(
        "version-policy-unused",
        Severity.NOTE,
        "Conch decides which versions are loaded.",
        "An unversioned request goes to the highest loaded version, so the loaded set is what a rollout changes.",
        "Nothing needs to be done.",
        _policy,
    ),
    Rule(
        "repository-agents",
        Severity.NOTE,
        "Agents run on the server.",
        "They may rewrite the model before each load; Conch compares what it published.",
        "Nothing needs to be done, unless you rely on Conch's check sums: it checks its own.",
        _agents,
    ),
    Rule(
        "input-size",
        Severity.WARNING,
        "A request of one row fits into a warm-up.",
        "Conch warms up with zeros of the input's dims, 64 MiB at most.",
        "Add a sample of a usual size to the model.",
        _large_inputs,
    ),
)
