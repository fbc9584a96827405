"""The rules, as data: what is seen together, what that means, what to change, and who says so. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from apps.metrics.diagnosis.facts import MOST_DELAY_US

_PERF = "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide"
_BATCHER = f"{_PERF}/model_configuration.html#dynamic-batcher"
_OPTIMIZATION = f"{_PERF}/optimization.html"
_INSTANCES = f"{_PERF}/model_configuration.html#instance-groups"
_WARMUP = f"{_PERF}/model_configuration.html#model-warmup"
_ISSUES = "https://github.com/triton-inference-server/server/issues"
CPU_IS_FULL = 0.85


@dataclass(frozen=True, slots=True)
class Condition:
    """One measure above or below a limit."""

    measure: str
    holds: Literal["above", "below"]
    limit: float


@dataclass(frozen=True, slots=True)
class Setting:
    """A path in the model's configuration and what to set it to: a measure's value, as a whole number."""

    path: str
    measure: str


@dataclass(frozen=True, slots=True)
class Rule:
    """When every condition holds, `meaning` is said with the numbers, and `change` what to do about it.

    `gives_way_to` are rules that explain the same better: where one of them is found, this one is not said.
    """

    key: str
    title: str
    conditions: tuple[Condition, ...]
    meaning: str
    change: str
    source: str
    settings: tuple[Setting, ...] = ()
    gives_way_to: tuple[str, ...] = ()


RULES: Sequence[Rule] = (
    Rule(
        key="small_batches",
        title="The GPU waits for small batches",
        conditions=(
            Condition("gpu_use", "below", 0.5),
            Condition("latency_ms", "above", 20),
            Condition("batch_fill", "below", 0.5),
            Condition("rate_per_server", "above", 5),
            Condition("present_delay_us", "below", MOST_DELAY_US),
        ),
        meaning="Requests take long while the GPU has little to do, and executions are far from full.",
        change="Let the batcher wait a little longer for more requests, or name preferred batch sizes.",
        source=_BATCHER,
        settings=(Setting("dynamic_batching.max_queue_delay_microseconds", "queue_delay_us"),),
    ),
    Rule(
        key="preprocessing_on_cpu",
        title="The CPU is the bottleneck",
        conditions=(
            Condition("cpu_use", "above", CPU_IS_FULL),
            Condition("rate_per_server", "below", 20),
            Condition("rate_per_server", "above", 0),
            Condition("gpus", "above", 0),
        ),
        meaning="The CPU is busy while few requests are answered: most likely inputs are prepared there.",
        change="Prepare inputs on the GPU (DALI, or in the model), in the client, or give the server more cores.",
        source=_OPTIMIZATION,
    ),
    Rule(
        key="cpu_is_full",
        title="The CPU is the bottleneck",
        conditions=(
            Condition("cpu_use", "above", CPU_IS_FULL),
            Condition("rate_per_server", "above", 0),
            Condition("gpus", "below", 1),
        ),
        meaning="The models run on the CPU, and it has next to nothing left.",
        change="Give the server more cores, or add a server; more instances than cores only wait for each other.",
        source=_OPTIMIZATION,
    ),
    Rule(
        key="queue_over_half",
        title="Requests wait longer than they are worked on",
        conditions=(Condition("queue_share", "above", 0.5), Condition("queue_ms", "above", 2)),
        meaning="More than half of a request's time is waiting for an instance.",
        change="Run more instances of the model if memory allows, or more servers.",
        source=_INSTANCES,
        settings=(Setting("instance_group.count", "instances"),),
        # On a full CPU requests wait for cores, and more instances would wait beside them.
        gives_way_to=("cpu_is_full", "preprocessing_on_cpu"),
    ),
    Rule(
        key="above_the_knee",
        title="Batches are above the knee",
        conditions=(Condition("knee_cost", "above", 0.95), Condition("knee_batch", "above", 2)),
        meaning="An inference costs as much in a large batch as in a small one: waiting for large ones gives nothing.",
        change="Prefer the smaller batch: latency falls and throughput stays.",
        source=_OPTIMIZATION,
        settings=(Setting("dynamic_batching.preferred_batch_size", "small_batch"),),
    ),
    Rule(
        key="pending_grows",
        title="Requests pile up",
        conditions=(Condition("pending_growth", "above", 2), Condition("pending", "above", 5)),
        meaning="More requests come than are answered, and the queue grows.",
        change="Add instances or servers now, or send less.",
        source=_INSTANCES,
        settings=(Setting("instance_group.count", "instances"),),
        gives_way_to=("pending_on_full_cpu",),
    ),
    Rule(
        key="pending_on_full_cpu",
        title="Requests pile up",
        conditions=(
            Condition("pending_growth", "above", 2),
            Condition("pending", "above", 5),
            Condition("cpu_use", "above", CPU_IS_FULL),
        ),
        meaning="More requests come than are answered, the queue grows, and the CPU has next to nothing left.",
        change="Add servers or cores now, or send less; more instances would only wait for the CPU.",
        source=_OPTIMIZATION,
    ),
    Rule(
        key="slow_server",
        title="One server is much slower than its peers",
        conditions=(Condition("slowest_ratio", "above", 2), Condition("servers", "above", 1)),
        meaning="The same model takes a multiple of the time on one server.",
        change="Look at that server: another process on its GPU, heat, a wrong slice. Cordon it and restart it.",
        source=_OPTIMIZATION,
    ),
    Rule(
        key="cold_after_load",
        title="Loads start cold",
        conditions=(Condition("cold_ratio", "above", 3),),
        meaning="In the first minutes after the load requests took a multiple of what they take now.",
        change="Add samples that look like real requests: Conch warms every load with them before clients see it.",
        source=_WARMUP,
    ),
    Rule(
        key="memory_kept",
        title="Memory did not come back after an unload",
        conditions=(Condition("kept_share", "above", 0.5), Condition("kept_bytes", "above", 64 * 2**20)),
        meaning="Most of what the version had taken is still in use after it was unloaded.",
        change="Some frameworks keep what they once took: restart the server when convenient.",
        source=f"{_ISSUES}/6836",
    ),
)
