"""docker-compose.yml cannot be run here, so it is held against the code and against itself."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from celery.bin.base import CLIContext
from celery.bin.celery import celery as celery_command
from django.core.management import get_commands, load_command_class
from django.urls import resolve
from gunicorn.config import Config as GunicornConfig  # type: ignore[import-untyped]

from controlplane import env
from controlplane.celery import app as celery_app
from demo.parts.triton import QUANTILES
from tests.docs import compose, documents
from tests.docs.compose import Service
from worker.context import PATIENCE_S
from worker.engine import BUDGET_S

Services = dict[str, Service]

KNOWN = {setting.name for setting in env.SETTINGS}
# A default that is empty, or that is this very machine, is none for a container.
NEEDED = {setting.name for setting in env.SETTINGS if not setting.default or "127.0.0.1" in setting.default}
ONE_SHOTS = {"migrate", "bootstrap"}
PINNED = re.compile(r".+:v?\d+\.\d+(\.\d+)?([.-][a-z0-9]+)*")


def is_settings(name: str) -> bool:
    return name.startswith("CONCH_")


def port_of(service: Service) -> int:
    return int(compose.option(service["command"], "--bind").rsplit(":", 1)[1])


# --- settings


def test_every_setting_in_compose_is_one_the_code_reads(services: Services) -> None:
    named = {name for service in compose.of_conch(services).values() for name in service["environment"]}

    assert {name for name in named if is_settings(name)} <= KNOWN


@pytest.mark.parametrize("name", ["migrate", "bootstrap", "web", "worker", "beat"])
def test_every_setting_without_a_default_is_given(services: Services, name: str) -> None:
    assert set(services[name]["environment"]) >= NEEDED


def test_all_processes_of_conch_are_told_the_same(services: Services) -> None:
    told = [
        {name: value for name, value in service["environment"].items() if is_settings(name)}
        for service in compose.of_conch(services).values()
    ]

    assert all(each == told[0] for each in told)


def test_conch_starts_with_these_settings_and_looks_for_what_compose_starts(services: Services) -> None:
    script = (
        "import django, json; from django.conf import settings as s; django.setup(); print(json.dumps("
        "[s.DEBUG, s.DATABASES['default']['ENGINE'], s.DATABASES['default']['HOST'], s.DATABASES['default']['NAME'],"
        " s.DATABASES['default']['PASSWORD'], s.REDIS_URL, s.ALLOWED_HOSTS, s.CONCH['prometheus_url']]))"
    )
    variables = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    variables |= {name: str(value) for name, value in services["web"]["environment"].items()}

    said = subprocess.run(
        [sys.executable, "-c", script], env=variables, cwd=documents.ROOT, capture_output=True, text=True, check=True
    )

    debug, engine, host, name, password, broker, hosts, prometheus = json.loads(said.stdout)
    postgres, redis = services["postgres"]["environment"], urlsplit(broker)
    assert debug is False
    assert (engine, host) == ("django.db.backends.postgresql", "postgres")
    assert (name, password) == (postgres["POSTGRES_DB"], postgres["POSTGRES_PASSWORD"])
    assert (redis.scheme, redis.hostname, redis.port) == ("redis", "redis", 6379)
    assert redis.password == compose.option(services["redis"]["command"], "--requirepass")
    assert urlsplit(prometheus).hostname in services
    assert {"web", "127.0.0.1"} <= set(hosts)


def test_every_secret_that_must_be_there_is_made(env_file: dict[str, str]) -> None:
    needed = {name for name, how in compose.variables().items() if how == ":?"}

    assert needed <= set(env_file)
    assert all(re.fullmatch(r"[0-9a-f]{48,}", env_file[name]) for name in needed)
    assert len({env_file[name] for name in needed}) == len(needed)


def test_every_variable_has_a_default_or_a_message() -> None:
    assert set(compose.variables().values()) == {":?", ":-"}


def test_every_line_that_can_be_let_in_is_a_variable_of_compose(env_file: dict[str, str]) -> None:
    offered = set(re.findall(r"^#?([A-Z_]+)=", documents.text("compose/make-env"), re.MULTILINE))

    assert set(env_file) <= offered
    assert offered - {"COMPOSE_PROFILES"} <= set(compose.variables())


# --- commands


@pytest.mark.parametrize("name", ["migrate", "bootstrap"])
def test_management_commands_exist_and_take_these_options(services: Services, name: str) -> None:
    python, manage, command, *options = services[name]["command"]

    parser = load_command_class(get_commands()[command], command).create_parser(manage, command)

    assert (python, (documents.ROOT / manage).is_file()) == ("python", True)
    assert vars(parser.parse_args(options))


def test_gunicorn_takes_these_options_and_finds_the_application(services: Services) -> None:
    program, *options = services["web"]["command"]

    taken = GunicornConfig().parser().parse_args(options)

    module = taken.args[0]
    assert program == "gunicorn"
    assert importlib.util.find_spec(module) is not None
    assert (taken.worker_class, taken.bind) == ("gthread", ["0.0.0.0:8000"])


@pytest.mark.parametrize("name", ["worker", "beat"])
def test_celery_takes_these_options_and_finds_the_application(services: Services, name: str) -> None:
    program, *options = services[name]["command"]
    start = options.index(name)
    command = celery_command.commands[name]

    taken = command.make_context(name, options[start + 1 :], obj=CLIContext(celery_app, no_color=True, workdir="."))

    assert program == "celery"
    assert options[:start] == ["--app", "controlplane"]
    assert taken.args == []


def test_there_is_one_clock(services: Services) -> None:
    clocks = [
        name
        for name, service in compose.of_conch(services).items()
        if {"beat", "--beat", "-B"} & set(service["command"])
    ]

    assert clocks == ["beat"]
    assert services["beat"]["deploy"]["replicas"] == 1


def test_a_message_is_not_given_out_twice_while_a_worker_has_it(services: Services) -> None:
    longest_s = BUDGET_S + PATIENCE_S

    assert celery_app.conf.broker_transport_options["visibility_timeout"] > longest_s
    assert int(services["worker"]["stop_grace_period"].removesuffix("s")) > longest_s


def test_redis_keeps_the_queue_through_a_restart(services: Services) -> None:
    command = services["redis"]["command"]

    assert compose.option(command, "--appendonly") == "yes"
    assert compose.option(command, "--maxmemory-policy") == "noeviction"
    assert compose.mounts(services["redis"])["redis"] == ("/data", False)


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


def test_prometheus_asks_conch_for_its_targets(services: Services) -> None:
    (job,) = compose.prometheus()["scrape_configs"]
    (discovery,) = job["http_sd_configs"]
    asked = urlsplit(discovery["url"])

    assert (asked.hostname, asked.port) == ("web", port_of(services["web"]))
    assert resolve(asked.path).url_name == "prometheus-targets"


def test_prometheus_can_read_the_token_that_bootstrap_writes(services: Services) -> None:
    (discovery,) = compose.prometheus()["scrape_configs"][0]["http_sd_configs"]
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
    assert compose.mounts(services["web"])["uploads"] == (services["web"]["environment"]["TMPDIR"], False)


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
