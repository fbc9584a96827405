"""Rules of sequence batching."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from apps.serving.backends.triton import warmup
from apps.serving.backends.triton.preflight.tensors import shown
from apps.serving.preflight import Fault, Rule, Severity, Subject

BOOLEAN = ("CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY")
CORRELATION = "CONTROL_SEQUENCE_CORRID"
CORRELATION_TYPES = ("TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING")
PAIRS = ("int32_false_true", "fp32_false_true", "bool_false_true")
STATE_FIELDS = ("input_name", "output_name", "data_type", "dims")


def _controls(subject: Subject) -> Iterator[Fault]:
    where = "sequence_batching.control_input"
    kinds: Counter[str] = Counter()
    for tensor in subject.get(where, ()):
        if not tensor.get("name"):
            yield Fault("a control_input has no name", where)
        seen = [one.get("kind", BOOLEAN[0]) for one in tensor.get("control", ())]
        if len(set(seen)) > 1 and not set(seen).isdisjoint((*BOOLEAN, CORRELATION)):
            yield Fault(f"control_input {shown(tensor.get('name'))} carries several kinds: {', '.join(seen)}", where)
        kinds.update(seen)
        for control in tensor.get("control", ()):
            yield from (Fault(f"control_input {shown(tensor.get('name'))}: {why}", where) for why in _control(control))
    for kind, times in kinds.items():
        if times > 1:
            yield Fault(f"{kind} is given {times} times", where)


def _control(control: Mapping[str, Any]) -> Iterator[str]:
    kind = control.get("kind", BOOLEAN[0])
    given = [pair for pair in PAIRS if control.get(pair)]
    if kind in BOOLEAN and len(given) != 1:
        yield f"{kind} needs exactly one of {', '.join(PAIRS)}"
    elif kind in BOOLEAN and len(control[given[0]]) != 2:  # noqa: PLR2004
        yield f"{given[0]} holds the values for false and for true, {len(control[given[0]])} are given"
    elif kind == CORRELATION and given:
        yield f"{kind} takes a data_type and no pair of values"
    elif kind == CORRELATION and control.get("data_type") not in CORRELATION_TYPES:
        yield f"{kind} has data_type {control.get('data_type')}, only {', '.join(CORRELATION_TYPES)} are taken"


def _utilisation(subject: Subject) -> Iterator[Fault]:
    share = subject.get("sequence_batching.direct.minimum_slot_utilization", 0)
    if not 0 <= share <= 1:
        yield Fault(
            f"minimum_slot_utilization {share:g} is not between 0 and 1",
            "sequence_batching.direct.minimum_slot_utilization",
        )


def _states(subject: Subject) -> Iterator[Fault]:
    for state in subject.get("sequence_batching.state", ()):
        lacking = [field for field in STATE_FIELDS if not state.get(field)]
        if lacking:
            yield Fault(
                f"state {shown(state.get('input_name', ''))} has no {', '.join(lacking)}", "sequence_batching.state"
            )


def _told(subject: Subject) -> Iterator[Fault]:
    is_decoupled = subject.get("model_transaction_policy.decoupled")
    if subject.get("sequence_batching") is not None and not is_decoupled:
        yield Fault(warmup.cannot_ask(subject.document), "sequence_batching")


RULES = (
    Rule(
        "sequence-controls",
        Severity.ERROR,
        "Each control of a sequence has a tensor of its own and values to put into it.",
        "The server refuses controls that are doubled, unnamed, or without their values.",
        "Give each control_input a name and one control: a pair such as int32_false_true: [ 0, 1 ], or for "
        "CONTROL_SEQUENCE_CORRID a data_type.",
        _controls,
    ),
    Rule(
        "slot-utilisation",
        Severity.ERROR,
        "A share lies between 0 and 1.",
        "The server refuses another minimum_slot_utilization.",
        "Give a number from 0 to 1.",
        _utilisation,
    ),
    Rule(
        "sequence-state",
        Severity.WARNING,
        "An implicit state has names, a type and dims.",
        "A server loads a python model without them all the same, and what it then keeps is anybody's guess.",
        "Give input_name, output_name, data_type and dims.",
        _states,
    ),
    Rule(
        "sequence",
        Severity.NOTE,
        "A sequence is more than one request.",
        "One plain request, which is what Conch sends, belongs to no sequence.",
        "Nothing needs to be done; watch its first sequences yourself.",
        _told,
    ),
)
