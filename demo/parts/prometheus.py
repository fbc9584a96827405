"""Prometheus, from PATH or from Debian's package unpacked beside the stack's state."""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from demo.parts.packages import unpack_package
from demo.parts.part import Part
from demo.parts.process import Child


@dataclass(frozen=True)
class HttpDiscovery:
    """Where Prometheus asks for its targets, and the file with the bearer token."""

    url: str
    token_file: Path
    refresh_s: int = 2


class Prometheus(Part):
    """One Prometheus on a loopback port with its series in `root`; also scrapes what files in `root/targets` name.

    `conch` is where Conch's own /metrics are (host:port); the discovery's token opens them too.
    """

    def __init__(
        self,
        root: Path,
        *,
        port: int,
        packages: Path,
        targets: Sequence[str] = (),
        discovery: HttpDiscovery | None = None,
        conch: str = "",
        rules: Sequence[Path] = (),
        scrape_interval_s: int = 2,
    ) -> None:
        self.name = "prometheus"
        self.root = root.resolve()
        self.port = port
        self._packages = packages
        self._targets = list(targets)
        self._discovery = discovery
        self._conch = conch
        self._rules = [str(path) for path in rules]
        self.scrape_interval_s = scrape_interval_s
        self.config = self.root / "prometheus.yml"

    @property
    def url(self) -> str:
        """`http://127.0.0.1:port`."""
        return f"http://127.0.0.1:{self.port}"

    def make_child(self) -> Child:
        """The server, with its configuration written anew."""
        (self.root / "targets").mkdir(parents=True, exist_ok=True)
        self.config.write_text(json.dumps(self._configuration(), indent=2))
        command: list[str | Path] = [
            find_program("prometheus", packages=self._packages),
            f"--config.file={self.config}",
            f"--storage.tsdb.path={self.root / 'series'}",
            "--storage.tsdb.retention.time=15d",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--log.level=warn",
        ]
        return Child(self.name, command, log=self.root / "prometheus.log")

    def is_ready(self) -> bool:
        """True when it answers queries."""
        return answers(f"{self.url}/-/ready")

    def _configuration(self) -> dict[str, object]:
        job: dict[str, object] = {"job_name": "triton"}
        if self._targets:
            job["static_configs"] = [{"targets": self._targets}]
        if self._discovery is not None:
            job["http_sd_configs"] = [
                {
                    "url": self._discovery.url,
                    "refresh_interval": f"{self._discovery.refresh_s}s",
                    # The type is said: Debian's Prometheus sends the bare token otherwise.
                    "authorization": {"type": "Bearer", "credentials_file": str(self._discovery.token_file)},
                }
            ]
        jobs = [job, {"job_name": "targets", "file_sd_configs": [{"files": [f"{self.root / 'targets'}/*.json"]}]}]
        if self._conch and self._discovery is not None:
            jobs.append(
                {
                    "job_name": "conch",
                    "static_configs": [{"targets": [self._conch]}],
                    "authorization": {"type": "Bearer", "credentials_file": str(self._discovery.token_file)},
                }
            )
        interval = f"{self.scrape_interval_s}s"
        return {
            "global": {"scrape_interval": interval, "scrape_timeout": interval},
            "rule_files": self._rules,
            "scrape_configs": jobs,
        }


def find_program(name: str, *, packages: Path) -> Path:
    """`prometheus` or `promtool`: on PATH, else from the package."""
    if on_path := shutil.which(name):
        return Path(on_path)
    return unpack_package("prometheus", into=packages) / "usr" / "bin" / name


def answers(url: str, *, timeout_s: float = 1.0) -> bool:
    """True when a GET gives a 2xx."""
    try:
        with urllib.request.urlopen(url, timeout=timeout_s):
            return True
    except (urllib.error.URLError, OSError):
        return False
