"""A simulated server whose repository is a bucket: before each load and index it is copied into its directory.

The real one copies what it loads, too, and goes by LastModified; folders have no time there.
"""

import json
import os
from pathlib import Path


def reads_from(root: Path, found: dict[str, str], *, bucket: str, prefix: str) -> None:
    """From now on the directory is that prefix, whatever lies in it."""
    _note(root).write_text(json.dumps({"found": found, "bucket": bucket, "prefix": prefix}))


def refresh(root: Path) -> None:
    """Make the directory what the prefix is; nothing for one that is no bucket's."""
    note = _note(root)
    if not note.exists():
        return
    # A fleet of hundreds starts without it.
    from tests.fixtures.s3 import client_of  # noqa: PLC0415

    told = json.loads(note.read_text())
    client, prefix = client_of(told["found"]), f"{told['prefix']}/"
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=told["bucket"], Prefix=prefix)
    there = {line["Key"].removeprefix(prefix): line for page in pages for line in page.get("Contents", ())}
    for path, line in there.items():
        at, file = line["LastModified"].timestamp(), root / path
        if not file.exists() or file.stat().st_mtime != at or file.stat().st_size != line["Size"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            client.download_file(told["bucket"], line["Key"], str(file))
            os.utime(file, (at, at))
    _drop(root, set(there))


def _drop(root: Path, there: set[str]) -> None:
    for directory, folders, files in os.walk(root, topdown=False):
        for name in files:
            file = Path(directory, name)
            if file.relative_to(root).as_posix() not in there:
                file.unlink()
        for name in folders:
            folder = Path(directory, name)
            if not any(folder.iterdir()):
                folder.rmdir()
            else:
                os.utime(folder, (0, 0))


def _note(root: Path) -> Path:
    return root.parent / f"{root.name}.s3.json"
