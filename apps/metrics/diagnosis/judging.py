"""Rules held against facts. Pure; the same for a model in an environment and for one server."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.metrics.diagnosis.facts import MEASURES, Facts
from apps.metrics.diagnosis.rules import RULES, Condition, Rule


@dataclass(frozen=True, slots=True)
class Number:
    """A measure that a rule looked at."""

    measure: str
    value: float
    means: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule whose conditions all hold, with the numbers it saw; `overlay` is what to set, as path=value."""

    rule: Rule
    numbers: tuple[Number, ...]
    overlay: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found; `unjudged` are the rules that lack a number, with its name: they neither hold nor fail."""

    findings: tuple[Finding, ...]
    unjudged: tuple[tuple[Rule, str], ...]


def diagnose(facts: Facts, *, rules: Sequence[Rule] = RULES, about: str = "") -> Diagnosis:
    """Every rule against the facts; `about` is whom a finding about one server names."""
    findings, unjudged = [], []
    for rule in rules:
        missing = [one.measure for one in rule.conditions if facts.get(one.measure) is None]
        if missing:
            unjudged.append((rule, missing[0]))
        elif all(_holds(one, facts) for one in rule.conditions):
            findings.append(_finding(rule, facts, about=about))
    found = {one.rule.key for one in findings}
    return Diagnosis(tuple(one for one in findings if not found & set(one.rule.gives_way_to)), tuple(unjudged))


def _holds(condition: Condition, facts: Facts) -> bool:
    value = facts[condition.measure]
    if value is None:
        return False
    return value > condition.limit if condition.holds == "above" else value < condition.limit


def _finding(rule: Rule, facts: Facts, *, about: str) -> Finding:
    numbers = tuple(_numbers({one.measure for one in rule.conditions}, facts))
    settings = [(one.path, facts.get(one.measure)) for one in rule.settings]
    overlay = tuple(f"{path}={max(1, round(value))}" for path, value in settings if value is not None)
    return Finding(rule, numbers, overlay, about)


def _numbers(measures: Iterable[str], facts: Facts) -> Iterable[Number]:
    for measure in MEASURES:
        value = facts.get(measure)
        if measure in measures and value is not None:
            yield Number(measure, value, MEASURES[measure])
