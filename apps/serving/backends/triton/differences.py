"""Two configurations compared by meaning: tensors by name, maps by key, defaults like absent fields. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.serving.backends.triton.warmup import told_sizes
from apps.serving.configuration import ConfigDifference, ConfigEffect

# Lists whose entries have a name; elsewhere an entry's place is what tells it.
NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "input": ("name",),
    "output": ("name",),
    "control_input": ("name",),
    "state": ("input_name",),
    "batch_input": ("target_name",),
    "batch_output": ("target_name",),
    "model_warmup": ("name",),
    "agents": ("name",),
    "resources": ("name",),
}
# Compared whole: their parts mean nothing alone.
WHOLE = frozenset({"dims", "shape", "gpus", "preferred_batch_size", "versions", "buckets"})
_EFFECTS: Mapping[str, ConfigEffect] = {
    "name": ConfigEffect.NOT_USED,
    "version_policy": ConfigEffect.NOT_USED,
    "model_warmup": ConfigEffect.NOT_USED,
    "instance_group": ConfigEffect.NO_RESTART,
    "input": ConfigEffect.INTERFACE,
    "output": ConfigEffect.INTERFACE,
    "max_batch_size": ConfigEffect.INTERFACE,
}
ORDER = "(order)"


def between(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[ConfigDifference]:
    """The fields that differ, by path; both as `document.to_document` gives them, so no field holds its default."""
    for field in sorted({*one, *other}):
        effect = _effect(field, one, other)
        for path, before, after in _compare(field, field, one.get(field), other.get(field)):
            is_order = path.endswith(ORDER)
            yield ConfigDifference(path, before, after, ConfigEffect.RESTART if is_order else effect)


def _effect(field: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> ConfigEffect:
    """Of a warm-up only the sizes are used: Conch's own warm-up has them where dims vary."""
    if field == "model_warmup" and told_sizes(one) != told_sizes(other):
        return ConfigEffect.RESTART
    return _EFFECTS.get(field, ConfigEffect.RESTART)


def _compare(path: str, field: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if one == other:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _compare(f"{path}.{key}", key, one.get(key), other.get(key))
    elif _is_list(one) and _is_list(other) and field not in WHOLE:
        yield from _compare_lists(path, field, one, other)
    else:
        yield path, one, other


def _compare_lists(path: str, field: str, one: Sequence[Any], other: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
    before, after = (_keyed(field, entries) for entries in (one, other))
    found = False
    for key in [*before, *(key for key in after if key not in before)]:
        for difference in _compare(f"{path}[{key}]", field, before.get(key), after.get(key)):
            found = True
            yield difference
    if not found:
        yield f"{path} {ORDER}", list(before), list(after)


def _keyed(field: str, entries: Sequence[Any]) -> dict[str, Any]:
    """Entries by name where each has one of its own, else by place."""
    for key in NAMED_BY.get(field, ()):
        names = [str(entry.get(key, "")) for entry in entries if isinstance(entry, Mapping)]
        if all(names) and len(set(names)) == len(entries):
            return dict(zip(names, entries, strict=True))
    return {str(place): entry for place, entry in enumerate(entries)}


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
