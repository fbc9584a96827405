"""Triton's answers as the protocol's values."""

import re
from typing import Any

from apps.common.text import printable
from apps.serving.protocol import IndexEntry, Readiness, ServerInfo, Statistics

_NUMBER = re.compile(r"[0-9]{1,19}")


def server_info(said: Any) -> ServerInfo:
    """From ServerMetadataResponse."""
    return ServerInfo(name=said.name, version=said.version, extensions=tuple(said.extensions))


def index_entry(said: Any) -> IndexEntry:
    """From one line of RepositoryIndexResponse."""
    return IndexEntry(
        model=said.name,
        version=int(said.version) if _NUMBER.fullmatch(said.version) else None,
        state=Readiness(said.state) if said.state in Readiness.__members__ else Readiness.UNKNOWN,
        reason=printable(said.reason),
    )


def statistics(said: Any) -> Statistics:
    """From one line of ModelStatisticsResponse, which counts in nanoseconds."""
    spent = said.inference_stats
    return Statistics(
        model=said.name,
        version=int(said.version),
        success_count=spent.success.count,
        failure_count=spent.fail.count,
        success_us=spent.success.ns // 1_000,
        queue_us=spent.queue.ns // 1_000,
        compute_input_us=spent.compute_input.ns // 1_000,
        compute_infer_us=spent.compute_infer.ns // 1_000,
        compute_output_us=spent.compute_output.ns // 1_000,
        inference_count=said.inference_count,
        execution_count=said.execution_count,
        last_inference_ms=said.last_inference,
    )
