"""NVIDIA Triton Inference Server."""

from apps.serving.backends.triton.adapter import TritonBackend
from apps.serving.backends.triton.config import CONFIG
from apps.serving.backends.triton.promql import query
from apps.serving.protocol import Address, ServingBackend

__all__ = ["CONFIG", "connect", "query"]


def connect(address: Address, timeout_s: float = 5) -> ServingBackend:
    """The server at `address`; nothing is opened before the first call. `timeout_s` is for quick questions."""
    return TritonBackend(address, timeout_s)
