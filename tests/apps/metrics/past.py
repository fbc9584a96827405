"""A quarter of an hour of known samples, one scrape every 15 s, ending on a whole minute three hours ago.

Two servers of `prod` serve `digits`. Version 1 ends in the middle; version 2 begins there with 5 warm-ups. All rates
are constant, so a chart's value is known whatever the alignment; a server restarts and its counters with it.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from apps.serving.dcgm import PICTURED

EVERY_S = 15
SPAN_S = 1_800


@dataclass(frozen=True)
class Past:
    """Samples from `start_s` to `end_s`."""

    end_s: int

    @property
    def start_s(self) -> int:
        return self.end_s - SPAN_S

    def text(self) -> str:
        """All of it as OpenMetrics."""
        lines = [line for name, kind in _KINDS.items() for line in self._family(name, kind)]
        return "\n".join([*lines, "# EOF", ""])

    def _family(self, name: str, kind: str) -> Iterator[str]:
        yield f"# TYPE {name} {kind}"
        for series, labels, value in _SERIES:
            if series == name:
                for age_s in range(0, SPAN_S + 1, EVERY_S):
                    found = value(age_s)
                    if found is not None:
                        yield f"{name}{{{labels}}} {found} {self.start_s + age_s}"


def steady(per_s: float, *, begins: float = 0.0) -> Callable[[int], float]:
    return lambda age_s: begins + per_s * age_s


def until(end_s: int, value: Callable[[int], float]) -> Callable[[int], float | None]:
    return lambda age_s: value(age_s) if age_s < end_s else None


def restarting(at_s: int, per_s: float) -> Callable[[int], float]:
    """A counter that begins again from 0: its server was restarted."""
    return lambda age_s: per_s * age_s if age_s < at_s else per_s * (age_s - at_s)


def silent_from(at_s: int, value: float) -> Callable[[int], object]:
    """A summary's quantile: spelled Nan when nobody asked for a minute."""
    return lambda age_s: value if age_s < at_s else "NaN"


def _on(server: str, model: str, version: int, more: str = "") -> str:
    escaped = model.replace('"', '\\"')
    return f'environment="prod",server="{server}",model="{escaped}",version="{version}"{more}'


def of_exporter(name: str, *, pod: str = "") -> Iterator[tuple[str, str, Callable[[int], object]]]:
    """What a file in dcgm-exporter's format says, standing still; energy grows by what the power says.

    With `pod`, every slice is one pod's, `triton-<instance>`, told by a label of that name.
    """
    scraped = f'job="dcgm",instance="{name}:9400"'
    yield "up", scraped, steady(0, begins=1)
    power: dict[str, float] = {}
    for metric, labels, value in _ROW.findall((SAMPLES / f"{name}.prom").read_text()):
        if metric == "DCGM_FI_DEV_POWER_USAGE":
            power[labels] = float(value)
        whole = f"{labels},{scraped}{_in_pod(labels, pod)}"
        if metric == "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION":
            yield metric, whole, steady(power[labels] * 1_000, begins=float(value))
        elif metric in PICTURED:
            yield metric, whole, steady(0, begins=float(value))


def _in_pod(labels: str, pod: str) -> str:
    """As dcgm-exporter tells it, or as Prometheus renames it (`exported_pod`)."""
    instance = re.search(r'GPU_I_ID="(\d+)"', labels)
    where = {"pod": 'namespace="models"', "exported_pod": 'exported_namespace="edge"'}
    return f',{pod}="triton-{instance[1]}",{where[pod]}' if pod and instance else ""


SAMPLES = Path(__file__).parent / "samples"
_ROW = re.compile(r"^(DCGM_\w+)\{(.*)\} (\S+)$", re.MULTILINE)
GPU = "GPU-2b9e11c4-0f36"
ON_GPU = f'environment="prod",server="prod-2",gpu_uuid="{GPU}"'
ONE, TWO = _on("prod-1", "digits", 2), _on("prod-2", "digits", 2)
_SERIES: tuple[tuple[str, str, Callable[[int], object]], ...] = (
    ("up", 'environment="prod",server="prod-1"', steady(0, begins=1)),
    ("up", 'environment="prod",server="prod-2"', steady(0, begins=1)),
    ("nv_inference_request_success", ONE, steady(10, begins=5)),
    ("nv_inference_request_success", TWO, restarting(900, 20)),
    ("nv_inference_request_success", _on("prod-1", "digits", 1), until(900, steady(4))),
    ("nv_inference_request_success", _on("prod-1", "digits.shadow", 2), steady(1_000)),
    ("nv_inference_request_success", _on("prod-1", 'odd"} or up{x="', 1), steady(3)),
    ("nv_inference_request_success", _on("prod-1", "quiet", 1), steady(0, begins=5)),
    ("nv_inference_request_success", _on("prod-1", "asleep", 1), steady(0, begins=5)),
    ("nv_inference_request_success", _on("prod-1", "plain", 1), steady(10)),
    ("nv_inference_request_duration_us", _on("prod-1", "plain", 1), steady(10 * 3_000)),
    ("nv_inference_request_failure", ONE + ',reason="BACKEND"', steady(2)),
    ("nv_inference_request_failure", ONE + ',reason="OTHER"', steady(0)),
    ("nv_inference_request_failure", _on("prod-1", "digits", 1, ',reason="BACKEND"'), steady(0, begins=7)),
    ("nv_inference_request_failure", _on("prod-1", "quiet", 1, ',reason="BACKEND"'), steady(0)),
    ("nv_inference_request_failure", _on("prod-1", "quiet", 1, ',reason="OTHER"'), steady(0)),
    ("nv_inference_request_duration_us", ONE, steady(10 * 3_000)),
    ("nv_inference_request_duration_us", TWO, restarting(900, 20 * 6_000)),
    ("nv_inference_queue_duration_us", ONE, steady(10 * 500)),
    ("nv_inference_queue_duration_us", TWO, restarting(900, 20 * 500)),
    ("nv_inference_compute_input_duration_us", ONE, steady(10 * 100)),
    ("nv_inference_compute_infer_duration_us", ONE, steady(10 * 2_000)),
    ("nv_inference_compute_output_duration_us", ONE, steady(10 * 300)),
    ("nv_inference_count", ONE, steady(30)),
    ("nv_inference_exec_count", ONE, steady(12)),
    ("nv_inference_pending_request_count", ONE, steady(0, begins=3)),
    ("nv_inference_pending_request_count", TWO, steady(0, begins=4)),
    ("nv_inference_request_summary_us", ONE + ',quantile="0.99"', silent_from(900, 41_000)),
    ("nv_inference_request_summary_us", TWO + ',quantile="0.99"', silent_from(900, 55_000)),
    ("nv_inference_request_summary_us", ONE + ',quantile="0.9"', silent_from(900, 30_000)),
    ("nv_inference_request_summary_us", ONE + ',quantile="0.5"', silent_from(900, 7_000)),
    ("nv_inference_request_summary_us", _on("prod-1", "asleep", 1, ',quantile="0.99"'), silent_from(0, 1)),
    ("nv_cpu_utilization", 'environment="prod",server="prod-1"', steady(0, begins=0.25)),
    ("nv_cpu_utilization", 'environment="prod",server="prod-2"', steady(0, begins=0.75)),
    ("nv_cpu_memory_used_bytes", 'environment="prod",server="prod-1"', steady(0, begins=2 * 2**30)),
    ("nv_gpu_utilization", 'environment="prod",server="prod-2",gpu_uuid="GPU-2b9e11c4-0f36"', steady(0, begins=0.5)),
    ("nv_gpu_memory_used_bytes", ON_GPU, steady(0, begins=12 * 2**30)),
    ("nv_gpu_memory_total_bytes", ON_GPU, steady(0, begins=80 * 2**30)),
    ("nv_gpu_power_usage", ON_GPU, steady(0, begins=96.8)),
    ("nv_gpu_power_limit", ON_GPU, steady(0, begins=400)),
    ("nv_energy_consumption", ON_GPU, restarting(900, 95)),
    ("nv_cpu_memory_total_bytes", 'environment="prod",server="prod-1"', steady(0, begins=24 * 2**30)),
    ("nv_pinned_memory_pool_used_bytes", 'environment="prod",server="prod-1"', steady(0, begins=2**26)),
    ("nv_pinned_memory_pool_total_bytes", 'environment="prod",server="prod-1"', steady(0, begins=2**28)),
    ("nv_model_load_duration_secs", ONE, steady(0, begins=1.5)),
    ("nv_model_load_duration_secs", TWO, steady(0, begins=2.25)),
    ("nv_cache_num_hits_per_model", ONE, steady(3)),
    ("nv_cache_num_misses_per_model", ONE, steady(1)),
    ("nv_cache_hit_duration_per_model", ONE, steady(3 * 200)),
    ("nv_cache_miss_duration_per_model", ONE, steady(1 * 900)),
    *(
        (
            "nv_inference_first_response_histogram_ms_bucket",
            _on(server, "digits", 2, f',le="{le}"'),
            steady(per_s),
        )
        for server, rates in (("prod-1", (0, 10, 10)), ("prod-2", (0, 0, 10)))
        for le, per_s in zip(("100", "500", "+Inf"), rates, strict=True)
    ),
    (
        "conch:latency_ms:p99_worst",
        'environment="prod",model="paced"',
        lambda age_s: 60 if age_s < SPAN_S / 2 else 40,
    ),
    (
        "conch:latency_ms:p99_worst",
        'environment="prod",model="stuttering"',
        lambda age_s: 60 if age_s % 300 < 120 else 40,
    ),
    *of_exporter("dcgm_mig_a100", pod="pod"),
    *of_exporter("dcgm_mig_h100_v4.6", pod="exported_pod"),
    *of_exporter("dcgm_mig_without_host"),
)
_KINDS = {name: "gauge" for name, _, _ in _SERIES}
PAST = Past(end_s=int(time.time() - 3 * 3_600) // 60 * 60)
