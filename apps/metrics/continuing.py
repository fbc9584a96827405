"""An answer brought up to date: Prometheus is asked for what is new, and that is laid on what is known. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from apps.metrics.prometheus import Reply, Series
from apps.metrics.windows import UNSETTLED_POINTS, Window

# However well it goes on, all of it is asked at once this often: samples can come later than anybody waits for them.
WHOLE_EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class Known:
    """An answer over a window, all of which was last asked at once at `whole_at_s`."""

    window: Window
    reply: Reply
    whole_at_s: float

    @property
    def can_go_on(self) -> bool:
        """Whether anything of it is settled."""
        return len(self.window) > UNSETTLED_POINTS + 1

    def serves(self, window: Window, *, now_s: float) -> bool:
        """Whether `window` goes on from here, on the same points."""
        settled_s = self._settled_s()
        return (
            window.step_s == self.window.step_s
            and not (window.start_s - self.window.start_s) % window.step_s
            and self.window.start_s <= window.start_s < settled_s
            and self.window.end_s <= window.end_s
            and abs(now_s - self.whole_at_s) < WHOLE_EVERY_S
        )

    def missing(self, window: Window) -> Window:
        """What must be asked to have all of `window`: what is new, and the last points, which may have changed."""
        return replace(window, start_s=self._settled_s())

    def joined(self, tail: Reply, window: Window) -> "Known":
        """The answer over `window`; where neither has a value there is a gap."""
        settled = (self._settled_s() - window.start_s) // window.step_s
        skipped = (window.start_s - self.window.start_s) // window.step_s
        heads = {_key(one.labels): one.values[skipped : skipped + settled] for one in self.reply.series}
        ends = {_key(one.labels): one.values for one in tail.series}
        labels = {_key(one.labels): one.labels for one in (*self.reply.series, *tail.series)}
        no_head, no_end = (None,) * settled, (None,) * (len(window) - settled)
        # What has left the window is not in Prometheus's answer either; what is there and is NaN throughout is.
        kept = [key for key in labels if key in ends or any(value is not None for value in heads[key])]
        series = (Series(labels[key], (*heads.get(key, no_head), *ends.get(key, no_end))) for key in kept)
        return replace(self, window=window, reply=replace(tail, series=tuple(series)))

    def _settled_s(self) -> int:
        """The first point that is asked again."""
        return self.window.end_s - UNSETTLED_POINTS * self.window.step_s


def _key(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())
