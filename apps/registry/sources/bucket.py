"""Objects in S3."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from apps.common import s3
from apps.registry.sources.errors import SourceMissing, SourceRefused, SourceUnreachable
from apps.registry.sources.opened import Opened, Position

READ_BYTES = 1 << 20
FAULTS = s3.Faults(
    missing=SourceMissing, refused=SourceRefused, unreachable=SourceUnreachable, changed=SourceUnreachable
)


@contextmanager
def opened(bucket: str, key: str, at: Position) -> Iterator[Opened]:
    """The object's bytes; the rest of it when it is the one that one was in the middle of, else all."""
    what = f"s3://{bucket}/{key}"
    with FAULTS.named(what):
        told = s3.client().head_object(Bucket=bucket, Key=key)
    size, mark = int(told["ContentLength"]), str(told["ETag"])[:200]
    offset = at.offset_bytes if at.mark == mark and at.offset_bytes < size else 0
    with FAULTS.named(what):
        asked = {"Range": f"bytes={offset}-"} if offset else {}
        answer = s3.client().get_object(Bucket=bucket, Key=key, IfMatch=mark, **asked)
    with closing(answer["Body"]) as body:
        yield Opened(key.rpartition("/")[2], size, mark, offset, _pieces(body, what))


def listing(bucket: str, prefix: str) -> dict[str, int]:
    """Every object below the prefix, relative to it, with its size."""
    folder = f"{prefix.rstrip('/')}/"
    with FAULTS.named(f"s3://{bucket}/{folder}"):
        pages = s3.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=folder)
        found = [entry for page in pages for entry in page.get("Contents", ())]
    return {entry["Key"].removeprefix(folder): int(entry["Size"]) for entry in found if not entry["Key"].endswith("/")}


def _pieces(body: Any, what: str) -> Iterator[bytes]:
    with FAULTS.named(what):
        yield from body.iter_chunks(READ_BYTES)
