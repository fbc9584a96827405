"""Reading the index while others work in the repository: what vanished meanwhile makes the whole of it fail."""

import time
from collections.abc import Callable
from typing import Any

from apps.serving.errors import ServerFailed

# The server lists its repository's root, then looks at each entry; one that is gone by then ends the call so. Markers,
# shadows and other people's temporary files come and go there, and the next call finds the directory as it is then.
VANISHED = "failed to stat file"
PAUSES_S = (0.05, 0.1, 0.2, 0.4)


def read(ask: Callable[[], Any]) -> Any:
    """What `ask` gives; asked again a few times, under a second in all, where an entry vanished under the server.

    A link that leads nowhere is told in the same words and stays: then the last answer is the error.
    """
    for pause_s in PAUSES_S:
        try:
            return ask()
        except ServerFailed as error:
            if VANISHED not in str(error.facts.get("reason", "")):
                raise
            time.sleep(pause_s)
    return ask()
