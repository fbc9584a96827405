"""Changing models, versions, aliases and samples."""

from apps.registry.artifacts import Upload
from apps.registry.services.checks import check_version, sweep_versions
from apps.registry.services.models import point_alias, register_model, update_model
from apps.registry.services.samples import add_sample, remove_sample
from apps.registry.services.versions import add_version

__all__ = [
    "Upload",
    "add_sample",
    "add_version",
    "check_version",
    "point_alias",
    "register_model",
    "remove_sample",
    "sweep_versions",
    "update_model",
]
