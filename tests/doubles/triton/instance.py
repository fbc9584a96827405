"""One loaded version of one model: what answers requests, and what it has counted."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tritonclient.grpc.model_config_pb2 import DataType
from tritonclient.utils import triton_to_np_dtype

from tests.doubles.triton import programs
from tests.doubles.triton.backend_utils import InferenceRequest, Tensor
from tests.doubles.triton.repository import Definition

ANSWERS = "simulated.json"


@dataclass
class Counters:
    """What Triton counts of a version since it was loaded; times in ns."""

    success: int = 0
    failure: int = 0
    inferences: int = 0
    executions: int = 0
    queue_ns: int = 0
    success_ns: int = 0
    failure_ns: int = 0
    last_ms: int = 0
    recent_us: list[int] = field(default_factory=list)

    def note(self, *, rows: int, took_ns: int, waited_ns: int) -> None:
        """One request that was answered."""
        self.success += 1
        self.inferences += rows
        self.executions += 1
        self.success_ns += took_ns
        self.queue_ns += waited_ns
        self.last_ms = time.time_ns() // 1_000_000
        self.recent_us = [*self.recent_us[-99:], took_ns // 1_000]

    def note_failure(self, took_ns: int) -> None:
        """One request whose model raised."""
        self.failure += 1
        self.failure_ns += took_ns
        self.executions += 1
        self.last_ms = time.time_ns() // 1_000_000


class Instance:
    """Answers as the version's model.py does; without one, as its simulated.json says, else with zeros.

    simulated.json: {"load_s": 2, "fail": "words", "slow_s": 0.1, "answers": {"output": [values]}}.
    """

    def __init__(self, definition: Definition, number: int, threads: Executor) -> None:
        self.number = number
        self.config = definition.config
        self.counters = Counters()
        self.in_flight = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self._source = definition.source(number) if definition.config.backend == "python" else None
        self._threads = threads
        self._program: Any = None
        said = definition.folder / str(number) / ANSWERS
        self._said: Mapping[str, Any] = json.loads(said.read_text()) if said.is_file() else {}

    async def start(self, name: str) -> None:
        """Load and warm; ModelBroke when it does not come up. A python model without its file never does."""
        await asyncio.sleep(self._said.get("load_s", 0))
        if "fail" in self._said:
            raise programs.ModelBroke(self._said["fail"])
        if self.config.backend == "python" and not self._said:
            if self._source is None:
                await asyncio.Event().wait()
            await self._begin(name)
        for entry in self.config.model_warmup:
            await self.answer(_warm_up(entry, is_batched=self.config.max_batch_size > 0))

    async def answer(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """One request, counted; ModelBroke with the model's words."""
        began_ns = time.perf_counter_ns()
        self.in_flight += 1
        self.idle.clear()
        try:
            outputs = await self._compute(inputs)
        except programs.ModelBroke:
            self.counters.note_failure(time.perf_counter_ns() - began_ns)
            raise
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self.idle.set()
        rows = int(inputs[0].array.shape[0]) if inputs and self.config.max_batch_size else 1
        self.counters.note(rows=rows, took_ns=time.perf_counter_ns() - began_ns, waited_ns=2_000)
        return outputs

    async def _begin(self, name: str) -> None:
        assert self._source is not None
        path, source = self._source
        arguments = {
            "model_name": name,
            "model_version": str(self.number),
            "model_config": "{}",
            "model_repository": path.rsplit("/", 2)[0],
            "model_instance_name": f"{name}_0_0",
        }
        loop = asyncio.get_running_loop()
        programs.leave_cache(path)
        self._program = await loop.run_in_executor(
            self._threads, lambda: programs.begin(path, source, arguments=arguments)
        )

    async def _compute(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        if self._program is not None and self._source is not None:
            program, path, request = self._program, self._source[0], InferenceRequest(list(inputs))
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: programs.answer(program, path, request))
        await asyncio.sleep(self._said.get("slow_s", 0))
        rows = int(inputs[0].array.shape[0]) if inputs and self.config.max_batch_size else 0
        return [self._made_up(output, rows) for output in self.config.output]

    def _made_up(self, output: Any, rows: int) -> Tensor:
        shape = [*([rows] if rows else []), *(max(1, size) for size in output.dims)]
        datatype = wire_datatype(output.data_type)
        dtype = np.object_ if datatype == "BYTES" else triton_to_np_dtype(datatype) or np.uint16
        given = self._said.get("answers", {}).get(output.name)
        if given is not None:
            return Tensor(output.name, np.resize(np.array(given, dtype=dtype), shape), datatype)
        return Tensor(output.name, np.full(shape, b"" if datatype == "BYTES" else 0, dtype=dtype), datatype)


def wire_datatype(number: int) -> str:
    """A configuration's data type as the wire spells it."""
    name = str(DataType.Name(number)).removeprefix("TYPE_")
    return "BYTES" if name == "STRING" else name


def _warm_up(entry: Any, *, is_batched: bool) -> list[Tensor]:
    """The request that one entry of model_warmup stands for."""
    rows = [max(1, entry.batch_size)] if is_batched else []
    made = []
    for name, given in sorted(entry.inputs.items()):
        datatype = wire_datatype(given.data_type)
        dtype = np.object_ if datatype == "BYTES" else triton_to_np_dtype(datatype)
        dtype = np.uint16 if datatype == "BF16" else dtype
        shape = [*rows, *given.dims]
        made.append(Tensor(name, np.full(shape, b"" if datatype == "BYTES" else 0, dtype=dtype), datatype))
    return made
