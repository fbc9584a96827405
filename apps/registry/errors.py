"""What goes wrong around models, their versions and samples. Faults of an upload: `refusals.py`."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


class ModelUnknown(NotFound):
    """No model has that name."""

    code = "model_unknown"
    title = "Unknown model"


class VersionUnknown(NotFound):
    """The model has no version of that number."""

    code = "version_unknown"
    title = "Unknown version"


class SampleUnknown(NotFound):
    """The model has no sample of that name."""

    code = "sample_unknown"
    title = "Unknown sample"


class ModelTaken(Conflict):
    """A model of that name is registered already."""

    code = "model_taken"
    title = "The model's name is taken"


class VersionNumberTaken(Conflict):
    """The model has a version of that number that was not rejected."""

    code = "version_number_taken"
    title = "The version number is taken"
    hint = "Leave the number out to get the next one. A version, once taken, never changes."


class SampleTaken(Conflict):
    """The model has a sample of that name."""

    code = "sample_taken"
    title = "The sample's name is taken"
    hint = "Choose another name, or remove that sample first."


class VersionNotReady(Conflict):
    """The version has not passed its checks, or is archived."""

    code = "version_not_ready"
    title = "The version is not ready"


class VersionUnchecked(Conflict):
    """The version has no configuration to look at: it was rejected, or is not checked yet."""

    code = "version_unchecked"
    title = "The version has no configuration"
    hint = "Compare versions that have passed their check."


class NumberInvalid(Invalid):
    """Not a version number that a server can load."""

    code = "number_invalid"
    title = "The version number is not valid"
    hint = "Use a whole number from 1 to 9223372036854775807."


class FieldInvalid(Invalid):
    """A field of a model or version that cannot be kept; `field` names it."""

    code = "field_invalid"
    title = "A field is not valid"


class SampleInvalid(Invalid):
    """A tensor of a sample whose values do not fit its datatype or shape."""

    code = "sample_invalid"
    title = "The sample is not valid"


class UploadTooLarge(ControlPlaneError):
    """More bytes than this installation takes in one upload."""

    code = "upload_too_large"
    http_status = 413
    title = "The upload is too large"
    hint = "The limit is CONCH_MAX_UPLOAD_BYTES."


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
