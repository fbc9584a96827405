"""Charts of machines, cards and slices show the known values of a real Prometheus with a known past."""

from datetime import datetime

import pytest

from apps.fleet.models import Environment, Repository, Server
from apps.metrics import selectors
from apps.metrics.catalogue import CHARTS
from apps.metrics.pictures import Picture, picture
from apps.metrics.questions import Question
from apps.metrics.selectors import ChartAnswer
from tests.apps.metrics.test_known_values import line, names

pytestmark = [pytest.mark.live, pytest.mark.django_db]
A100 = "GPU-1f0c6a52-7d7e-4c8a-9b57-0d1f5be2a001"


def ask(key: str, now: datetime, **about: object) -> ChartAnswer:
    question = Question(**{"range_s": 600, **about})  # type: ignore[arg-type]
    return selectors.board([CHARTS[key]], question, now=now)[0]


def server(name: str = "prod-2", *, grpc: str = "127.0.0.1:1", **labels: str) -> str:
    environment = Environment.objects.create(name="prod")
    repository = Repository.objects.create(name="prod", environment=environment, path="/models")
    made = Server.objects.create(name=name, environment=environment, repository=repository, grpc=grpc, labels=labels)
    return made.name


def mine(found: Picture) -> list[tuple[str, str]]:
    return [(card.host, one.instance) for card in found.cards for one in card.slices if one.is_mine]


def test_memory_of_one_server_stands_beside_what_there_is(known_past: datetime) -> None:
    answer = ask("memory", known_past, server="prod-2")

    assert (set(line(answer, "GPU 2b9e11c4")), set(line(answer, "GPU 2b9e11c4 total"))) == ({12.0}, {80.0})


def test_power_stands_beside_its_limit_and_the_mean_that_energy_tells(known_past: datetime) -> None:
    answer = ask("power", known_past, server="prod-2")

    assert names(answer) == ["GPU 2b9e11c4", "GPU 2b9e11c4 limit", "GPU 2b9e11c4 mean, from energy"]
    assert [latest.value for latest in answer.latest] == pytest.approx([96.8, 400, 95])


def test_the_pool_of_pinned_memory(known_past: datetime) -> None:
    answer = ask("pinned", known_past, server="prod-1")

    assert (set(line(answer, "used")), set(line(answer, "pool"))) == ({0.0625}, {0.25})


def test_stages_of_compute(known_past: datetime) -> None:
    answer = ask("compute", known_past, server="prod-1", model="digits")

    assert {name: line(answer, name)[-1] for name in names(answer)} == {
        "v2 infer": 2.0,
        "v2 input": 0.1,
        "v2 output": 0.3,
    }


def test_the_cache_is_told_by_ratio_rate_and_time(known_past: datetime) -> None:
    ratio, lookups, times = (
        ask(key, known_past, server="prod-1", model="digits") for key in ("cache", "cache_lookups", "cache_time")
    )

    assert set(line(ratio, "v2")) == {75.0}
    assert (set(line(lookups, "v2 hits")), set(line(lookups, "v2 misses"))) == ({3.0}, {1.0})
    assert (set(line(times, "v2 hit")), set(line(times, "v2 miss"))) == ({0.2}, {0.9})


def test_requests_from_the_cache_are_not_in_an_execution(known_past: datetime) -> None:
    answer = ask("batch_efficiency", known_past, server="prod-1", model="digits")

    assert set(line(answer, "v2")) == {0.583333}


def test_a_server_without_a_cache_says_how_to_get_one(known_past: datetime) -> None:
    answer = ask("cache", known_past, server="prod-1", model="plain")

    assert (answer.state, answer.figure) == ("empty", None)
    assert answer.message.startswith("no response cache: start Triton with --cache-config")


def test_of_a_model_that_is_not_loaded_nothing_is_said_to_be_missing(known_past: datetime) -> None:
    answer = ask("cache", known_past, server="prod-1", model="bert")

    assert answer.message == "no series for bert in prod-1: it is not loaded there"


def test_the_longest_load_of_several_servers(known_past: datetime) -> None:
    answer = ask("load_duration", known_past, environment="prod", model="digits")

    assert set(line(answer, "v2")) == {2.25}


def test_buckets_of_several_servers_are_added_up_before_the_percentile(known_past: datetime) -> None:
    answer = ask("first_response", known_past, environment="prod", model="digits")

    assert set(line(answer, "v2 p99")) == {500.0}


def test_per_server_every_server_has_its_own_percentile(known_past: datetime) -> None:
    early = datetime.fromtimestamp(known_past.timestamp() - 900, tz=known_past.tzinfo)

    answer = ask("latency", early, environment="prod", model="digits", is_per_server=True)

    assert line(answer, "v2 prod-1 p99")[-2] == 41.0
    assert line(answer, "v2 prod-2 p99")[-2] == 55.0


def test_only_the_versions_asked_for_are_drawn(known_past: datetime) -> None:
    answer = ask("requests", known_past, environment="prod", model="digits", versions=("1", "9"), range_s=1_500)

    assert names(answer) == ["v1"]


def test_slices_of_a_label_are_those_and_no_others(known_past: datetime) -> None:
    name = server(mig=f"{A100}/9,{A100}/1")

    answer = ask("slice_use", known_past, server=name)

    assert {latest.name: round(latest.value, 1) for latest in answer.latest} == {
        "gpu-node-a GPU 0 slice 1 (3g.40gb)": 84.7,
        "gpu-node-a GPU 0 slice 9 (1g.10gb)": 2.8,
    }


def test_slices_are_found_by_host_in_the_spelling_of_the_newer_exporter(known_past: datetime) -> None:
    name = server(mig="gpu-node-b/0/11")

    used = ask("slice_memory", known_past, server=name)

    assert [latest.name for latest in used.latest] == [
        "gpu-node-b GPU 0 slice 11 (1g.10gb)",
        "gpu-node-b GPU 0 slice 11 (1g.10gb) total",
    ]
    assert [latest.value for latest in used.latest] == pytest.approx([2_212 / 1_024, (2_212 + 7_772) / 1_024])


def test_the_use_of_a_slice_is_not_the_zero_that_the_card_tells(known_past: datetime) -> None:
    name = server(mig="GPU-11111111-2222-3333-4444-555555555555/9")

    answer = ask("slice_use", known_past, server=name)

    assert [(latest.name, latest.value) for latest in answer.latest] == [("GPU 0 slice 9 (1g.18gb)", 83.0)]


def test_power_counts_once_a_card_however_many_slices_tell_it(known_past: datetime) -> None:
    name = server(mig=f"{A100}/9,{A100}/1,{A100}/5")

    answer = ask("card_power", known_past, server=name)

    assert {latest.name: latest.value for latest in answer.latest} == pytest.approx(
        {"gpu-node-a GPU 0": 187.3, "gpu-node-a GPU 0 mean, from energy": 187.3}
    )


def test_a_server_without_labels_shows_the_cards_it_tells_of_itself(known_past: datetime) -> None:
    answer = ask("slice_use", known_past, server=server())

    assert answer.state == "empty"
    assert 'UUID="GPU-2b9e11c4-0f36"' in answer.queries[0]
    assert answer.message.startswith("no series of dcgm-exporter for these devices: run it on their host")


def test_a_pods_own_slice_is_found_by_the_servers_address(known_past: datetime) -> None:
    name = server("bare", grpc="triton-9.triton.models.svc.cluster.local:8001")

    found = picture(server=name, now=known_past)
    used = ask("slice_use", known_past, server=name)

    assert (mine(found), found.remarks) == ([("gpu-node-a", "9")], ())
    assert [latest.name for latest in used.latest] == ["gpu-node-a GPU 0 slice 9 (1g.10gb)"]


def test_a_pods_own_slice_is_found_by_the_label_though_prometheus_renamed_the_exporters(known_past: datetime) -> None:
    found = picture(server=server("bare", pod="edge/triton-11"), now=known_past)

    assert (mine(found), found.remarks) == ([("gpu-node-b", "11")], ())


def test_where_nothing_names_the_slice_the_hosts_divided_card_is_shown_with_how_to_say_it(known_past: datetime) -> None:
    found = picture(server=server("bare", grpc="gpu-node-a.dc1:8001"), now=known_past)

    (card,) = found.cards
    assert (card.uuid, {one.is_unclear for one in card.slices}, mine(found)) == (A100, {True}, [])
    assert f"label mig={A100}/N, N being 1 or 5 or 9 or 10" in found.remarks[0]


def test_a_server_of_which_nothing_is_known_shows_no_card(known_past: datetime) -> None:
    found = picture(server=server("bare"), now=known_past)

    assert (found.cards, found.remarks, found.is_without) == ((), (), True)


def test_memory_that_the_exporter_leaves_out_is_said_and_not_zero(known_past: datetime) -> None:
    name = server(mig="GPU-11111111-2222-3333-4444-555555555555/9")

    answer = ask("slice_memory", known_past, server=name)

    assert (answer.state, answer.figure) == ("empty", None)
    told = "It may leave out DCGM_FI_DEV_FB_USED and DCGM_FI_DEV_FB_FREE on some MIG cards"
    assert answer.message.count("no series of dcgm-exporter") == 1
    assert told in answer.message


def test_all_cards_together_are_every_slice_and_every_whole_gpu(known_past: datetime) -> None:
    answer = ask("slice_use", known_past)

    assert "gpu-node-a GPU 1" in names(answer)
    assert len(names(answer)) == 12
    assert "the 12 busiest of 14 lines are shown" in answer.message
