"""A small client of Conch's REST API, the way a script in CI would write it."""

import json
import secrets
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from demo.parts.errors import PartError

TIMEOUT_S = 60.0


class RequestRefused(PartError):
    """Conch answered with a problem."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class Conch:
    """Conch at `url`, spoken to with a bearer token."""

    def __init__(self, url: str, *, token: str) -> None:
        self._url = url
        self._token = token

    def get(self, path: str) -> dict[str, Any]:
        """The resource; RequestRefused with its status when there is none."""
        return self._send("GET", path)

    def has(self, path: str) -> bool:
        """True when the resource is there."""
        try:
            self.get(path)
        except RequestRefused as refused:
            if refused.status == 404:
                return False
            raise
        return True

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Make something; what was made, or the task that makes it."""
        return self._send("POST", path, content=json.dumps(body).encode(), kind="application/json")

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Set something; what it is now."""
        return self._send("PUT", path, content=json.dumps(body).encode(), kind="application/json")

    def upload(self, path: str, file: Path, fields: dict[str, str]) -> dict[str, Any]:
        """POST a file with fields, as a form."""
        boundary = secrets.token_hex(16)
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in fields.items()
        ]
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n'
        parts += [head.encode(), b"Content-Type: application/zip\r\n\r\n", file.read_bytes()]
        content = b"".join([*parts, f"\r\n--{boundary}--\r\n".encode()])
        return self._send("POST", path, content=content, kind=f"multipart/form-data; boundary={boundary}")

    def _send(self, method: str, path: str, *, content: bytes | None = None, kind: str = "") -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if content is not None:
            headers |= {"Content-Type": kind, "Idempotency-Key": secrets.token_hex(16)}
        request = urllib.request.Request(f"{self._url}/api/v1/{path}", data=content, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as refused:
            said = refused.read().decode(errors="replace")[:2000]
            raise RequestRefused(f"{method} {path}: {refused.code}: {said}", status=refused.code) from refused
        except OSError as error:
            raise RequestRefused(f"{method} {path}: {error}", status=0) from error
