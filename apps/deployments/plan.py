"""What a change means for the versions a server holds. Pure: same input, same plan."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from apps.deployments.states import RolloutKind

# In a release: nothing goes live before every version has passed its shadow on every server.
TOGETHER = ("preflight", "publish", "shadow", "barrier", "load", "await_ready", "verify", "expose")
COLD = ("preflight", "publish", "shadow", "load", "await_ready", "verify", "expose")
HOT = ("expose", "await_ready")
RETIRE = ("expose",)
UNLOAD = ("unload",)
# What a stopped rollout has already written must not outlive it, so putting back ends with `persist` too.
RESTORE = ("restore", "await_ready", "persist")
REMOVE = ("unload", "persist")
CLEAR = ("clear",)
# The same version under another overlay: aside first where it starts the version again.
RECONFIGURE = ("preflight", "shadow", "reconfigure", "await_ready", "verify")
RECONFIGURE_IN_PLACE = ("reconfigure", "await_ready")
PUT_BACK_CONFIG = ("reconfigure", "await_ready", "persist")
# The versions were live before, so they lie in the repository: preflight adds `publish` where they do not.
HEAL = ("preflight", "load", "await_ready", "verify")
SETTLE = ("persist",)


def sets_between(active: int | None, to: int, *, stands_beside: bool, keep: bool) -> tuple[set[int], set[int]]:
    """The versions loaded while `to` is tried live, and those loaded in the end.

    An unversioned request goes to the highest loaded version, so the old one can only stay hot below
    the new one; and it can only stay at all where both agree on everything but instances and policy.
    """
    if active is None or active == to or not stands_beside:
        return {to}, {to}
    return {active, to}, ({active, to} if keep and active < to else {to})


def recipe(
    kind: str,
    *,
    is_hot: bool,
    has_passed_shadow: bool,
    skips_shadow: bool = False,
    has_ensembles: bool = False,
    is_together: bool = False,
) -> list[str]:
    """The steps of a forward run, in order.

    `skips_shadow` is what the environment's policy says; `has_ensembles`: live ensembles are made of the model;
    `is_together`: it is part of a release.
    """
    if kind == RolloutKind.UNLOAD:
        return list(UNLOAD)
    if kind == RolloutKind.RETIRE:
        return list(RETIRE)
    if kind == RolloutKind.HEAL:
        return list(HEAL)
    skips_shadow = skips_shadow or (kind == RolloutKind.ROLLBACK and has_passed_shadow)
    steps = _without(_changing(kind, is_hot=is_hot, is_together=is_together), skips_shadow=skips_shadow)
    return [*steps, "ensembles"] if has_ensembles else steps


def _changing(kind: str, *, is_hot: bool, is_together: bool) -> Sequence[str]:
    """The steps that bring another version, or another configuration."""
    if kind == RolloutKind.RECONFIGURE:
        return RECONFIGURE_IN_PLACE if is_hot else RECONFIGURE
    if kind == RolloutKind.ROLLBACK and is_hot:
        return HOT
    return TOGETHER if is_together else COLD


def _without(steps: Sequence[str], *, skips_shadow: bool) -> list[str]:
    return [step for step in steps if not (step == "shadow" and skips_shadow)]


def revert_recipe(*, has_old: bool, is_reconfiguring: bool = False) -> list[str]:
    """The steps that put a server back."""
    if is_reconfiguring:
        return list(PUT_BACK_CONFIG)
    return list(RESTORE if has_old else REMOVE)


def config_digest(config: Mapping[str, Any]) -> str:
    """What identifies a configuration, whatever order its fields were written in: sha256, in hex."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def interface_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """In words, what a client of `old` would trip over with `new`; empty when it would not notice.

    Both are a version's signature: {"inputs": [...], "outputs": [...], "max_batch_size": n}.
    """
    changes = _tensor_changes("input", old.get("inputs", ()), new.get("inputs", ()), may_add=False)
    changes += _tensor_changes("output", old.get("outputs", ()), new.get("outputs", ()), may_add=True)
    before, after = int(old.get("max_batch_size") or 0), int(new.get("max_batch_size") or 0)
    if bool(before) != bool(after) or after < before:
        changes.append(f"max_batch_size {before} becomes {after}")
    return changes


def _tensor_changes(
    what: str, old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]], *, may_add: bool
) -> list[str]:
    before, after = ({str(tensor["name"]): tensor for tensor in side} for side in (old, new))
    changes = [f"{what} {name} is gone" for name in before if name not in after]
    for name, tensor in after.items():
        was = before.get(name)
        if was is None:
            if not may_add and not tensor.get("is_optional"):
                changes.append(f"{what} {name} is new")
            continue
        shapes = list(was["shape"]), list(tensor["shape"])
        if was["datatype"] != tensor["datatype"] or shapes[0] != shapes[1]:
            changes.append(f"{what} {name} was {was['datatype']} {shapes[0]}, becomes {tensor['datatype']} {shapes[1]}")
    return changes
