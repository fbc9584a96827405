"""How fast a large artifact comes in and is ready, and with how much memory: as a form, and as a resumable upload."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import senders
from bench.figures import Figure
from bench.memory import Watch
from bench.model import write_archive
from bench.stack import Stack
from demo.seed import ensure, wait_until

MODEL = "intake"
SIZE_BYTES = 4 << 30
BLOCK_BYTES = 16 << 20
LEAST_RATIO, LEAST_READY_RATIO, MOST_RSS_MB = 0.6, 0.5, 64
Send = Callable[[int, str, str, Path], int]
WAYS: dict[str, Send] = {"multipart": senders.send_form, "tus": senders.send_tus}


def measure(stack: Stack, *, size_bytes: int = SIZE_BYTES) -> tuple[list[Figure], dict[str, Any]]:
    """Throughput of both ways, and time until ready, beside the same by hand with the same file; memory above idle."""
    folder = stack.home.state / "intake"
    folder.mkdir()
    ensure(stack.conch, "models", MODEL, {"owner": "bench"})
    for send in WAYS.values():
        # What a process allocates once, at its first upload, is part of idling.
        _arrive(stack, send, write_archive(folder, MODEL))
    file = _large_archive(folder, size_bytes)
    samples: dict[str, Any] = {"size_bytes": file.stat().st_size, "by_hand_s": _by_hand(file)}
    for name, send in WAYS.items():
        stack.say(f"intake: {name}")
        samples[name] = _arrive(stack, send, file)
    return _figures(samples), samples


def _large_archive(folder: Path, size_bytes: int) -> Path:
    """A version whose weights fill it; as it is not compressed, neither side is measured packing."""
    file = write_archive(folder, MODEL)
    block = os.urandom(BLOCK_BYTES)
    entry = zipfile.ZipInfo(f"{MODEL}/1/weights.bin")
    with zipfile.ZipFile(file, "a") as archive, archive.open(entry, "w", force_zip64=True) as weights:
        for _ in range(size_bytes // BLOCK_BYTES):
            weights.write(block)
    return file


def _by_hand(file: Path) -> dict[str, float]:
    """Seconds of what a person would do: hash it and copy it; unpack it, and hash what was in it."""
    copy, unpacked = file.with_suffix(".copy"), file.with_suffix(".unpacked")
    took = {"sha256sum": _seconds("sha256sum", file), "cp": _seconds("cp", file, copy)}
    took["unpack"] = _seconds(sys.executable, "-m", "zipfile", "-e", copy, unpacked)
    took["sha256sum_of_files"] = _seconds("sha256sum", *(one for one in unpacked.rglob("*") if one.is_file()))
    copy.unlink()
    shutil.rmtree(unpacked)
    return took


def _seconds(*words: str | Path) -> float:
    begin_s = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return round(time.perf_counter() - begin_s, 3)


def _arrive(stack: Stack, send: Send, file: Path) -> dict[str, Any]:
    """Send it, and wait until it is checked; seconds of both, and memory above idle meanwhile."""
    token = stack.home.secret_file("api_token").read_text().strip()
    with Watch(stack.pids) as watch:
        begin_s = time.perf_counter()
        number = send(stack.port, token, MODEL, file)
        sent_s = time.perf_counter() - begin_s
        path = f"models/{MODEL}/versions/{number}"
        wait_until(lambda: stack.conch.get(path), {"ready"}, what=path)
        checked_s = time.perf_counter() - begin_s - sent_s
    return {"sent_s": round(sent_s, 3), "checked_s": round(checked_s, 3), "rss_mb": watch.above_idle_mb}


def _figures(samples: dict[str, Any]) -> list[Figure]:
    by_hand = samples["by_hand_s"]
    received_s, ready_s = by_hand["sha256sum"] + by_hand["cp"], sum(by_hand.values())
    mib = samples["size_bytes"] / 2**20
    figures = []
    for name in WAYS:
        took = samples[name]
        sent_s, until_ready_s = took["sent_s"], took["sent_s"] + took["checked_s"]
        sent = {"MiB/s": round(mib / sent_s), "MiB/s by hand": round(mib / received_s)}
        ready = {"MiB/s": round(mib / until_ready_s), "MiB/s by hand": round(mib / ready_s)}
        figures += [
            Figure(f"{name}_throughput_ratio", round(received_s / sent_s, 3), "", LEAST_RATIO, sent),
            Figure(f"{name}_ready_ratio", round(ready_s / until_ready_s, 3), "", LEAST_READY_RATIO, ready),
            Figure(f"{name}_web_rss_mb", took["rss_mb"]["web"], "MiB", MOST_RSS_MB),
            Figure(f"{name}_worker_rss_mb", took["rss_mb"]["worker"], "MiB", MOST_RSS_MB),
        ]
    return figures
