"""Which names in a model's directory a server takes for versions. Pure."""

import re

from apps.common.names import MAX_VERSION

_EXACT = re.compile(r"[1-9][0-9]{0,18}")
# Servers read leading digits, signs and blanks as a number: `2.tmp` becomes version 2 and hangs a load.
_LIKE = re.compile(r"[\s+\-._]*[vV]?[\s+\-._]*\d")


def is_version_name(name: str) -> bool:
    """Whether a directory of that name is a version, in the exact decimal form."""
    return bool(_EXACT.fullmatch(name)) and int(name) <= MAX_VERSION


def looks_like_version(name: str) -> bool:
    """Whether a server might read the name as a version, exact or not."""
    return bool(_LIKE.match(name))
