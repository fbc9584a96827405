"""Changing models, versions, aliases and samples."""

from apps.registry.artifacts import Landed, Upload
from apps.registry.services.adding import add_version
from apps.registry.services.checks import check_version, due_versions
from apps.registry.services.choosing import choose_version, forget_unchosen, require_choosing
from apps.registry.services.comparing import Blocks, received_blocks
from apps.registry.services.discarding import discard_version, require_discardable
from apps.registry.services.fetching import due_fetches, fetch_version
from apps.registry.services.limits import largest_upload, require_room, require_small, room_for, upload_limit
from apps.registry.services.models import point_alias, register_model, remove_alias, update_model
from apps.registry.services.numbering import number_upload, require_numbering
from apps.registry.services.receiving import Checksum, Sending, append_upload, due_uploads, finish_upload
from apps.registry.services.references import add_version_from
from apps.registry.services.samples import (
    add_sample,
    add_sample_from_files,
    claim_capture,
    end_capture,
    read_files,
    remove_sample,
    with_tolerances,
)
from apps.registry.services.sweeping import leftover_bytes, orphaned_artifacts, sweep_artifacts, sweep_store
from apps.registry.services.uploads import Announced, add_known_version, begin_upload, discard_upload, sweep_uploads
from apps.registry.services.versions import Wanted

__all__ = [
    "Announced",
    "Blocks",
    "Checksum",
    "Landed",
    "Sending",
    "Upload",
    "Wanted",
    "add_known_version",
    "add_sample",
    "add_sample_from_files",
    "add_version",
    "add_version_from",
    "append_upload",
    "begin_upload",
    "check_version",
    "choose_version",
    "claim_capture",
    "discard_upload",
    "discard_version",
    "due_fetches",
    "due_uploads",
    "due_versions",
    "end_capture",
    "fetch_version",
    "finish_upload",
    "forget_unchosen",
    "largest_upload",
    "leftover_bytes",
    "number_upload",
    "orphaned_artifacts",
    "point_alias",
    "read_files",
    "received_blocks",
    "register_model",
    "remove_alias",
    "remove_sample",
    "require_choosing",
    "require_discardable",
    "require_numbering",
    "require_room",
    "require_small",
    "room_for",
    "sweep_artifacts",
    "sweep_store",
    "sweep_uploads",
    "update_model",
    "upload_limit",
    "with_tolerances",
]
