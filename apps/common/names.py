"""Which names Conch accepts. A security boundary: names reach paths, shells and PromQL."""

import re

from apps.common.errors import Invalid

PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
SHADOW_SUFFIX = ".shadow"
# Triton's directory names are at most 255 bytes; the shadow's name must fit the pattern too.
MODEL_NAME_CHARS = 128 - len(SHADOW_SUFFIX)
MAX_VERSION = 2**63 - 1

# Digits in a row that are compared as a number.
NATURAL_DIGITS = 10
# A name of single digits, each with something else between, becomes longest.
NATURAL_CHARS = 64 * (NATURAL_DIGITS + 1)

_NAME = re.compile(PATTERN)
_DIGITS = re.compile(r"[0-9]+")


class BadName(Invalid):
    """A name outside the allow-list."""

    code = "bad_name"
    title = "The name is not allowed"
    hint = f"Use 1 to 128 letters, digits, '_', '.', '-', not beginning with '.' or '-'  ({PATTERN})."


def check_name(name: str, *, what: str) -> str:
    """`name` itself, or BadName."""
    if not _NAME.fullmatch(name):
        raise BadName(f"{what} name {name[:140]!r} is not allowed", field="name")
    return name


def check_model_name(name: str) -> str:
    """`name` itself, or BadName; the suffix `.shadow` is Conch's own."""
    check_name(name, what="model")
    if name.endswith(SHADOW_SUFFIX):
        raise BadName(
            f"model name {name!r} is not allowed: the suffix {SHADOW_SUFFIX!r} is reserved",
            hint="Choose a name with another ending.",
            field="name",
        )
    if len(name) > MODEL_NAME_CHARS:
        raise BadName(
            f"model name {name[:140]!r} is {len(name)} characters long",
            hint=f"Use at most {MODEL_NAME_CHARS} characters.",
            field="name",
        )
    return name


def natural(name: str) -> str:
    """What the name sorts by, so that server-2 stands before server-10."""
    return _DIGITS.sub(lambda found: found[0].zfill(NATURAL_DIGITS), name)


def shadow_of(name: str) -> str:
    """The name under which a model is tried beside the live one."""
    return f"{name}{SHADOW_SUFFIX}"
