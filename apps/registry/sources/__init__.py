"""Bytes by reference: a file for each kind of place, one way to ask them all. No database."""

from contextlib import AbstractContextManager

from apps.registry.sources import bucket, local
from apps.registry.sources.mlflow import Mlflow
from apps.registry.sources.opened import Opened, Position
from apps.registry.sources.policy import Policy
from apps.registry.sources.references import Kind, Reference, parse
from apps.registry.sources.web import Web

__all__ = ["Kind", "Opened", "Policy", "Position", "Reference", "opened", "parse"]


def opened(reference: Reference, policy: Policy, at: Position) -> AbstractContextManager[Opened]:
    """The bytes behind an allowed reference, from where one was if they are still the same."""
    policy.require_allowed(reference)
    if reference.kind == Kind.S3:
        return bucket.opened(reference.place, reference.path, at)
    if reference.kind == Kind.WEB:
        return Web(policy).opened(reference, at)
    if reference.kind == Kind.MLFLOW:
        return Mlflow(policy).opened(reference)
    return local.opened(reference.path, policy.roots, at)
