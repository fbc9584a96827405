"""What a reference says. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, unquote, urlsplit

from apps.common.text import printable
from apps.registry.sources.errors import ReferenceInvalid

MAX_CHARS = 2_000
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]")
_USER = re.compile(r"//[^/]*@")
_MLFLOW = re.compile(r"models:/(?P<name>[^/@]{1,250})/(?P<version>[0-9]{1,18})")
_ON_THE_WIRE = "!#$%&'()*+,/:;=?@[]~"
_DIGEST = re.compile(r"sha256:(?P<digest>[0-9a-f]{64})")


class Kind(StrEnum):
    """Where a reference leads."""

    S3 = "s3"
    WEB = "https"
    LOCAL = "file"
    MLFLOW = "models"
    KNOWN = "sha256"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference taken apart.

    `place` is the bucket, the host with its port, the registered model, or empty; `path` is the key, the path with its
    query, the file, the model's version or the digest. `shown` is what may be told: a query may hold a secret.
    """

    kind: Kind
    place: str
    path: str
    shown: str

    @property
    def filename(self) -> str:
        """The last part of the path."""
        return unquote(self.path.partition("?")[0]).rstrip("/").rpartition("/")[2]


def parse(text: str) -> Reference:
    """The reference, or ReferenceInvalid."""
    if not 0 < len(text) <= MAX_CHARS or not text.isprintable() or text != text.strip():
        raise _invalid(text, "it is empty, too long, or holds characters that cannot be seen")
    if found := _DIGEST.fullmatch(text):
        return Reference(Kind.KNOWN, "", found["digest"], text)
    if found := _MLFLOW.fullmatch(text):
        return Reference(Kind.MLFLOW, found["name"], found["version"], text)
    if text.startswith("/"):
        return _local(text)
    if text.startswith("s3://"):
        return _s3(text)
    if text.startswith("https://"):
        return _web(text)
    raise _invalid(text, "it begins with none of s3://, https://, /, models:/, sha256:")


def _local(text: str) -> Reference:
    if {"..", "."} & set(text.split("/")):
        raise _invalid(text, "its path holds '.' or '..'")
    return Reference(Kind.LOCAL, "", text, text)


def _s3(text: str) -> Reference:
    bucket, _, key = text.removeprefix("s3://").partition("/")
    if not _BUCKET.fullmatch(bucket) or not key or key.endswith("/"):
        raise _invalid(text, "it is not s3://bucket/key")
    return Reference(Kind.S3, bucket, key, text)


def _web(text: str) -> Reference:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _invalid(text, "its port is not a number") from error
    if parts.username is not None or parts.password is not None:
        raise ReferenceInvalid("the reference holds a user or password, and would be kept", field="from")
    if not _HOST.fullmatch(parts.netloc.rpartition(":")[0] if port is not None else parts.netloc):
        raise _invalid(text, "its host is not a host's name")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
    place = host + (f":{port}" if port not in {None, 443} else "")
    # As on the wire; what is escaped already stays.
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_ON_THE_WIRE)
    shown = f"https://{place}{parts.path or '/'}" + ("?..." if parts.query else "")
    return Reference(Kind.WEB, place, path, shown)


def _invalid(text: str, why: str) -> ReferenceInvalid:
    shown = _USER.sub("//...@", text.partition("?")[0])
    return ReferenceInvalid(f"{printable(shown, limit=200)!r}: {why}", field="from")
