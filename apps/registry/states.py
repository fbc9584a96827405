"""How a version's state may move. Pure."""

from collections.abc import Mapping
from enum import StrEnum


class VersionState(StrEnum):
    """Where a version is on its way in."""

    FETCHING = "fetching"
    RECEIVED = "received"
    CHECKING = "checking"
    CHOOSING = "choosing"
    READY = "ready"
    REJECTED = "rejected"
    ARCHIVED = "archived"
    REMOVED = "removed"


S = VersionState

VERSION_MOVES: Mapping[str, frozenset[str]] = {
    S.FETCHING: frozenset({S.RECEIVED, S.REJECTED}),
    S.RECEIVED: frozenset({S.CHECKING, S.REJECTED}),
    S.CHECKING: frozenset({S.CHECKING, S.CHOOSING, S.READY, S.REJECTED}),
    S.CHOOSING: frozenset({S.RECEIVED, S.REJECTED}),
    S.READY: frozenset({S.ARCHIVED, S.REMOVED}),
    S.REJECTED: frozenset(),
    S.ARCHIVED: frozenset({S.READY, S.REMOVED}),
    S.REMOVED: frozenset(),
}


class UploadState(StrEnum):
    """Where a resumable upload is."""

    RECEIVING = "receiving"
    NUMBERING = "numbering"
    FINISHED = "finished"
    REFUSED = "refused"


# Whose bytes wait in the store.
WAITING_UPLOADS = (UploadState.RECEIVING, UploadState.NUMBERING)
UPLOAD_MOVES: Mapping[str, frozenset[str]] = {
    UploadState.RECEIVING: frozenset({UploadState.NUMBERING, UploadState.FINISHED, UploadState.REFUSED}),
    UploadState.NUMBERING: frozenset({UploadState.FINISHED}),
    UploadState.FINISHED: frozenset(),
    UploadState.REFUSED: frozenset(),
}
