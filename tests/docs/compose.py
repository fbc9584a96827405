"""docker-compose.yml, Dockerfile and what they mount, as tests read them."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.docs.documents import ROOT, text

Service = dict[str, Any]

_VARIABLE = re.compile(r"\$\{(\w+)(:[-?])?([^}]*)\}")
_COPY = re.compile(r"^COPY (?!--from)(.+)$", re.MULTILINE)
CONCH = "conch:"


def made_secrets(folder: Path) -> dict[str, str]:
    """What compose/make-env writes."""
    file = folder / ".env"
    subprocess.run([ROOT / "compose" / "make-env", file], check=True, capture_output=True)
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def variables() -> dict[str, str]:
    """What stands in docker-compose.yml as `${NAME...}`, with `:?`, `:-` or nothing behind the name."""
    return {name: how for name, how, _ in _VARIABLE.findall(text("docker-compose.yml"))}


def services(secrets: dict[str, str]) -> dict[str, Service]:
    """The services, with every variable filled in as compose does; KeyError for one that must be set and is not."""
    document = yaml.safe_load(text("docker-compose.yml"))
    found: dict[str, Service] = _filled(document["services"], secrets)
    return found


def _filled(part: Any, secrets: dict[str, str]) -> Any:
    """Compose fills in after the YAML was read: an empty variable is an empty text."""
    if isinstance(part, dict):
        return {name: _filled(value, secrets) for name, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, secrets) for value in part]
    if not isinstance(part, str):
        return part
    return _VARIABLE.sub(lambda found: _value(found, secrets), part).replace("$$", "$")


def _value(found: re.Match[str], secrets: dict[str, str]) -> str:
    name, how, default = found.groups()
    return secrets.get(name, default) if how == ":-" else secrets[name]


def volumes() -> set[str]:
    """The named volumes that are declared."""
    return set(yaml.safe_load(text("docker-compose.yml"))["volumes"])


def mounts(service: Service) -> dict[str, tuple[str, bool]]:
    """Where each volume or file of the service is mounted, and whether read-only."""
    words = [str(line).split(":") for line in service.get("volumes", [])]
    return {source: (target, "ro" in options) for source, target, *options in words}


def of_conch(found: dict[str, Service]) -> dict[str, Service]:
    """The services that run Conch's own image."""
    return {name: service for name, service in found.items() if service["image"].startswith(CONCH)}


def option(words: list[str], name: str) -> str:
    """The value of `--name value` or `--name=value` in a command."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    raise KeyError(name)


def copied() -> Iterator[str]:
    """What the image is made of: the sources of every COPY from this repository."""
    for line in _COPY.findall(text("Dockerfile")):
        yield from line.split()[:-1]


def prometheus() -> dict[str, Any]:
    """The configuration that Prometheus is given."""
    found: dict[str, Any] = yaml.safe_load(text("compose/prometheus.yml"))
    return found


def owned_directories() -> list[str]:
    """The directories that the image makes for Conch, which volumes take their owner and content from."""
    (found,) = re.findall(r"install --directory --owner conch --group conch \\\n\s+(.+)", text("Dockerfile"))
    return str(found).split()
