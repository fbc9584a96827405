"""Why a Triton that is scraped may not give a signal, and the flag that turns it on. Pure.

Source: Triton's metrics.md; what 2.51 exposes was looked at.
"""

from collections.abc import Mapping

from apps.serving.signals import Signal

_SUMMARIES = (
    "no percentiles: summaries are off; --metrics-config summary_latencies=true turns them on "
    "(a model with the response cache has none)"
)
_COUNTERS = "no latency counters: --metrics-config counter_latencies=false switched them off"
_CACHE = (
    "no response cache: start Triton with --cache-config local,size=<bytes> and set response_cache { enable: true } "
    "in the model's config"
)
_GPU = "no GPU metrics: no GPU here, or they are off (--allow-gpu-metrics=true turns them on)"
_CPU = "no CPU metrics: --allow-cpu-metrics=true turns them on"

ABSENT: Mapping[Signal, str] = {
    Signal.LATENCY_QUANTILE: _SUMMARIES,
    Signal.FIRST_RESPONSE: (
        "no histogram: --metrics-config histogram_latencies=true turns it on, for decoupled models of a Triton "
        "newer than 2.51"
    ),
    Signal.LATENCY_MEAN: _COUNTERS,
    Signal.QUEUE_TIME: _COUNTERS,
    Signal.COMPUTE_TIME: _COUNTERS,
    Signal.COMPUTE_INPUT: _COUNTERS,
    Signal.COMPUTE_INFER: _COUNTERS,
    Signal.COMPUTE_OUTPUT: _COUNTERS,
    Signal.CACHE_HIT_RATIO: _CACHE,
    Signal.CACHE_HIT_RATE: _CACHE,
    Signal.CACHE_MISS_RATE: _CACHE,
    Signal.CACHE_HIT_TIME: _CACHE,
    Signal.CACHE_MISS_TIME: _CACHE,
    Signal.LOAD_DURATION: "no load times: Triton 2.51 does not give them, newer ones do (nv_model_load_duration_secs)",
    Signal.GPU_UTILISATION: _GPU,
    Signal.GPU_MEMORY: _GPU,
    Signal.GPU_MEMORY_TOTAL: _GPU,
    Signal.GPU_POWER: _GPU,
    Signal.GPU_POWER_LIMIT: _GPU,
    Signal.GPU_ENERGY: _GPU,
    Signal.CPU_UTILISATION: _CPU,
    Signal.CPU_MEMORY: _CPU,
    Signal.CPU_MEMORY_TOTAL: _CPU,
}
