"""Versions whose bytes come in one request."""

from apps.access.services import require
from apps.common.actor import Actor
from apps.registry import artifacts, selectors
from apps.registry.artifacts import Upload
from apps.registry.errors import VersionNumberTaken
from apps.registry.models import Version
from apps.registry.services import numbering
from apps.registry.services.limits import upload_limit
from apps.registry.services.versions import Wanted, keep_version, made_before


def add_version(
    actor: Actor,
    *,
    model: str,
    upload: Upload,
    number: int | None = None,
    git_commit: str = "",
    notes: str = "",
    request_key: str = "",
    version_directory: str = "",
) -> Version:
    """Receive a version's bytes; a worker checks them, and the version becomes `ready` or `rejected`.

    The bytes are streamed before any transaction is opened; if the row cannot be made they go again, unless only
    their number is to blame. The same request sent again, told by its `request_key`, gets the version it made.
    """
    require(actor, "add_version")
    owner = selectors.get_model(model)
    if made := made_before(owner, request_key):
        return made
    wanted = Wanted(number, git_commit, notes, upload.filename, request_key, version_directory)
    wanted.check(owner)
    received = artifacts.receive(selectors.store(), upload, limit_bytes=upload_limit(actor))
    try:
        version = keep_version(actor, owner, received, wanted)
    except VersionNumberTaken as error:
        raise numbering.keep_received(actor, owner, received, wanted) from error
    except BaseException:
        artifacts.drop_incoming(selectors.store(), received.name)
        raise
    if version.incoming != received.name:
        artifacts.drop_incoming(selectors.store(), received.name)
    return version
