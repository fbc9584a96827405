"""`python -m demo` starts the demo, `python -m demo --bare` the stack without it."""

import ctypes
import os
import signal
import sys
import time

from demo.home import Home
from demo.parts.errors import PartError
from demo.stack import Stack, wait_for_ever

PR_SET_PDEATHSIG = 1
FIRST_STEPS = """
  {url}     sign in as {username} with {password}

  Stop with Ctrl-C. State, logs and the API token are in {state}; delete that folder to start afresh.
"""
OWN_FIRST_HOUR = """
  Next: add an environment, a repository and a server (a Triton started with
  --model-control-mode=explicit), then upload a version.
"""


def main() -> int:
    """Run until interrupted; 1 with the reason when it cannot start."""
    is_bare = "--bare" in sys.argv[1:]
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _interrupt)
    _end_with_parent()
    try:
        stack = Stack(Home.choose(is_bare=is_bare), is_bare=is_bare, say=_say)
    except PartError as error:
        return _give_up(error)
    try:
        stack.start()
        print(FIRST_STEPS.format(state=stack.home.state, **stack.describe()), flush=True)
        print(OWN_FIRST_HOUR if is_bare else stack.hints(), flush=True)
        wait_for_ever()
    except PartError as error:
        return _give_up(error)
    except KeyboardInterrupt:
        _say("stopping")
        return 0
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        stack.stop()
    return 0


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    """Under make, stop when make is killed: nobody else would."""
    if os.environ.get("CONCH_UNDER_MAKE") == "1":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def _give_up(error: PartError) -> int:
    print(f"\n{error}\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
