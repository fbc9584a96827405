"""The rules of preflight, as data: what can be known about a version before a server sees it."""

from apps.serving.backends.triton.preflight import (
    batching,
    ensembles,
    files,
    instances,
    members,
    sequences,
    servers,
    tensors,
    warmups,
)
from apps.serving.preflight import Rule

RULES: tuple[Rule, ...] = (
    *files.RULES,
    *tensors.RULES,
    *batching.RULES,
    *sequences.RULES,
    *instances.RULES,
    *ensembles.RULES,
    *members.RULES,
    *warmups.RULES,
    *servers.RULES,
)
