"""A Triton's log tells how long its loads took."""

from bench.figures import Window
from bench.loads import loads_in
from bench.trial import Change

LOG = """\
I1130 16:46:26.000000 7 model_lifecycle.cc:839] "successfully loaded 'begun_before'"
I1130 16:46:27.250000 7 model_lifecycle.cc:472] "loading: echo.shadow:2"
I1130 16:46:29.500000 7 model_lifecycle.cc:839] "successfully loaded 'echo.shadow'"
W1130 16:46:29.600000 7 something.cc:1] "loading: echo:2"
I1130 16:46:59.000000 7 model_lifecycle.cc:472] "loading: echo:2"
I1130 16:46:59.100000 7 model_lifecycle.cc:472] "loading: echo:3"
I1130 16:47:01.500000 7 model_lifecycle.cc:839] "successfully loaded 'echo'"
I1130 16:47:02.000000 7 model_lifecycle.cc:839] "successfully loaded 'echo'"
I1130 16:47:03.000000 7 model_lifecycle.cc:472] "loading: echo:4"
"""


def test_each_load_is_told_from_its_first_version_to_its_success() -> None:
    assert loads_in(LOG) == {"echo.shadow": [2.25], "echo": [2.5]}


def test_overhead_is_what_remains_per_server_after_the_loads() -> None:
    loads = [{"echo.shadow": [2.0], "echo": [2.5]}, {"echo.shadow": [2.1], "echo": [2.4]}]
    change = Change("promote", took_s=11.0, loads_s=loads, window=Window(0, 11), quiet=Window(12, 23))

    assert change.overhead_s(is_at_once=False) == 1.0
    assert change.overhead_s(is_at_once=True) == 6.5
