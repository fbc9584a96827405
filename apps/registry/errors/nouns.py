"""What goes wrong around models, their versions and samples."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


class ModelUnknown(NotFound):
    """No model has that name."""

    code = "model_unknown"
    title = "Unknown model"


class VersionUnknown(NotFound):
    """The model has no version of that number."""

    code = "version_unknown"
    title = "Unknown version"


class AliasUnknown(NotFound):
    """The model has no alias of that name."""

    code = "alias_unknown"
    title = "Unknown alias"


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


class NumberTakenMeanwhile(VersionNumberTaken):
    """The number was free when the upload began, and is not any more. The bytes are kept."""

    code = "number_taken_meanwhile"
    title = "The version number was taken meanwhile"
    hint = (
        "Give it another number on the model's upload page, or POST one to the upload's address with /number "
        "(null: the next). No byte is sent again."
    )


class SampleTaken(Conflict):
    """The model has a sample of that name."""

    code = "sample_taken"
    title = "The sample's name is taken"
    hint = "Choose another name, or remove that sample first."


class VersionNotReady(Conflict):
    """The version has not passed its checks, or is archived."""

    code = "version_not_ready"
    title = "The version is not ready"


class NothingToChoose(Conflict):
    """The version's upload holds no choice: one version only, or it is chosen already, or its time is up."""

    code = "nothing_to_choose"
    title = "There is nothing to choose"
    hint = "Only a version in the state `choosing` waits to be told which directory is meant."


class NeverChosen(ControlPlaneError):
    """The archive held several versions, and nobody said in time which one is meant."""

    code = "never_chosen"
    title = "Nobody chose a version"
    hint = "Upload it again. How long Conch waits is CONCH_UPLOAD_EXPIRES_S."


class NothingToDiscard(Conflict):
    """The version is past the point at which it can be given up: it is being checked, or has been."""

    code = "nothing_to_discard"
    title = "There is nothing to discard"
    hint = "A version that is ready can be archived."


class VersionDiscarded(ControlPlaneError):
    """Somebody gave the version up before it was checked."""

    code = "version_discarded"
    title = "The version was discarded"
    hint = "Upload it again, or ask for it again."


class VersionUnchecked(Conflict):
    """The version has no configuration to look at: it was rejected, or is not checked yet."""

    code = "version_unchecked"
    title = "The version has no configuration"
    hint = "Choose one that has passed its check."


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


class SampleMisfit(SampleInvalid):
    """No ready version of the model could take the sample, or give what it expects."""

    code = "sample_misfit"
    title = "The sample fits no ready version"
    hint = "The shape is the one on the wire: with the batch dimension in front where the model batches."
