"""What one server has loaded: loads, unloads, versions and their states, with Triton's own semantics."""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tritonclient.grpc.model_config_pb2 import ModelConfig

from tests.doubles.triton import repository
from tests.doubles.triton.instance import Instance
from tests.doubles.triton.programs import ModelBroke
from tests.doubles.triton.refusals import (
    load_failed,
    not_at_ready_state,
    not_available,
    nothing_available,
    unknown_model,
    unknown_version,
)
from tests.doubles.triton.repository import Definition

READY, LOADING, UNLOADING, UNAVAILABLE = "READY", "LOADING", "UNLOADING", "UNAVAILABLE"
UNLOADED = "unloaded"


@dataclass
class Slot:
    """One version of a model, as the index tells it; `instance` serves, even while another is loading behind it."""

    state: str = LOADING
    reason: str = ""
    instance: Instance | None = None
    stamp_ns: int = 0

    @property
    def has_failed(self) -> bool:
        """Whether it stands as failed; only a good load of the same number ends that."""
        return self.state == UNAVAILABLE and self.reason != UNLOADED


@dataclass
class Held:
    """One model: its versions, the configuration of its last load, and the lock that makes loads queue."""

    slots: dict[int, Slot] = field(default_factory=dict)
    config_key: bytes = b""
    shared_ns: int = 0
    is_inline: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Models:
    """The models of one server; `load_s` delays and `fail_load` breaks every load, for tests of faults."""

    def __init__(self, root: Path, threads: Executor) -> None:
        self.root = root
        self.held: dict[str, Held] = {}
        self.load_s = 0.0
        self.fail_load = ""
        self._threads = threads
        self._background: set[asyncio.Task[None]] = set()

    async def load(self, name: str, *, override: str | None = None, files: Mapping[str, bytes] | None = None) -> None:
        """As Triton: what is READY and unchanged stays; the rest comes up beside it, all of it or none."""
        held = self.held.setdefault(name, Held())
        async with held.lock:
            found = repository.define(self.root, name, override=override, files=files or {})
            key = _config_key(found.config)
            is_same = held.config_key == key and held.shared_ns >= found.shared_ns
            wanted = found.wanted()
            fresh = [number for number in wanted if not self._is_kept(held, found, number, is_same=is_same)]
            await self._bring_up(name, held, found, fresh)
            held.config_key, held.shared_ns, held.is_inline = key, found.shared_ns, bool(found.files)
            self._let_go(held, set(held.slots) - set(wanted))

    async def unload(self, name: str) -> None:
        """Answers before it is done; a load under way is waited for. Of what is not there, nothing."""
        held = self.held.get(name)
        if held is None:
            return
        async with held.lock:
            held.config_key = b""
            self._let_go(held, set(held.slots))

    def index(self, *, is_ready_only: bool = False) -> list[tuple[str, int | None, Slot | None]]:
        """A line per version; a model never loaded has a name only. What came inside a load call is not listed."""
        lines: list[tuple[str, int | None, Slot | None]] = []
        for name in repository.index(self.root):
            held = self.held.get(name)
            if held is None or not held.slots or held.is_inline:
                lines.append((name, None, None))
            else:
                lines += [(name, number, slot) for number, slot in sorted(held.slots.items())]
        return [line for line in lines if not is_ready_only or (line[2] is not None and line[2].state == READY)]

    def serving(self, name: str, number: int | None) -> Instance:
        """The instance that a request goes to; the highest one when no version is asked for."""
        held = self.held.get(name)
        if held is None or not held.slots:
            raise unknown_model(name)
        if number is None:
            ready = [n for n, slot in held.slots.items() if slot.state == READY]
            if not ready:
                raise nothing_available(name)
            number = max(ready)
        slot = held.slots.get(number)
        if slot is None:
            raise unknown_version(name, number)
        if slot.state != READY or slot.instance is None:
            raise not_at_ready_state(name, number)
        return slot.instance

    def ready(self, name: str = "") -> Iterator[tuple[str, Instance]]:
        """Every instance that serves, of one model or of all; not_available when that one has none."""
        names = [name] if name else sorted(self.held)
        found = [
            (each, slot.instance)
            for each in names
            for _, slot in sorted(self.held.get(each, Held()).slots.items())
            if slot.state == READY and slot.instance is not None
        ]
        if name and not found:
            raise not_available(name)
        return iter(found)

    @property
    def is_settled(self) -> bool:
        """What strict readiness asks: nothing loads, unloads or has failed."""
        slots = [slot for held in self.held.values() for slot in held.slots.values()]
        return not any(slot.state in (LOADING, UNLOADING) or slot.has_failed for slot in slots)

    def close(self) -> None:
        """Stop what goes on in the background."""
        for task in self._background:
            task.cancel()

    @staticmethod
    def _is_kept(held: Held, found: Definition, number: int, *, is_same: bool) -> bool:
        """Whether naming the version leaves it alone. One that serves takes no new files from inside a load call."""
        slot = held.slots.get(number)
        if slot is None or slot.state != READY:
            return False
        return bool(found.files) or (is_same and slot.stamp_ns == found.stamps[number])

    async def _bring_up(self, name: str, held: Held, found: Definition, fresh: list[int]) -> None:
        made = {number: Instance(found, number, self._threads) for number in fresh}
        for number in fresh:
            slot = held.slots.get(number)
            if slot is None or slot.state != READY:
                held.slots[number] = Slot(stamp_ns=found.stamps[number])
        outcomes = await asyncio.gather(*(self._start(name, one) for one in made.values()))
        reasons = {number: why for number, why in zip(fresh, outcomes, strict=True) if why}
        for number, instance in made.items():
            self._settle(held.slots[number], instance, reasons.get(number, ""), is_whole=not reasons)
            if not reasons:
                held.slots[number].stamp_ns = found.stamps[number]
        if reasons:
            raise load_failed(name, reasons)

    async def _start(self, name: str, instance: Instance) -> str:
        """Why it did not come up; empty when it did."""
        await asyncio.sleep(self.load_s)
        if self.fail_load:
            return self.fail_load
        try:
            await instance.start(name)
        except ModelBroke as broke:
            return f"Internal: {broke}"
        return ""

    @staticmethod
    def _settle(slot: Slot, instance: Instance, why: str, *, is_whole: bool) -> None:
        """A version that serves keeps serving when its new instance, or one of its neighbours, did not come up."""
        if is_whole:
            slot.state, slot.reason, slot.instance = READY, "", instance
        elif slot.state != READY:
            slot.state, slot.reason = UNAVAILABLE, why or UNLOADED

    def _let_go(self, held: Held, numbers: set[int]) -> None:
        for number in numbers:
            slot = held.slots[number]
            if slot.state == READY:
                slot.state = UNLOADING
                task = asyncio.create_task(_drain(slot))
                self._background.add(task)
                task.add_done_callback(self._background.discard)


async def _drain(slot: Slot) -> None:
    """Requests under way are answered first."""
    if slot.instance is not None:
        await slot.instance.idle.wait()
    await asyncio.sleep(0.005)
    if slot.state == UNLOADING:
        slot.state, slot.reason, slot.instance = UNAVAILABLE, UNLOADED, None


def _config_key(config: Any) -> bytes:
    """What restarts a loaded version when it differs: all but instances and policy."""
    bare = ModelConfig()
    bare.CopyFrom(config)
    bare.ClearField("instance_group")
    bare.ClearField("version_policy")
    return bytes(bare.SerializeToString(deterministic=True))
