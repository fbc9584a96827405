"""Changing models, versions, aliases and samples."""

from apps.registry.artifacts import Landed, Upload
from apps.registry.services.checks import check_version, due_versions, sweep_store
from apps.registry.services.models import point_alias, register_model, update_model
from apps.registry.services.samples import add_sample, remove_sample
from apps.registry.services.versions import add_version

__all__ = [
    "Landed",
    "Upload",
    "add_sample",
    "add_version",
    "check_version",
    "due_versions",
    "point_alias",
    "register_model",
    "remove_sample",
    "sweep_store",
    "update_model",
]
