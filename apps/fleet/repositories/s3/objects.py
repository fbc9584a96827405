"""The objects below one prefix of a bucket: each is there whole or not at all; nothing is renamed."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from apps.common import s3
from apps.common.disk import CHUNK_BYTES, digest_of
from apps.fleet.errors import ArtifactDamaged, BucketMissing, BucketRefused, RepositoryBroken, UploadDamaged

FAULTS = s3.Faults(missing=BucketMissing, refused=BucketRefused, unreachable=RepositoryBroken, changed=RepositoryBroken)
MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Object:
    """One object, by its path below the prefix."""

    path: str
    size_bytes: int
    at: datetime


class Objects:
    """One prefix; paths are below it."""

    def __init__(self, client: Any, *, bucket: str, prefix: str, place: str) -> None:
        self._client, self._bucket, self._prefix, self.place = client, bucket, prefix, place

    def listed(self, below: str = "") -> list[Object]:
        """Every object below a folder, in order of their paths."""
        pages = self._client.get_paginator("list_objects_v2")
        with FAULTS.named(f"{self.place}: listing {below or 'it'}"):
            lines = [
                line
                for page in pages.paginate(Bucket=self._bucket, Prefix=self._key(below))
                for line in page.get("Contents", ())
            ]
        start = len(self._prefix)
        return [Object(str(one["Key"])[start:], int(one["Size"]), one["LastModified"]) for one in lines]

    def folders(self, below: str = "") -> list[str]:
        """The names of the folders right below."""
        pages = self._client.get_paginator("list_objects_v2")
        with FAULTS.named(f"{self.place}: listing {below or 'it'}"):
            found = [
                str(line["Prefix"])
                for page in pages.paginate(Bucket=self._bucket, Prefix=self._key(below), Delimiter="/")
                for line in page.get("CommonPrefixes", ())
            ]
        return [key[len(self._key(below)) :].rstrip("/") for key in found]

    def put_text(self, path: str, text: str) -> None:
        """Write a small object, in one step."""
        with FAULTS.named(f"{self.place}/{path}"):
            self._client.put_object(Bucket=self._bucket, Key=self._key(path), Body=text.encode())

    def text(self, path: str) -> str | None:
        """A small object's text, None when there is none."""
        if not any(one.path == path for one in self.listed(path)):
            return None
        return b"".join(self._read(path)).decode("utf-8", "replace")

    def upload(self, path: str, source: Path, *, sha256: str) -> None:
        """Send a file, in parts where it is large, and read it back: what lies there is what was received."""
        if not source.is_file():
            raise ArtifactDamaged(f"{source}: this file of the stored version is not there", path=str(source))
        if digest_of(source) != sha256:
            raise ArtifactDamaged(f"{source}: its SHA-256 is not the one it was stored with", path=str(source))
        told = {"Metadata": {"sha256": sha256}}
        with FAULTS.named(f"{self.place}/{path}"), source.open("rb") as file:
            self._client.upload_fileobj(file, self._bucket, self._key(path), ExtraArgs=told, Config=s3.PARTS)
        if self._digest(path) != sha256:
            self.delete([path])
            raise UploadDamaged(f"{self.place}/{path}: what was read back is not what was sent")

    def has(self, path: str, *, sha256: str) -> bool:
        """Whether the object has that content: by what Conch wrote beside it, else by reading it."""
        with FAULTS.named(f"{self.place}/{path}"):
            told = self._client.head_object(Bucket=self._bucket, Key=self._key(path))
        return bool(told.get("Metadata", {}).get("sha256") == sha256) or self._digest(path) == sha256

    def copy(self, path: str, to: str) -> None:
        """Copy an object inside the bucket, in parts where it is large."""
        source = {"Bucket": self._bucket, "Key": self._key(path)}
        with FAULTS.named(f"{self.place}/{to}"):
            self._client.copy(source, self._bucket, self._key(to), Config=s3.PARTS)

    def delete(self, paths: Collection[str]) -> None:
        """Take objects away; those that are not there are fine."""
        kept = sorted(paths)
        for start in range(0, len(kept), MOST_AT_ONCE):
            asked = [{"Key": self._key(path)} for path in kept[start : start + MOST_AT_ONCE]]
            with FAULTS.named(f"{self.place}: deleting {len(asked)} objects"):
                told = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": asked, "Quiet": True})
            for error in told.get("Errors", ()):
                raise BucketRefused(f"{self.place}: {error.get('Key')} was not deleted: {error.get('Code')}")

    def abort_uploads(self, *, before: datetime) -> None:
        """End uploads in parts that were begun before then: their parts cost room and are in no list."""
        with FAULTS.named(f"{self.place}: listing unfinished uploads"):
            told = self._client.list_multipart_uploads(Bucket=self._bucket, Prefix=self._prefix)
            for one in told.get("Uploads", ()):
                if one["Initiated"] < before:
                    self._client.abort_multipart_upload(Bucket=self._bucket, Key=one["Key"], UploadId=one["UploadId"])

    def _digest(self, path: str) -> str:
        digest = hashlib.sha256()
        for chunk in self._read(path):
            digest.update(chunk)
        return digest.hexdigest()

    def _read(self, path: str) -> Iterator[bytes]:
        with FAULTS.named(f"{self.place}/{path}"):
            body = self._client.get_object(Bucket=self._bucket, Key=self._key(path))["Body"]
            yield from body.iter_chunks(CHUNK_BYTES)

    def _key(self, path: str) -> str:
        return f"{self._prefix}{path}"
