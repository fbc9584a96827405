"""An overlay as lines that a person types: `dynamic_batching.max_queue_delay_microseconds=500`, one change each."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from tritonclient.grpc.model_config_pb2 import ModelConfig as ConfigMessage

from apps.common.reading import read_json
from apps.common.text import printable
from apps.serving.errors import OverlayInvalid

_INTEGERS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)
_FLOATS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
EXAMPLE = "instance_group.count=2"


def read(lines: Iterable[str], *, config: Mapping[str, Any]) -> dict[str, Any]:
    """The overlay that the lines describe; `config` is the version's: `instance_group.count=2` changes its groups.

    A path goes through messages by field name, through `parameters` by key; lists of numbers are separated by commas;
    nothing after '=' takes the field away; a value that is JSON is taken as it is.
    """
    overlay: dict[str, Any] = {}
    for line in (line.strip() for line in lines):
        if line and not line.startswith("#"):
            path, equals, value = line.partition("=")
            if not equals:
                raise OverlayInvalid(
                    f"{printable(line, limit=120)!r} is no change",
                    hint=f"Write path=value, as {EXAMPLE}",
                    field="changes",
                )
            _put(overlay, [part.strip() for part in path.split(".")], value.strip(), config, line)
    return overlay


def write(overlay: Mapping[str, Any]) -> list[str]:
    """The lines that `read` makes the overlay from."""
    return [line for name, value in sorted(overlay.items()) for line in _lines(name, value)]


def _lines(path: str, value: Any) -> list[str]:
    if value is None:
        return [f"{path}="]
    if isinstance(value, Mapping):
        if set(value) == {"string_value"}:
            return [f"{path}={value['string_value']}"]
        inner = [line for name, part in value.items() for line in _lines(f"{path}.{name}", part)]
        return inner or [f"{path}={{}}"]
    if isinstance(value, list | tuple) and not any(isinstance(part, Mapping | list) for part in value):
        return [f"{path}={','.join(map(str, value))}"]
    return [f"{path}={_plain(value)}"]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _put(overlay: dict[str, Any], path: list[str], value: str, config: Mapping[str, Any], line: str) -> None:
    descriptor: Any = ConfigMessage.DESCRIPTOR
    here: Any = overlay
    for at, name in enumerate(path):
        field = descriptor.fields_by_name.get(name)
        if field is None:
            raise OverlayInvalid(f"{printable(line, limit=120)!r}: there is no field {name[:80]!r}", field="changes")
        rest = path[at + 1 :]
        if _is_map(field):
            _put_in_map(here, field, rest, value, line)
            return
        if not rest:
            here[name] = _value(field, value, line)
            return
        if field.message_type is None:
            raise OverlayInvalid(f"{printable(line, limit=120)!r}: {name!r} has no fields of its own", field="changes")
        if field.is_repeated:
            known = config.get(name, ()) if here is overlay else ()
            elements = here.setdefault(name, [dict(element) for element in known] or [{}])
            _put_in_elements(elements, field, rest, value, line)
            return
        here = here.setdefault(name, {})
        descriptor = field.message_type


def _put_in_map(here: dict[str, Any], field: FieldDescriptor, rest: list[str], value: str, line: str) -> None:
    """A key may hold dots itself."""
    key = ".".join(rest)
    if not key:
        raise OverlayInvalid(f"{printable(line, limit=120)!r}: write {field.name}.KEY=value", field="changes")
    entry: Any = field.message_type
    has_text = entry.fields_by_name["value"].message_type is not None
    wanted: Any = ({"string_value": value} if has_text else value) if value else None
    here.setdefault(field.name, {})[key] = wanted


def _put_in_elements(
    elements: list[dict[str, Any]], of: FieldDescriptor, rest: list[str], value: str, line: str
) -> None:
    """Into every element there is, or a first one: an overlay replaces a list whole."""
    message: Any = of.message_type
    field = message.fields_by_name.get(".".join(rest))
    if field is None:
        raise OverlayInvalid(
            f"{printable(line, limit=120)!r}: {of.name} has no field {'.'.join(rest)[:80]!r}", field="changes"
        )
    for element in elements:
        element[field.name] = _value(field, value, line)


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _value(field: FieldDescriptor, text: str, line: str) -> Any:
    if not text:
        return None
    if field.message_type is not None:
        return _json(text, line)
    if field.is_repeated:
        parts = [part.strip() for part in text.strip("[]").split(",") if part.strip()]
        return [_scalar(field, part, line) for part in parts]
    return _scalar(field, text, line)


def _json(text: str, line: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise OverlayInvalid(
            f"{printable(line, limit=120)!r}: a whole message is given as JSON", field="changes"
        ) from error


def _scalar(field: FieldDescriptor, text: str, line: str) -> Any:
    try:
        if field.cpp_type in _INTEGERS:
            return int(text.replace("_", "").replace(" ", ""))
        if field.cpp_type in _FLOATS:
            return float(text)
    except ValueError as error:
        raise OverlayInvalid(f"{printable(line, limit=120)!r}: {text[:60]!r} is no number", field="changes") from error
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text.lower() not in {"true", "false"}:
            raise OverlayInvalid(f"{printable(line, limit=120)!r}: write true or false", field="changes")
        return text.lower() == "true"
    return text
