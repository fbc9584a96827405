"""gRPC channels to Triton: one per process and server, shared by threads, never across a fork."""

import atexit
import os
import threading

from tritonclient.grpc import InferenceServerClient

# A failed load's reason travels in a trailer; gRPC's usual 16 KiB would swallow the whole error.
REASON_LIMIT_BYTES = 64 * 2**20
# A server's index holds every reason again; what is larger than this is not an index.
ANSWER_LIMIT_BYTES = 512 * 2**20

OPTIONS: list[tuple[str, int]] = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", ANSWER_LIMIT_BYTES),
    ("grpc.max_metadata_size", REASON_LIMIT_BYTES),
    ("grpc.absolute_max_metadata_size", REASON_LIMIT_BYTES),
    # gRPC's own back-off grows to two minutes, in which a restarted server looks down.
    ("grpc.initial_reconnect_backoff_ms", 100),
    # How long one attempt to connect may take, in spite of its name.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.client_idle_timeout_ms", 300_000),
    # Else a forked child's new channel takes up its parent's connection, which is dead there (seen 2 times in 5).
    ("grpc.use_local_subchannel_pool", 1),
    # Servers are reached directly; a proxy for the outside must not see the control key.
    ("grpc.enable_http_proxy", 0),
]

_lock = threading.Lock()
_open: dict[str, InferenceServerClient] = {}
# A parent's channels: held for ever, because closing one in a forked child can hang it.
_inherited: list[dict[str, InferenceServerClient]] = []


def client(target: str) -> InferenceServerClient:
    """This process's one client of the server at `target` (`host:port`)."""
    with _lock:
        found = _open.get(target)
        if found is None:
            found = _open[target] = InferenceServerClient(target, channel_args=OPTIONS)
        return found


def release(target: str) -> None:
    """Forget the client; it closes once the calls under way have ended."""
    with _lock:
        _open.pop(target, None)


def release_all() -> None:
    """Forget every client; at exit, while the modules they close with are still there."""
    with _lock:
        _open.clear()


def _start_afresh() -> None:
    global _lock, _open
    _inherited.append(_open)
    _lock, _open = threading.Lock(), {}


atexit.register(release_all)
os.register_at_fork(after_in_child=_start_afresh)
