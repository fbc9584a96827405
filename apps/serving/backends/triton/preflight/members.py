"""Rules of an ensemble's members as they are placed where it would go: there, of the right types and shapes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from apps.serving.backends.triton.preflight.ensembles import STEPS, is_ensemble, steps
from apps.serving.backends.triton.preflight.tensors import VARIABLE, shown
from apps.serving.preflight import Fault, LiveMember, Rule, Severity, Subject

LATEST = -1


class Kind(NamedTuple):
    """What a tensor is, batch dimension included, and who says so."""

    datatype: str
    dims: tuple[int, ...]
    says: str


def _known(subject: Subject) -> Iterator[tuple[Mapping[str, Any], LiveMember]]:
    for step in steps(subject):
        member = (subject.members or {}).get(str(step.get("model_name")))
        if member is not None:
            yield step, member


def _missing(subject: Subject) -> Iterator[Fault]:
    for name in dict.fromkeys(str(step.get("model_name")) for step in steps(subject)):
        if name not in (subject.members or {}):
            yield Fault(f"the member {shown(name)} is not live there", f"{STEPS}.model_name")


def _versions(subject: Subject) -> Iterator[Fault]:
    for step, member in _known(subject):
        wanted = step.get("model_version", 0)
        if wanted not in (LATEST, 0) and wanted not in member.versions:
            there = ", ".join(map(str, sorted(member.versions))) or "none"
            yield Fault(
                f"{shown(step['model_name'])} is wanted in version {wanted}, and loaded there is {there}",
                f"{STEPS}.model_version",
            )


def _maps(subject: Subject) -> Iterator[Fault]:
    for step, member in _known(subject):
        name = shown(step.get("model_name"))
        for side, field in (("input", "input_map"), ("output", "output_map")):
            declared = {str(one.get("name")): one for one in member.document.get(side, ())}
            strange = [key for key in step.get(field, {}) if declared and key not in declared]
            yield from (Fault(f"{name} has no {side} {shown(key)}", f"{STEPS}.{field}") for key in strange)
            if side == "input":
                needed = [key for key, one in declared.items() if not one.get("optional")]
                lacking = [key for key in needed if key not in step.get(field, {})]
                yield from (Fault(f"nothing goes into {name}'s input {shown(key)}", STEPS) for key in lacking)


def _batches(subject: Subject) -> Iterator[Fault]:
    largest = subject.get("max_batch_size", 0)
    for step, member in _known(subject):
        takes = member.document.get("max_batch_size", 0)
        if 0 < takes < largest:
            yield Fault(
                f"the ensemble's max_batch_size is {largest}, and {shown(step.get('model_name'))} takes {takes}",
                "max_batch_size",
            )


def _kinds(subject: Subject) -> Iterator[Fault]:
    """Follow each tensor: all who name it must mean the same."""
    if not is_ensemble(subject):
        return
    known = dict(_declared(subject.document, ("input", "output"), "the ensemble"))
    for step, member in _known(subject):
        name = shown(step.get("model_name"))
        for side, field in (("input", "input_map"), ("output", "output_map")):
            declared = dict(_declared(member.document, (side,), name))
            for key, tensor in step.get(field, {}).items():
                if key not in declared:
                    continue
                first = known.setdefault(tensor, declared[key])
                if not _agree(first, declared[key]):
                    yield Fault(f"{shown(tensor)}: {_said(first)}, {_said(declared[key])}", f"{STEPS}.{field}")


def _circles(subject: Subject) -> Iterator[Fault]:
    """Ways from the ensemble through others back to itself; a step that calls it outright is another rule's."""
    waiting: list[tuple[str, ...]] = [(subject.model, str(step.get("model_name"))) for step in steps(subject)]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path[-1] == subject.model and len(path) > 2:  # noqa: PLR2004 - itself, another, itself
            yield Fault(" calls ".join(map(shown, path)), STEPS)
        elif path[-1] not in seen:
            seen.add(path[-1])
            member = (subject.members or {}).get(path[-1])
            waiting += [(*path, name) for name in (member.calls if member else ())]


def _declared(document: Mapping[str, Any], sides: Sequence[str], says: str) -> Iterator[tuple[str, Kind]]:
    batch = (VARIABLE,) if document.get("max_batch_size", 0) > 0 else ()
    for side in sides:
        for one in document.get(side, ()):
            yield str(one.get("name")), Kind(str(one.get("data_type")), (*batch, *one.get("dims", ())), says)


def _agree(one: Kind, other: Kind) -> bool:
    is_same_rank = len(one.dims) == len(other.dims)
    pairs = zip(one.dims, other.dims, strict=False)
    fits = all(VARIABLE in pair or pair[0] == pair[1] for pair in pairs)
    return one.datatype == other.datatype and is_same_rank and fits


def _said(kind: Kind) -> str:
    return f"{kind.says} says {kind.datatype} {list(kind.dims)}"


RULES = (
    Rule(
        "member-missing",
        Severity.ERROR,
        "Every member of an ensemble is live where the ensemble goes.",
        "Loading an ensemble loads its members; one that is not in the repository fails it.",
        "Promote the member there first.",
        _missing,
        needs=("members",),
    ),
    Rule(
        "member-version",
        Severity.ERROR,
        "A member's version that is asked for by number is loaded.",
        "The server refuses requests to the ensemble while that version is not there.",
        "Use model_version: -1, or promote that version of the member.",
        _versions,
        needs=("members",),
    ),
    Rule(
        "member-maps",
        Severity.ERROR,
        "The maps of a step fit the member's inputs and outputs.",
        "The server refuses a map to a tensor the member does not have, and a member that lacks an input.",
        "Map every input that is not optional, by the member's own names (keys) to the ensemble's (values).",
        _maps,
        needs=("members",),
    ),
    Rule(
        "member-batch",
        Severity.ERROR,
        "No member takes smaller batches than the ensemble.",
        "The server refuses the ensemble: it could not pass its batches on.",
        "Lower the ensemble's max_batch_size, or raise the member's.",
        _batches,
        needs=("members",),
    ),
    Rule(
        "member-circle",
        Severity.ERROR,
        "No ensemble calls itself by way of another.",
        "A request would go round for ever, and each of them would wait for the other at its load.",
        "Take one of the steps out of the circle.",
        _circles,
        needs=("members",),
    ),
    Rule(
        "member-types",
        Severity.ERROR,
        "A tensor has one type and shape from end to end.",
        "The server refuses an ensemble whose members disagree; a shape is compared with the batch dimension.",
        "Make the declarations agree, or put a model in between that converts.",
        _kinds,
        needs=("members",),
    ),
)
