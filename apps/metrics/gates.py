"""What a rollout must show to go on. Pure."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from apps.serving.signals import DEVICE_SIGNALS, UNITS, Signal

Whole = Annotated[int, Field(strict=True)]
PROBE_FAILURES = "probe_failures"
# What a gate can look at: every signal that measures serving, and Conch's own requests.
_NOT_GATED = {Signal.IS_SCRAPED, Signal.ANSWERED_COUNT, Signal.FAILED_COUNT} | DEVICE_SIGNALS
SIGNALS = (*(str(signal) for signal in Signal if signal not in _NOT_GATED), PROBE_FAILURES)


class Against(StrEnum):
    """What a gate's value is held against."""

    VALUE = "value"
    OBJECTIVE = "objective"
    REPLACED = "replaced"


class Gate(BaseModel):
    """One condition. `limit` is in the signal's unit, or a factor of the objective or of the replaced version's value.

    Judged every `every_s` over the last `window_s`, from at least `minimum_samples` requests. It fails at the
    `failure_limit`-th failed judgement of a wave; `error_limit` errors in a row make it inconclusive.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")
    signal: str
    quantile: Literal["0.5", "0.95", "0.99"] = "0.99"
    against: Against = Against.VALUE
    at: Literal["most", "least"] = "most"
    limit: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    window_s: Whole = Field(default=60, ge=5, le=86_400)
    every_s: Whole = Field(default=10, ge=1, le=3_600)
    minimum_samples: Whole = Field(default=20, ge=1, le=10_000_000)
    failure_limit: Whole = Field(default=1, ge=1, le=100)
    error_limit: Whole = Field(default=5, ge=1, le=1_000)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.signal not in SIGNALS:
            raise ValueError(f"there is no signal {self.signal!r}; there are: {', '.join(SIGNALS)}")
        if self.against == Against.OBJECTIVE and not self.objective:
            raise ValueError(
                "models promise a p99 (signal latency_quantile, quantile 0.99) and an error ratio (error_ratio, "
                "probe_failures); hold any other signal against a value or the replaced version"
            )
        if "limit" not in self.model_fields_set and self.against == Against.VALUE:
            raise ValueError("a gate against a value needs its limit")
        return self

    @property
    def objective(self) -> str:
        """The promise of the model that this signal can be held against; empty when there is none."""
        if self.signal == Signal.LATENCY_QUANTILE:
            return "slo_p99_ms" if self.quantile == "0.99" else ""
        return "slo_error_ratio" if self.signal in (Signal.ERROR_RATIO, PROBE_FAILURES) else ""

    @property
    def unit(self) -> str:
        """The unit of its value and, against a value, of its limit."""
        return "ratio" if self.signal == PROBE_FAILURES else UNITS[Signal(self.signal)]

    def told(self, value: float) -> str:
        """A value with its unit, as people read it: a ratio in per cent."""
        return f"{value * 100:.4g} %" if self.unit == "ratio" else f"{value:.4g} {self.unit}".rstrip()

    @property
    def sentence(self) -> str:
        """The condition as people read it: `p99 latency at most 60 ms over 60 s`."""
        what = f"p{float(self.quantile) * 100:g}" if self.signal == Signal.LATENCY_QUANTILE else self.signal
        limit = {
            Against.VALUE: self.told(self.limit),
            Against.OBJECTIVE: f"{_times(self.limit)}its objective",
            Against.REPLACED: f"{_times(self.limit)}the old version's",
        }
        return f"{what.replace('_', ' ')} at {self.at} {limit[self.against]} over {self.window_s} s"


def _times(factor: float) -> str:
    return "" if factor == 1 else f"{factor:g} x "
