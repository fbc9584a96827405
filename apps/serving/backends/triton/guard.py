"""What never goes to a server: names that reach its shell, numbers and sizes that end its process."""

import json
import re
from collections.abc import Mapping
from typing import Any

from apps.common.names import MAX_VERSION, BadName, check_name
from apps.serving.backends.triton import warmup
from apps.serving.errors import ConfigUnparsable, ControlRefused
from apps.serving.protocol import Address

# gRPC refuses anything else, and logs the value while doing so.
_HEADER_KEY = re.compile(r"[0-9a-z_.-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]+")


def control_headers(address: Address) -> dict[str, str]:
    """The header that opens a restricted control API; none when the address holds no key."""
    if not address.control_key:
        return {}
    key = address.control_key.lower()
    if not _HEADER_KEY.fullmatch(key) or not _HEADER_VALUE.fullmatch(address.control_value):
        raise ControlRefused(f"{address.name}: its control key or value has characters that no gRPC header may hold")
    return {f"triton-grpc-protocol-{key}": address.control_value}


def check_version(model: str, version: int) -> str:
    """`version` as the wire wants it, or BadName."""
    if not 0 <= version <= MAX_VERSION:
        raise BadName(f"version {version} of model {model!r} is not between 0 and {MAX_VERSION}", field="version")
    return str(version)


def override(model: str, document: Mapping[str, Any]) -> str:
    """The configuration as a load carries it, checked for what is known to end a server."""
    name = document.get("name", model)
    if name != model:
        raise ConfigUnparsable(f"the configuration to load {model!r} with names {str(name)[:140]!r}", field="name")
    for version in document.get("version_policy", {}).get("specific", {}).get("versions", ()):
        check_version(model, version)
    warmup.check_size(document)
    return json.dumps(document)


def file_overrides(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """`files` under the keys the server reads; their paths cannot leave the model's directory."""
    for path in files:
        for part in path.split("/"):
            check_name(part, what="file")
    return {f"file:{path}": content for path, content in files.items()}
