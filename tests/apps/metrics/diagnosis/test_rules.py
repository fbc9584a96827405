"""Every rule fires on facts that show its bottleneck, and does not on those of a model that is well."""

from collections.abc import Mapping

import pytest

from apps.metrics.diagnosis.facts import MEASURES
from apps.metrics.diagnosis.judging import diagnose
from apps.metrics.diagnosis.rules import RULES, Rule

WELL: Mapping[str, float] = {
    "rate": 200,
    "rate_per_server": 100,
    "latency_ms": 12,
    "queue_ms": 1,
    "compute_ms": 10,
    "queue_share": 0.08,
    "batch": 6,
    "batch_limit": 8,
    "batch_fill": 0.75,
    "gpus": 1,
    "gpu_use": 0.7,
    "cpu_use": 0.4,
    "pending": 1,
    "pending_growth": 1,
    "slowest_ratio": 1.1,
    "servers": 3,
    "small_batch": 2,
    "knee_batch": 7,
    "knee_cost": 0.5,
    "cold_ratio": 1.2,
    "kept_bytes": 0,
    "kept_share": 0.0,
    "present_delay_us": 100,
    "queue_delay_us": 5_000,
    "instances": 2,
}
ILL: Mapping[str, Mapping[str, float]] = {
    "small_batches": {"gpu_use": 0.2, "latency_ms": 80, "batch_fill": 0.1},
    "preprocessing_on_cpu": {"cpu_use": 0.95, "rate_per_server": 4},
    "cpu_is_full": {"cpu_use": 0.95, "gpus": 0},
    "queue_over_half": {"queue_share": 0.7, "queue_ms": 30},
    "above_the_knee": {"knee_cost": 1.05},
    "pending_grows": {"pending": 40, "pending_growth": 6},
    "pending_on_full_cpu": {"pending": 40, "pending_growth": 6, "cpu_use": 0.95},
    "slow_server": {"slowest_ratio": 3.5},
    "cold_after_load": {"cold_ratio": 9},
    "memory_kept": {"kept_share": 0.9, "kept_bytes": 3 * 2**30},
}
OVERLAYS = {
    "small_batches": ("dynamic_batching.max_queue_delay_microseconds=5000",),
    "queue_over_half": ("instance_group.count=2",),
    "above_the_knee": ("dynamic_batching.preferred_batch_size=2",),
    "pending_grows": ("instance_group.count=2",),
}


def test_there_are_facts_for_every_rule() -> None:
    assert set(ILL) == {rule.key for rule in RULES}
    assert set(WELL) == set(MEASURES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_a_rule_fires_with_the_numbers_it_saw_and_a_change(rule: Rule) -> None:
    facts = {**WELL, **ILL[rule.key]}

    findings = {finding.rule.key: finding for finding in diagnose(facts).findings}

    found = findings[rule.key]
    assert {number.measure: number.value for number in found.numbers} == {
        condition.measure: facts[condition.measure] for condition in rule.conditions
    }
    assert found.overlay == OVERLAYS.get(rule.key, ())


def test_a_server_without_gpus_is_not_told_to_use_one() -> None:
    found = diagnose({**WELL, **ILL["preprocessing_on_cpu"], "gpus": 0, "gpu_use": None}).findings

    assert [one.rule.key for one in found] == ["cpu_is_full"]
    assert "GPU" not in found[0].rule.change


def test_nobody_is_told_to_run_more_instances_on_a_cpu_that_is_full() -> None:
    every = {**WELL, **ILL["queue_over_half"], **ILL["pending_grows"], **ILL["cpu_is_full"]}

    found = {one.rule.key: one for one in diagnose(every).findings}

    assert set(found) == {"cpu_is_full", "pending_on_full_cpu"}
    assert [one.overlay for one in found.values()] == [(), ()]


def test_a_rule_gives_way_to_rules_that_are_there_only() -> None:
    assert {key for rule in RULES for key in rule.gives_way_to} <= {rule.key for rule in RULES}


def test_a_queue_delay_as_long_as_any_is_not_lengthened() -> None:
    facts = {**WELL, **ILL["small_batches"], "present_delay_us": 5_000}

    assert diagnose(facts).findings == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_a_rule_does_not_fire_on_a_model_that_is_well(rule: Rule) -> None:
    assert diagnose(WELL, rules=[rule]).findings == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_one_condition_that_does_not_hold_is_enough_to_keep_silent(rule: Rule) -> None:
    ill = {**WELL, **ILL[rule.key]}

    for condition in rule.conditions:
        opposite = condition.limit - 1 if condition.holds == "above" else condition.limit + 1
        assert diagnose({**ill, condition.measure: opposite}, rules=[rule]).findings == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_a_rule_that_lacks_a_number_is_not_judged_and_says_which(rule: Rule) -> None:
    lacking = rule.conditions[0].measure

    found = diagnose({**WELL, **ILL[rule.key], lacking: None}, rules=[rule])

    assert (found.findings, found.unjudged) == ((), ((rule, lacking),))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_a_rule_says_what_it_means_and_who_says_so(rule: Rule) -> None:
    assert rule.meaning.endswith(".")
    assert rule.change.endswith(".")
    assert rule.source.startswith("https://")
    assert {one.measure for one in rule.conditions} | {one.measure for one in rule.settings} <= set(MEASURES)
