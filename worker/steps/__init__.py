"""What a rollout does to one server, step by step. Each file is one verb with one `run(context)`."""

from collections.abc import Callable

from worker.context import Context
from worker.outcomes import Outcome
from worker.steps import (
    await_ready,
    barrier,
    clear,
    ensembles,
    expose,
    load,
    make_room,
    persist,
    preflight,
    publish,
    reconfigure,
    restore,
    shadow,
    unload,
    verify,
)

Step = Callable[[Context], Outcome]

STEPS: dict[str, Step] = {
    "preflight": preflight.run,
    "make_room": make_room.run,
    "publish": publish.run,
    "shadow": shadow.run,
    "barrier": barrier.run,
    "load": load.run,
    "await_ready": await_ready.run,
    "verify": verify.run,
    "expose": expose.run,
    "ensembles": ensembles.run,
    "restore": restore.run,
    "reconfigure": reconfigure.run,
    "unload": unload.run,
    "persist": persist.run,
    "clear": clear.run,
}
