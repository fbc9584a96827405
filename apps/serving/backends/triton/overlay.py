"""An overlay: what one environment sets otherwise in a version's configuration, merged by Triton's own schema.

A merge patch over the message (RFC 7386, with protobuf's field names): messages are merged field by field, maps key
by key, lists replaced whole, and None takes a field away.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from tritonclient.grpc.model_config_pb2 import ModelConfig as ConfigMessage

from apps.common.text import printable
from apps.serving.backends.triton.document import to_document, to_message
from apps.serving.backends.triton.rules import check
from apps.serving.errors import ConfigUnparsable, OverlayInvalid

# What an environment may decide. The rest is the version's own: what clients send, what is loaded, how it is warmed.
FIELDS = ("instance_group", "dynamic_batching", "parameters", "optimization", "response_cache")
MAX_VALUE_CHARS = 4_096


def clean(overlay: Mapping[str, Any]) -> dict[str, Any]:
    """The overlay, once every field and value in it is one of Triton's; OverlayInvalid names the first that is not."""
    if not isinstance(overlay, Mapping):
        raise OverlayInvalid("the overlay is not an object of fields", field="overlay")
    for name in overlay:
        if name not in FIELDS:
            raise OverlayInvalid(
                f"an overlay cannot set {printable(str(name), limit=80)!r}",
                hint=f"{_nearest(str(name), FIELDS)}It may set {', '.join(FIELDS)}; the rest belongs to the version.",
                field="overlay",
            )
    _check_names(overlay, ConfigMessage.DESCRIPTOR, "")
    _as_message(_without_none(overlay))
    return dict(overlay)


def merge(config: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """`config` as the environment wants it. What both make together is judged by `check_fit`, when it is asked for."""
    return to_document(_as_message(_patched(config, overlay))) if overlay else dict(config)


def check_fit(config: Mapping[str, Any], overlay: Mapping[str, Any]) -> None:
    """OverlayInvalid when the two make no configuration together that a server would take."""
    message = _as_message(_patched(config, overlay))
    try:
        check(message)
    except ConfigUnparsable as error:
        raise OverlayInvalid(f"with the overlay: {error.message}", field="overlay") from error
    _check_batching(message)


def is_applied(running: Mapping[str, Any], *, was: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a server that ran `was` says in its own configuration that it runs `wanted` now.

    A server fills defaults in, so what is wanted must be contained in what runs; where a field is taken away, what it
    was must be contained no longer.
    """
    changed = [name for name in FIELDS if was.get(name) != wanted.get(name)]
    return all(
        _contains(running.get(name), wanted[name]) if name in wanted else not _contains(running.get(name), was[name])
        for name in changed
    )


def _check_names(value: Any, descriptor: Descriptor, where: str) -> None:
    """Protobuf would take `maxQueueDelay` for a field and an unknown one for a reason without a place."""
    if not isinstance(value, Mapping):
        raise OverlayInvalid(f"{where} is not an object of fields", field="overlay")
    for name, part in value.items():
        field = descriptor.fields_by_name.get(str(name))
        if field is None:
            known = list(descriptor.fields_by_name)
            shown = printable(f"{where}.{name}".lstrip("."), limit=120)
            raise OverlayInvalid(
                f"there is no field {shown!r}", hint=_nearest(str(name), known).strip(), field="overlay"
            )
        for inner, at in _messages(field, part, f"{where}.{name}".lstrip(".")):
            _check_names(inner, _message_of(field), at)


def _messages(field: FieldDescriptor, value: Any, where: str) -> Iterator[tuple[Any, str]]:
    """The messages in a field's value: itself, those of a list, or those of a map."""
    if value is None or field.message_type is None:
        return
    if _is_map(field):
        if isinstance(value, Mapping) and _message_of(field) is not None:
            yield from ((part, f"{where}.{key}") for key, part in value.items() if part is not None)
    elif field.is_repeated:
        if not isinstance(value, list | tuple):
            raise OverlayInvalid(f"{where} is not a list", field="overlay")
        yield from ((part, f"{where}[{at}]") for at, part in enumerate(value))
    else:
        yield value, where


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _message_of(field: FieldDescriptor) -> Any:
    """The message a field holds; of a map, that of its values."""
    entry: Any = field.message_type
    return entry.fields_by_name["value"].message_type if _is_map(field) else entry


def _nearest(name: str, known: Any) -> str:
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"Did you mean {found[0]!r}? " if found else ""


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_none(part) for name, part in value.items() if part is not None}
    return value


def _patched(base: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    known = dict(base) if isinstance(base, Mapping) else {}
    for name, part in patch.items():
        if part is None:
            known.pop(name, None)
        else:
            known[name] = _patched(known.get(name), part)
    return known


def _as_message(document: Mapping[str, Any]) -> Any:
    try:
        return to_message(document)
    except ConfigUnparsable as error:
        raise OverlayInvalid(printable(error.message, limit=500), field="overlay") from error


def _check_batching(message: Any) -> None:
    """Of these a server says only "failed to poll"."""
    if not message.HasField("dynamic_batching"):
        return
    most = message.max_batch_size
    if most == 0:
        raise OverlayInvalid(
            "dynamic_batching needs a model that batches: max_batch_size is 0 in this version", field="overlay"
        )
    large = [size for size in message.dynamic_batching.preferred_batch_size if not 0 < size <= most]
    if large:
        raise OverlayInvalid(
            f"dynamic_batching.preferred_batch_size {large[0]} is not between 1 and max_batch_size {most}",
            field="overlay",
        )


def _contains(running: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        # An instance count of 1 and a kind of AUTO are not written down by whoever means them.
        return isinstance(running, Mapping) and all(_contains(running.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, list | tuple):
        is_list = isinstance(running, list | tuple) and len(running) == len(wanted)
        return is_list and all(_contains(one, other) for one, other in zip(running, wanted, strict=True))
    return bool(running == wanted)
