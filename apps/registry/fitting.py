"""Whether a sample can be sent to a version at all, by the version's signature. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

Entry = Mapping[str, Any]
MOST = 20


class Asked(Protocol):
    """What is known of a version before it is asked: its signature and its configuration."""

    @property
    def signature(self) -> Mapping[str, Any]: ...  # noqa: D102 - as a version has it

    @property
    def config(self) -> Mapping[str, Any]: ...  # noqa: D102 - as a version has it


def split(samples: Iterable[Any], version: Asked) -> tuple[list[Any], list[str]]:
    """The samples that the version can take, in order, and in words why it cannot take the others."""
    can_be_ragged = is_ragged(version.config)
    judged = [(one, misfits(one.inputs, one.outputs, version.signature, is_ragged=can_be_ragged)) for one in samples]
    return [one for one, faults in judged if not faults], [
        f"{one.name}: {faults[0]}" for one, faults in judged if faults
    ]


def is_ragged(config: Mapping[str, Any]) -> bool:
    """Whether a version of that configuration takes inputs with different batches."""
    return any(tensor.get("allow_ragged_batch") for tensor in config.get("input", ()))


def misfits(
    inputs: Sequence[Entry], outputs: Sequence[Entry], signature: Mapping[str, Any], *, is_ragged: bool = False
) -> list[str]:
    """In words, why a version of that signature cannot take the inputs or give the outputs; empty when it can.

    A signature without inputs tells nothing (the backend completes it at the load), so everything fits it.
    """
    if not signature.get("inputs"):
        return []
    most = int(signature.get("max_batch_size") or 0)
    found = _unknown("input", inputs, signature["inputs"]) + _missing(inputs, signature["inputs"])
    found += _wrong("input", inputs, signature["inputs"], most)
    if signature.get("outputs"):
        found += _unknown("output", outputs, signature["outputs"])
        found += _wrong("output", outputs, signature["outputs"], most)
    if most and not is_ragged:
        found += _batches(inputs)
    return found[:MOST]


def _unknown(what: str, entries: Sequence[Entry], specs: Sequence[Entry]) -> list[str]:
    known = {str(spec["name"]) for spec in specs}
    listed = ", ".join(sorted(known)[:8])
    return [f"there is no {what} {one['name']!r}, only {listed}" for one in entries if one["name"] not in known]


def _missing(entries: Sequence[Entry], specs: Sequence[Entry]) -> list[str]:
    given = {entry["name"] for entry in entries}
    return [
        f"input {spec['name']!r} is missing"
        for spec in specs
        if spec["name"] not in given and not spec.get("is_optional")
    ]


def _wrong(what: str, entries: Sequence[Entry], specs: Sequence[Entry], most: int) -> list[str]:
    known = {str(spec["name"]): spec for spec in specs}
    pairs = [(entry, known[entry["name"]]) for entry in entries if entry["name"] in known]
    found = []
    for entry, spec in pairs:
        if entry["datatype"] != spec["datatype"]:
            found.append(f"{what} {entry['name']!r} is {entry['datatype']}, the version has {spec['datatype']}")
        fault = _shape_fault(list(entry["shape"]), list(spec["shape"]), most)
        if fault:
            found.append(f"{what} {entry['name']!r} {fault}")
    return found


def _shape_fault(shape: list[int], dims: list[int], most: int) -> str:
    wanted = f"{['batch', *dims] if most else dims}".replace("'", "").replace("-1", "any")
    rest = shape[1:] if most else shape
    is_alike = len(shape) == len(dims) + bool(most)
    if not is_alike or any(size not in (given, -1) for given, size in zip(rest, dims, strict=True)):
        return f"has the shape {shape}, the version has {wanted}"
    if most and not 1 <= shape[0] <= most:
        return f"has a batch of {shape[0]}, the version takes 1 to {most}"
    return ""


def _batches(entries: Sequence[Entry]) -> list[str]:
    sizes = {entry["shape"][0] for entry in entries if entry["shape"]}
    return (
        [f"the inputs have batches of {', '.join(map(str, sorted(sizes)))}: they must be alike"]
        if len(sizes) > 1
        else []
    )
