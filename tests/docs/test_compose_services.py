"""What docker-compose.yml starts, in which order, who sees whom, and which files they share."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import resolve

from demo.parts.triton import QUANTILES
from tests.docs import compose, documents
from tests.docs.compose import Service

Services = dict[str, Service]

ONE_SHOTS = {"migrate", "bootstrap"}
PINNED = re.compile(r".+:v?\d+\.\d+(\.\d+)?([.-][a-z0-9]+)*")


def port_of(service: Service) -> int:
    return int(compose.option(service["command"], "--bind").rsplit(":", 1)[1])


# --- who starts when, who is seen


def test_images_are_pinned(services: Services) -> None:
    loose = [name for name, service in services.items() if not PINNED.fullmatch(service["image"])]

    assert loose == []


def test_only_the_web_server_is_published_and_only_on_loopback(services: Services) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}

    assert published == {"web": [f"127.0.0.1:8400:{port_of(services['web'])}"]}


def test_every_service_that_is_waited_for_exists_and_can_come_to_that_state(services: Services) -> None:
    waits = [
        (name, other, how["condition"])
        for name, service in services.items()
        for other, how in service.get("depends_on", {}).items()
    ]

    ends = [other for _, other, condition in waits if condition == "service_completed_successfully"]
    well = [other for _, other, condition in waits if condition == "service_healthy"]
    assert len(ends) + len(well) == len(waits)
    assert set(ends) == ONE_SHOTS
    assert all("healthcheck" in services[other] for other in well)


def test_everything_of_conch_waits_for_the_migrated_database(services: Services) -> None:
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert set(services["bootstrap"]["depends_on"]) == {"migrate"}
    assert all(
        "bootstrap" in services[name]["depends_on"] for name in ("web", "worker", "beat", "triton", "triton-gpu")
    )


def test_what_runs_for_ever_is_restarted_and_asked_for_its_health(services: Services) -> None:
    lasting = {name: service for name, service in services.items() if name not in ONE_SHOTS}

    assert {service["restart"] for service in lasting.values()} == {"unless-stopped"}
    assert [name for name, service in lasting.items() if "healthcheck" not in service] == []
    assert {services[name]["restart"] for name in ONE_SHOTS} == {"on-failure:5"}


def test_the_web_server_s_health_is_a_page_that_needs_no_sign_in(services: Services) -> None:
    script = services["web"]["healthcheck"]["test"][-1]
    asked = urlsplit(re.findall(r"http://[^']+", script)[0])

    compile(script, "healthcheck", "exec")
    assert asked.port == port_of(services["web"])
    assert resolve(asked.path).url_name == "sign_in"


# --- Prometheus


def job(name: str) -> Any:
    return next(one for one in compose.prometheus()["scrape_configs"] if one["job_name"] == name)


def test_prometheus_asks_conch_for_its_targets(services: Services) -> None:
    (discovery,) = job("triton")["http_sd_configs"]
    asked = urlsplit(discovery["url"])

    assert (asked.hostname, asked.port) == ("web", port_of(services["web"]))
    assert resolve(asked.path).url_name == "prometheus-targets"


def test_prometheus_can_read_the_token_that_bootstrap_writes(services: Services) -> None:
    (discovery,) = job("triton")["http_sd_configs"]
    written = compose.option(services["bootstrap"]["command"], "--sd-token-file")
    (uid,) = re.findall(r"useradd --uid (\d+)", documents.text("Dockerfile"))

    assert discovery["authorization"]["credentials_file"] == written
    assert compose.mounts(services["bootstrap"])["discovery"] == ("/discovery", False)
    assert compose.mounts(services["prometheus"])["discovery"] == ("/discovery", True)
    assert services["prometheus"]["user"] == f"{uid}:{uid}"
    assert "secrets" not in compose.mounts(services["prometheus"])


def test_prometheus_scrapes_as_often_as_conch_believes(services: Services) -> None:
    interval = compose.prometheus()["global"]["scrape_interval"]

    assert services["web"]["environment"]["CONCH_SCRAPE_INTERVAL_S"] == interval.removesuffix("s")


def test_prometheus_reads_the_file_that_is_mounted(services: Services) -> None:
    config = compose.option(services["prometheus"]["command"], "--config.file")
    store = compose.option(services["prometheus"]["command"], "--storage.tsdb.path")

    assert compose.mounts(services["prometheus"])["./compose/prometheus.yml"] == (config, True)
    assert compose.mounts(services["prometheus"])["prometheus"] == (store, False)


# --- files


def test_every_volume_is_declared_and_used(services: Services) -> None:
    used = {source for service in services.values() for source in compose.mounts(service) if not source.startswith(".")}

    assert used == compose.volumes()


def test_every_file_that_is_mounted_exists(services: Services) -> None:
    files = {source for service in services.values() for source in compose.mounts(service) if source.startswith(".")}

    assert files
    assert [file for file in files if not (documents.ROOT / file).is_file()] == []


def test_uploads_reach_the_worker(services: Services) -> None:
    place = services["web"]["environment"]["CONCH_ARTIFACTS_DIR"]

    assert compose.mounts(services["web"])["artifacts"] == (place, False)
    assert compose.mounts(services["worker"])["artifacts"] == (place, False)


@pytest.mark.parametrize("name", ["triton", "triton-gpu"])
def test_triton_reads_the_directory_that_the_worker_writes(services: Services, name: str) -> None:
    mount, is_read_only = compose.mounts(services[name])["models"]
    start, repository, *_ = services[name]["command"]

    assert compose.mounts(services["worker"])["models"] == (mount, False)
    assert is_read_only
    # Below the mount point: what is staged beside it lies on the same file system.
    assert repository.startswith(f"{mount}/")
    assert compose.mounts(services[name])["./compose/start-triton"] == (start, True)
    assert f'"path": "{repository}"' in documents.text("docs/operations.md")


def test_one_of_two_tritons_is_chosen_and_both_answer_to_one_name(services: Services) -> None:
    profiles = {name: service["profiles"] for name, service in services.items() if "profiles" in service}

    assert profiles == {"triton": ["cpu"], "triton-gpu": ["gpu"]}
    assert {services[name]["networks"]["default"]["aliases"][0] for name in profiles} == {"triton"}
    assert services["triton-gpu"]["deploy"]["resources"]["reservations"]["devices"][0]["capabilities"] == ["gpu"]


def test_triton_asks_for_the_control_value_on_both_protocols(services: Services, env_file: dict[str, str]) -> None:
    command, value = services["triton"]["command"], env_file["TRITON_CONTROL_VALUE"]

    for flag in ("--grpc-restricted-protocol", "--http-restricted-api"):
        assert compose.option(command, flag) == f"model-repository:conch-control={value}"
    assert '"control_key": "conch-control"' in documents.text("docs/operations.md")


def test_triton_gives_the_percentiles_that_charts_ask_for() -> None:
    script = documents.text("compose/start-triton")

    assert "--metrics-config=summary_latencies=true" in script
    assert f"--metrics-config=summary_quantiles={QUANTILES}" in script
