"""Clients that send a file as fast as a machine can: the kernel copies it into the socket."""

import base64
import socket
from pathlib import Path

BOUNDARY = "conch-bench"
TIMEOUT_S = 600.0


class Refused(RuntimeError):
    """The server's answer is not the one that was wanted."""


def send_form(port: int, token: str, model: str, file: Path) -> int:
    """A form with the file, as CI sends it; the version's number."""
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n'
        "Content-Type: application/zip\r\n\r\n"
    ).encode()
    tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    headers = {
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Content-Length": str(len(head) + file.stat().st_size + len(tail)),
    }
    answer = _send(port, token, f"POST /api/v1/models/{model}/versions", headers, head, file, tail)
    _require(answer, "202")
    return int(answer.partition('"number":')[2].partition(",")[0])


def send_tus(port: int, token: str, model: str, file: Path) -> int:
    """A resumable upload, begun and sent in two requests; the version's number."""
    told = {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}
    named = f"model {base64.b64encode(model.encode()).decode()}"
    length = {"Upload-Length": str(file.stat().st_size), "Upload-Metadata": named, "Content-Length": "0"}
    begun = _send(port, token, "POST /api/v1/uploads/", told | length)
    _require(begun, "201")
    rest = {"Upload-Offset": "0", "Content-Length": str(file.stat().st_size)}
    answer = _send(port, token, f"PATCH {_header(begun, 'location')}", told | rest, b"", file)
    _require(answer, "204")
    return int(_header(answer, "conch-version"))


def _send(port: int, token: str, what: str, headers: dict[str, str], *parts: bytes | Path) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        told = headers | {"Host": "127.0.0.1", "Authorization": f"Bearer {token}", "Connection": "close"}
        lines = [f"{what} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode())
        for part in parts:
            if isinstance(part, Path):
                with part.open("rb") as file:
                    connection.sendfile(file)
            else:
                connection.sendall(part)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    return answer.decode(errors="replace")


def _require(answer: str, status: str) -> None:
    if not answer.startswith(f"HTTP/1.1 {status} "):
        raise Refused(answer[:2_000])


def _header(answer: str, name: str) -> str:
    for line in answer.partition("\r\n\r\n")[0].split("\r\n"):
        if line.lower().startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    raise Refused(f"no header {name} in {answer[:500]}")
