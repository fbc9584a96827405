"""Between those who send messages and those who take them: each one is passed on twice, or lost the first time.

It moves what lies in the real broker's list; nothing of Conch or Celery knows.
"""

import json
import threading
import uuid
from collections.abc import Callable
from typing import Any, Literal

import redis

# Of the broker's lists the first holds what is to be taken at once, the second what may stay behind it.
SENT, TAKEN = ("conch", "conch\x06\x166"), "taken"
Habit = Literal["twice", "lost once"]


class Relay:
    """Passes messages on for as long as the `with` block lasts; workers must take from the queue TAKEN."""

    def __init__(self, url: str, habit: Habit) -> None:
        self.passed = 0
        self.lost = 0
        self._broker = redis.Redis.from_url(url)
        self._pass_on: Callable[[Any], int] = self._twice if habit == "twice" else self._second_time
        self._seen: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._broker.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            found = self._broker.brpop(SENT, timeout=1)
            if found is not None:
                self.passed += self._pass_on(json.loads(found[1]))

    def _twice(self, message: Any) -> int:
        return self._send(message) + self._send(message)

    def _second_time(self, message: Any) -> int:
        """What it is about, whatever its number: task and arguments. Lost when nobody has asked for that before."""
        about = f"{message['headers']['task']} {message['headers']['kwargsrepr']}"
        if about not in self._seen:
            self._seen.add(about)
            self.lost += 1
            return 0
        return self._send(message)

    def _send(self, message: Any) -> int:
        properties = {**message["properties"], "delivery_tag": str(uuid.uuid4())}
        self._broker.lpush(TAKEN, json.dumps({**message, "properties": properties}))
        return 1
