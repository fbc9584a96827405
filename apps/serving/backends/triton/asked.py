"""A selection with the pieces that every query of Triton's metrics is made of. Pure."""

from dataclasses import dataclass

from apps.common.names import SHADOW_SUFFIX
from apps.serving.matching import exactly, one_of
from apps.serving.signals import Selection

_NO_SHADOW = f'model!~".*{SHADOW_SUFFIX.replace(".", "[.]")}"'


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for, as pieces of PromQL."""

    selection: Selection

    @property
    def window(self) -> str:
        """The range that rates and gauges look back over."""
        return f"[{self.selection.window_s}s]"

    @property
    def by(self) -> tuple[str, ...]:
        """Labels that tell a version's lines apart: those the selection names, or else leaves open."""
        chosen = self.selection
        if chosen.by:
            return chosen.by
        server = ("server",) if chosen.is_per_server and not chosen.server else ()
        environment = () if chosen.environment or chosen.server else ("environment",)
        return (*server, *environment, *(() if chosen.model else ("model",)), "version")

    def series(self, metric: str, *matchers: str) -> str:
        """Selector of a metric that models give; never the shadow's."""
        chosen = self.selection
        own = [*exactly({"model": chosen.model}), *one_of("version", chosen.versions)]
        return f"{metric}{{{','.join([*self._server(), *own, _NO_SHADOW, *matchers])}}}"

    def machine(self, metric: str, *matchers: str) -> str:
        """Selector of a metric that a server gives about its machine."""
        return f"{metric}{{{','.join([*self._server(), *matchers])}}}"

    def rate(self, metric: str, *also_by: str) -> str:
        """Increase per second, summed over servers after each one's own rate."""
        return f"sum by ({', '.join((*self.by, *also_by))}) (rate({self.series(metric)}{self.window}))"

    def gauge(self, metric: str, *matchers: str) -> str:
        """Its last value within the window."""
        return f"last_over_time({self.series(metric, *matchers)}{self.window})"

    def live(self, promql: str) -> str:
        """`promql` only while the version is loaded: failure counters outlive their version, successes do not."""
        loaded = f"sum by ({', '.join(self.by)}) ({self.series('nv_inference_request_success')})"
        return f"({promql}) and on ({', '.join(self.by)}) {loaded}"

    def _server(self) -> list[str]:
        return exactly({"environment": self.selection.environment, "server": self.selection.server})
