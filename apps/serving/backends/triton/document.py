"""Triton's configuration message and its JSON shape: numbers as numbers, enums by name, proto field names."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig

from apps.serving.errors import ConfigUnparsable


def to_document(message: Message) -> dict[str, Any]:
    """Every field that is set. Protobuf's own converter would write 64-bit numbers as strings."""
    return {field.name: _value(field, value) for field, value in message.ListFields()}


def to_message(document: Mapping[str, Any]) -> Any:
    """The ModelConfig `document` describes; ConfigUnparsable when it describes none."""
    try:
        return json_format.ParseDict(dict(document), ModelConfig())
    except json_format.ParseError as error:
        raise ConfigUnparsable(f"the configuration is not one of Triton's: {error}") from error


def datatype(type_name: str | int) -> str:
    """`FP32` for TYPE_FP32, as requests spell it; TYPE_STRING is BYTES there."""
    name = DataType.Name(type_name) if isinstance(type_name, int) else type_name
    plain = name.removeprefix("TYPE_")
    return "BYTES" if plain == "STRING" else plain


def _value(field: FieldDescriptor, value: Any) -> Any:
    entry = field.message_type
    if entry and entry.GetOptions().map_entry:
        of = entry.fields_by_name["value"]
        return {key: _scalar(of, value[key]) for key in sorted(value)}
    if field.is_repeated:
        return [_scalar(field, each) for each in value]
    return _scalar(field, value)


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type:
        return to_document(value)
    if field.enum_type:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else value
    return value
