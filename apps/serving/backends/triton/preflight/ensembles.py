"""Rules of an ensemble by itself: platform, steps, maps, and whether every tensor comes from somewhere."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.common.names import PATTERN
from apps.serving.backends.triton.preflight.tensors import shown
from apps.serving.preflight import Fault, Rule, Severity, Subject

ENSEMBLE = "ensemble"
STEPS = "ensemble_scheduling.step"
_NAME = re.compile(PATTERN)

Step = Mapping[str, Any]


def steps(subject: Subject) -> Sequence[Step]:
    """The ensemble's steps; none for any other model."""
    found: Sequence[Step] = subject.get(STEPS, ())
    return found


def is_ensemble(subject: Subject) -> bool:
    """Whether the model only calls others."""
    return subject.get("platform") == ENSEMBLE or subject.get("ensemble_scheduling") is not None


def _platform(subject: Subject) -> Iterator[Fault]:
    has_steps = subject.get("ensemble_scheduling") is not None
    platform, backend = subject.get("platform", ""), subject.get("backend", "")
    if has_steps and platform != ENSEMBLE:
        yield Fault(f"ensemble_scheduling is set and platform is {shown(platform)}", "platform")
    if platform == ENSEMBLE and not has_steps:
        yield Fault('platform is "ensemble" and ensemble_scheduling is not set', "ensemble_scheduling")
    if platform == ENSEMBLE and backend:
        yield Fault(f"an ensemble has no backend, and {shown(backend)} is given", "backend")


def _extras(subject: Subject) -> Iterator[Fault]:
    for field in ("instance_group", "optimization"):
        if is_ensemble(subject) and subject.get(field) is not None:
            yield Fault(f"an ensemble cannot have {field}", field)


def _steps(subject: Subject) -> Iterator[Fault]:
    if is_ensemble(subject) and not steps(subject):
        yield Fault("the ensemble has no step", STEPS)
    for place, step in enumerate(steps(subject)):
        name = str(step.get("model_name", ""))
        if not _NAME.fullmatch(name):
            yield Fault(f"step {place} calls {shown(name)}, which is no model's name", f"{STEPS}.model_name")
        if name == subject.model:
            yield Fault(f"step {place} calls the ensemble itself", f"{STEPS}.model_name")
        for side in ("input_map", "output_map"):
            if not step.get(side):
                yield Fault(f"step {place} ({shown(name)}) has no {side}", f"{STEPS}.{side}")


def _once(subject: Subject) -> Iterator[Fault]:
    made = Counter(tensor for step in steps(subject) for tensor in step.get("output_map", {}).values())
    made.update(str(tensor.get("name")) for tensor in subject.get("input", ()) if steps(subject))
    for tensor, times in made.items():
        if times > 1:
            yield Fault(f"the tensor {shown(tensor)} is made {times} times", f"{STEPS}.output_map")


def _flow(subject: Subject) -> Iterator[Fault]:
    """What no step can ever begin with, because it needs itself or nothing makes it."""
    if not steps(subject):
        return
    there = {str(tensor.get("name")) for tensor in subject.get("input", ())}
    waiting = list(steps(subject))
    while ready := [step for step in waiting if there.issuperset(step.get("input_map", {}).values())]:
        there.update(tensor for step in ready for tensor in step.get("output_map", {}).values())
        waiting = [step for step in waiting if step not in ready]
    made = {tensor for step in steps(subject) for tensor in step.get("output_map", {}).values()}
    for step in waiting:
        lacking = sorted(set(step.get("input_map", {}).values()) - there)
        circular = [tensor for tensor in lacking if tensor in made]
        why = "which a later step makes out of it" if circular else "which nothing makes"
        yield Fault(f"{shown(step.get('model_name'))} waits for {', '.join(map(shown, lacking))}, {why}", STEPS)
    for tensor in subject.get("output", ()):
        if str(tensor.get("name")) not in there | made:
            yield Fault(f"no step makes the output {shown(tensor.get('name'))}", "output")


def _unused(subject: Subject) -> Iterator[Fault]:
    used = {tensor for step in steps(subject) for tensor in step.get("input_map", {}).values()}
    given = [str(tensor.get("name")) for tensor in subject.get("output", ())]
    for tensor in subject.get("input", ()):
        if steps(subject) and str(tensor.get("name")) not in used:
            yield Fault(f"no step uses the input {shown(tensor.get('name'))}", "input")
    for step in steps(subject):
        for tensor in step.get("output_map", {}).values():
            if tensor not in used and tensor not in given:
                yield Fault(f"nothing uses {shown(tensor)}, which {shown(step.get('model_name'))} makes", STEPS)


RULES = (
    Rule(
        "ensemble-platform",
        Severity.ERROR,
        "An ensemble is one by platform and by steps.",
        "The server refuses one without the other, and a backend beside them.",
        'Write platform: "ensemble" and ensemble_scheduling, and no backend.',
        _platform,
    ),
    Rule(
        "ensemble-extras",
        Severity.ERROR,
        "An ensemble has no instances of its own.",
        "It only calls others; the server refuses instance_group and optimization for it.",
        "Drop the field; give it to the members.",
        _extras,
    ),
    Rule(
        "ensemble-steps",
        Severity.ERROR,
        "Every step calls another model and maps what goes in and comes out.",
        "The server refuses a step without a name or a map, and one that calls itself never ends.",
        "Give each step model_name, input_map and output_map.",
        _steps,
    ),
    Rule(
        "ensemble-once",
        Severity.ERROR,
        "Every tensor of an ensemble is made once.",
        "The server refuses a tensor that two steps make.",
        "Give the tensors of the maps different names.",
        _once,
    ),
    Rule(
        "ensemble-flow",
        Severity.ERROR,
        "Every step gets its inputs from before it.",
        "A step that waits for something that comes out of itself, or that nothing makes, never runs.",
        "Follow the names in the maps from the inputs to the outputs; break the circle or add what is missing.",
        _flow,
    ),
    Rule(
        "ensemble-unused",
        Severity.ERROR,
        "Every tensor of an ensemble is used.",
        "The server refuses an input that no step takes, and a tensor that nobody wants.",
        "Drop it from the maps, or use it.",
        _unused,
    ),
)
