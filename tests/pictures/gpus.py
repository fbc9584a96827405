"""Two cards that a demo on a machine without GPUs can show: dcgm-exporter's words, kept, told again a little moved."""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.apps.metrics.doubles import exporters

KEPT = Path(__file__).parents[1] / "apps" / "metrics" / "samples" / "dcgm_mig_a100.prom"
SCRAPED_EVERY_S = 2
BASE_W, MORE_W = 180, 120
USE = re.compile(r"^(DCGM_FI_PROF_GR_ENGINE_ACTIVE\{.*?\}) (\S+)$", re.MULTILINE)
ENERGY = re.compile(r"^(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION\{.*?\}) (\S+)$", re.MULTILINE)


@contextmanager
def scraped_gpus(state: Path) -> Iterator[None]:
    """As long as it is open, the demo's Prometheus scrapes them, by a file in its folder of targets."""
    text = KEPT.read_text()
    named = state / "prometheus" / "targets" / "gpus.json"
    with exporters({"gpus": lambda scrape: told(text, scrape)}) as double:
        named.write_text(json.dumps([{"targets": [double.address], "labels": {"__metrics_path__": "/metrics/gpus"}}]))
        try:
            yield
        finally:
            named.unlink()


def told(text: str, scrape: int) -> str:
    """The kept words at one scrape: use goes up and down, energy is counted on."""
    busy = (1 + math.sin(scrape / 9)) / 2
    # What the use above adds up to: it only ever grows.
    joules = SCRAPED_EVERY_S * (BASE_W * scrape + MORE_W * (scrape + 9 * (1 - math.cos(scrape / 9))) / 2)
    text = USE.sub(lambda found: f"{found[1]} {float(found[2]) * (0.6 + 0.4 * busy):.6f}", text)
    return ENERGY.sub(lambda found: f"{found[1]} {float(found[2]) + 1000 * joules:.0f}", text)
