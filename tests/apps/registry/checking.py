"""Checking bytes as a worker does, without a database."""

from pathlib import Path

from apps.registry import intake
from apps.registry.intake import Checked, Limits

ROOMY = Limits(entries=1_000, unpacked_bytes=64 << 20)
TIGHT = Limits(entries=20, unpacked_bytes=1_100_000, ratio=1_000, free_bytes=200_000)


def check(
    content: bytes, directory: Path, *, model: str = "demo", number: int = 1, limits: Limits = ROOMY, **said: str
) -> Checked:
    archive, staging = directory / "upload", directory / "staging"
    archive.write_bytes(content)
    staging.mkdir()
    upload = intake.Upload(archive, **said)
    return intake.check(upload, staging, model=model, number=number, limits=limits, on_progress=lambda: None)
