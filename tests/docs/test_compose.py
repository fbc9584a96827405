"""docker-compose.yml cannot be run here, so it is held against the code: settings, secrets and commands."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from celery.bin.base import CLIContext
from celery.bin.celery import celery as celery_command
from django.core.management import get_commands, load_command_class
from gunicorn.config import Config as GunicornConfig  # type: ignore[import-untyped]

from controlplane import env
from controlplane.celery import app as celery_app
from tests.docs import compose, documents
from tests.docs.compose import Service
from worker.context import PATIENCE_S
from worker.engine import BUDGET_S

Services = dict[str, Service]

KNOWN = {setting.name for setting in env.SETTINGS}
# A default that is empty, or that is this very machine, is none for a container.
NEEDED = {setting.name for setting in env.SETTINGS if not setting.default or "127.0.0.1" in setting.default}


def is_settings(name: str) -> bool:
    return name.startswith("CONCH_")


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


def test_conch_starts_with_these_settings_and_looks_for_what_compose_starts(services: Services, tmp_path: Path) -> None:
    for directory in compose.owned_directories():
        (tmp_path / directory.lstrip("/")).mkdir(parents=True, exist_ok=True)
    script = """
import django, json
from django.conf import settings as s
from django.core.management import call_command
django.setup()
call_command("check", fail_level="WARNING")
database = s.DATABASES["default"]
told = [database[name] for name in ("ENGINE", "HOST", "NAME", "PASSWORD")]
received = str(s.FILE_UPLOAD_TEMP_DIR)
print(json.dumps([s.DEBUG, *told, s.REDIS_URL, s.ALLOWED_HOSTS, s.CONCH["prometheus_url"], received]))
"""
    variables = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    variables |= {name: str(value) for name, value in services["web"]["environment"].items()}
    variables["CONCH_ARTIFACTS_DIR"] = f"{tmp_path}{variables['CONCH_ARTIFACTS_DIR']}"

    said = subprocess.run(
        [sys.executable, "-c", script], env=variables, cwd=documents.ROOT, capture_output=True, text=True, check=True
    )

    debug, engine, host, name, password, broker, hosts, prometheus, received = json.loads(said.stdout.splitlines()[-1])
    postgres, redis = services["postgres"]["environment"], urlsplit(broker)
    assert debug is False
    assert (engine, host) == ("django.db.backends.postgresql", "postgres")
    assert (name, password) == (postgres["POSTGRES_DB"], postgres["POSTGRES_PASSWORD"])
    assert (redis.scheme, redis.hostname, redis.port) == ("redis", "redis", 6379)
    assert redis.password == compose.option(services["redis"]["command"], "--requirepass")
    assert urlsplit(prometheus).hostname in services
    assert {"web", "127.0.0.1"} <= set(hosts)
    assert Path(received).is_relative_to(variables["CONCH_ARTIFACTS_DIR"])


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
