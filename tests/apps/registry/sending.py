"""What tests of resumable uploads share."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from apps.common.actor import Actor
from apps.registry import artifacts, services
from apps.registry.models import Upload
from apps.registry.services import Sending
from tests.factories.archives import good, zipped

OPERATOR = Actor(kind="token", name="ci", door="api", token_id=7, scopes=frozenset({"deploy"}))
OTHER = Actor(kind="token", name="other", door="api", token_id=8, scopes=frozenset({"deploy"}))
VIEWER = Actor(kind="token", name="eyes", door="api", token_id=9, scopes=frozenset({"read"}))
CONTENT = zipped(good())
DIGEST = hashlib.sha256(CONTENT).hexdigest()
Begin = Callable[..., Upload]


def send(upload: Upload, content: bytes, at: int = 0, actor: Actor = OPERATOR, **more: Any) -> Upload:
    pieces = [content[start : start + 100] for start in range(0, len(content), 100)]
    return services.append_upload(actor, upload.key, Sending(at, len(content), pieces, **more))


def kept(store: Path, upload: Upload) -> bytes:
    return artifacts.incoming(store, upload.key).read_bytes()


def breaking(content: bytes) -> Iterator[bytes]:
    yield content
    raise ConnectionResetError("gone")
