"""What goes wrong while bytes come in, and where they are kept."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


class NothingToNumber(Conflict):
    """The upload waits for no number: it still comes in, or is a version, or was refused."""

    code = "nothing_to_number"
    title = "The upload waits for no number"
    hint = "Only an upload in the state `numbering` does."


class NothingToCompare(Conflict):
    """The upload's bytes wait no longer: they are a version's, or were dropped."""

    code = "nothing_to_compare"
    title = "The upload's bytes wait no longer"
    hint = "GET its address says what has become of it."


class UploadTooLarge(ControlPlaneError):
    """More bytes than this installation takes in one upload."""

    code = "upload_too_large"
    http_status = 413
    title = "The upload is too large"
    hint = "The limit is CONCH_MAX_UPLOAD_BYTES, for operators CONCH_OPERATOR_MAX_UPLOAD_BYTES."


class UploadEmpty(Invalid):
    """No bytes came."""

    code = "upload_empty"
    title = "The upload is empty"


class UploadBroken(ControlPlaneError):
    """The upload ended before all its bytes had come; nothing was kept."""

    code = "upload_broken"
    http_status = 400
    title = "The upload broke off"
    hint = "Send it again."


class UploadUnknown(NotFound):
    """No upload of yours has that address: it was ended, has expired, or is somebody else's."""

    code = "upload_unknown"
    title = "Unknown upload"
    hint = "Begin a new one."


class UploadExpired(ControlPlaneError):
    """Nothing came for so long that the upload's bytes were dropped."""

    code = "upload_expired"
    http_status = 410
    title = "The upload has expired"
    hint = "Begin a new one. How long Conch waits is CONCH_UPLOAD_EXPIRES_S."


class UploadBusy(ControlPlaneError):
    """Another request is sending to this upload, or broke off a moment ago."""

    code = "upload_busy"
    http_status = 423
    retryable = True
    title = "Another request is sending to this upload"
    hint = "Let one client send at a time. One that broke off is let go after CONCH_LEASE_S."


class OffsetWrong(Conflict):
    """The bytes do not begin where the upload stands."""

    code = "offset_wrong"
    title = "The offset is not where the upload stands"
    hint = "Ask for the offset with HEAD and go on from there."


class UploadOverrun(ControlPlaneError):
    """More bytes than the upload was announced with."""

    code = "upload_overrun"
    http_status = 413
    title = "The upload has more bytes than announced"
    hint = "Begin a new upload with the right Upload-Length."


class ChecksumWrong(ControlPlaneError):
    """A piece did not arrive as it was sent; it was dropped."""

    code = "checksum_wrong"
    http_status = 460
    retryable = True
    title = "The bytes do not fit their checksum"
    hint = "Send them again from the same offset."


class DigestWrong(ControlPlaneError):
    """The whole file is not the one that was announced."""

    code = "digest_wrong"
    http_status = 422
    title = "The bytes do not fit the announced SHA-256"
    hint = "Compare the file's SHA-256 with the announced one, and send it again."


class UploadFailed(Conflict):
    """All bytes came, and they could not become the version that was asked for."""

    code = "upload_failed"
    title = "The upload could not become a version"
    hint = "GET its address: `error` says why. Begin a new one once that is mended."


class TooManyUploads(ControlPlaneError):
    """Whoever asks has as many unfinished uploads as one may have."""

    code = "too_many_uploads"
    http_status = 429
    retryable = True
    title = "Too many unfinished uploads"
    hint = "Finish or end some of them. The limit is CONCH_MAX_UNFINISHED_UPLOADS."


class IncomingFull(ControlPlaneError):
    """All unfinished uploads together have announced as much as may be on its way in at once."""

    code = "incoming_full"
    http_status = 503
    retryable = True
    title = "Too much is on its way in"
    hint = "Try again when other uploads have ended. The limit is CONCH_MAX_INCOMING_BYTES."


class ArtifactUnknown(NotFound):
    """No checked artifact has that SHA-256."""

    code = "artifact_unknown"
    title = "Unknown artifact"
    hint = "Send the bytes."


class StoreFull(ControlPlaneError):
    """There is no room for the bytes; nothing was left behind."""

    code = "store_full"
    http_status = 507
    retryable = True
    title = "The artifact store is full"
    hint = "Free some space on the file system of CONCH_ARTIFACTS_DIR, then upload again."


class StoreBroken(ControlPlaneError):
    """The operating system refused a read or a write in the artifact store."""

    code = "store_broken"
    http_status = 503
    retryable = True
    title = "The artifact store could not be read or written"
    hint = "Check the file system of CONCH_ARTIFACTS_DIR, then upload again."


class UploadLost(ControlPlaneError):
    """The received file is gone: its check was begun where the artifact store is another directory."""

    code = "upload_lost"
    title = "The received file is not there"
    hint = "Every web server and worker must share CONCH_ARTIFACTS_DIR. Upload again."


class CheckKeptDying(ControlPlaneError):
    """The worker was lost, or broke, every time it checked this upload."""

    code = "check_kept_dying"
    title = "The check ended the worker again and again"
    hint = "The worker's log says what happened. Upload again once that is cured, or another archive."


class FetchKeptDying(ControlPlaneError):
    """The worker was lost, or broke, every time it fetched these bytes."""

    code = "fetch_kept_dying"
    title = "The fetch ended the worker again and again"
    hint = "The worker's log says what happened. Ask for it again once that is cured, or upload the bytes."
