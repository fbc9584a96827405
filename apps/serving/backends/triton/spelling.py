"""What somebody meant who wrote a field or value that config.pbtxt does not have."""

import difflib
import re
from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor
from tritonclient.grpc import model_config_pb2

ALIKE = 0.6
# Nearer than this, it was a slip, even if the word is a field of something else.
A_SLIP = 0.88
_FIELD = re.compile(r'Message type "(?P<message>[\w.]+)" has no field named "(?P<name>[^"]{1,200})"')
_VALUE = re.compile(r'Enum type "(?P<enum>[\w.]+)" has no value (?:named|with name) (?P<name>[^\s.]{1,200})')
_BOOLEAN = re.compile(r"\b(?P<name>TRUE|FALSE)\b.*Expected \"true\" or \"false\"")
_PARAMETER = re.compile(r"""parameters.*Expected "\{"|\bvalue:\s*["'].*Expected "\{\"""")
# Spelled as other tools of the trade do.
HABITS = {
    "TYPE_FLOAT": "TYPE_FP32", "TYPE_FLOAT32": "TYPE_FP32", "TYPE_FLOAT16": "TYPE_FP16", "TYPE_HALF": "TYPE_FP16",
    "TYPE_DOUBLE": "TYPE_FP64", "TYPE_FLOAT64": "TYPE_FP64", "TYPE_BFLOAT16": "TYPE_BF16", "TYPE_INT": "TYPE_INT32",
    "TYPE_LONG": "TYPE_INT64", "TYPE_BYTES": "TYPE_STRING", "TYPE_STR": "TYPE_STRING", "TYPE_BOOLEAN": "TYPE_BOOL",
    "KIND_CUDA": "KIND_GPU",
}  # fmt: skip


def mend(cause: str) -> tuple[str, str]:
    """The parser's words as plain ones, and the name that was meant; both as they were, and "", when unknown."""
    if found := _FIELD.search(cause):
        message = model_config_pb2.DESCRIPTOR.pool.FindMessageTypeByName(found["message"])
        return _unknown_field(message, found["name"])
    if found := _VALUE.search(cause):
        names = list(model_config_pb2.DESCRIPTOR.pool.FindEnumTypeByName(found["enum"]).values_by_name)
        return _unknown_value(names, found["name"])
    if found := _BOOLEAN.search(cause):
        return f"{cause} Did you mean {found['name'].lower()}?", found["name"].lower()
    if _PARAMETER.search(cause):
        return f'{cause} A parameter is written {{ key: "name" value: {{ string_value: "..." }} }}.', ""
    return cause, ""


def _unknown_field(message: Descriptor, name: str) -> tuple[str, str]:
    said = f'"{name}" is no field of {_called(message)}'
    here, homes = list(message.fields_by_name), _homes(name)
    if homes and not _closest(name, here, cutoff=A_SLIP):
        return f"{said}: it belongs into {' or '.join(homes[:3])}", name
    if meant := _closest(name, here):
        return f'{said}: did you mean "{meant}"?', meant
    known = ", ".join(sorted(message.fields_by_name)[:12])
    return f"{said}, which has {known}{', ...' if len(message.fields) > 12 else ''}", ""  # noqa: PLR2004


def _unknown_value(names: list[str], name: str) -> tuple[str, str]:
    kind = names[0].partition("_")[0] + "_"
    full = name.upper() if name.upper().startswith(kind) else kind + name.upper()
    # What does not say of which kind it is may be a template's placeholder: no near word is guessed for it.
    meant = next((known for known in (full, HABITS.get(full), name.upper()) if known in names), None)
    meant = meant or (_closest(name, names) if full == name.upper() else "")
    said = f'there is no value "{name}"'
    if meant:
        return f'{said}: did you mean "{meant}"?', meant
    return f"{said}, only {', '.join(names)}", ""


def _closest(name: str, among: list[str], *, cutoff: float = ALIKE) -> str:
    plain = {known.replace("_", "").lower(): known for known in among}
    found = difflib.get_close_matches(name.replace("_", "").lower(), plain, n=1, cutoff=cutoff)
    return plain[found[0]] if found else ""


def _homes(name: str) -> list[str]:
    """The paths below ModelConfig at which a field of exactly this name stands."""
    top = model_config_pb2.ModelConfig.DESCRIPTOR
    return sorted({path for path, field in _fields(top, "", ()) if field == name and path}, key=len)


def _fields(message: Descriptor, path: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for field in message.fields:
        yield path, field.name
        inner = field.message_type
        if inner is not None and inner.full_name not in above:
            yield from _fields(inner, f"{path}.{field.name}".lstrip("."), (*above, inner.full_name))


def _called(message: Descriptor) -> str:
    """The place in the file rather than the schema's own name."""
    places = [path for path, inner in _messages(model_config_pb2.ModelConfig.DESCRIPTOR, "", ()) if inner is message]
    return places[0] if places else "the configuration"


def _messages(message: Descriptor, path: str, above: tuple[str, ...]) -> Iterator[tuple[str, Descriptor]]:
    for field in message.fields:
        inner = field.message_type
        if inner is not None and inner.full_name not in above:
            here = f"{path}.{field.name}".lstrip(".")
            yield here, inner
            yield from _messages(inner, here, (*above, inner.full_name))
