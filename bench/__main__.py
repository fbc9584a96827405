"""`python -m bench` measures everything, `python -m bench NAME` one figure family."""

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bench import charts, console, fleet, intake, pages, promote, report, rollback
from bench.figures import Figure
from bench.stack import Stack
from demo.parts.errors import PartError

Measure = Callable[[Stack], tuple[list[Figure], dict[str, Any]]]
BENCHES: dict[str, Measure] = {
    "rollback": rollback.measure,
    "promote": promote.measure,
    "pages": pages.measure,
    "console": console.measure,
    "intake": intake.measure,
    "fleet": fleet.measure,
    "charts": charts.measure,
}


def main() -> int:
    """0 when everything was measured, whatever the figures say; they are reports, not tests."""
    names = sys.argv[1:] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"there is no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    try:
        with Stack(say=_say) as stack:
            for name in names:
                _measure(name, stack)
    except PartError as error:
        print(f"\n{error}\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    report.write_page()
    _say(f"written: {report.PAGE}")
    return 0


def _measure(name: str, stack: Stack) -> None:
    # Of the machine just before: a busy one measures its other work.
    load = os.getloadavg()[0]
    figures, samples = BENCHES[name](stack)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    samples = {"load_average_before": round(load, 2), **samples}
    report.write(name, figures, samples, at=at, triton=stack.triton_release)
    for figure in figures:
        if name != "pages" or not figure.holds:
            verdict = "holds" if figure.holds else "DOES NOT HOLD"
            told = f"{figure.name} {figure.value:g} {figure.unit} (bar {figure.bar:g}: {verdict})"
            _say(f"{name}: {told} {dict(figure.beside)}")


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
