"""What was unpacked, and is no model that a server could load."""

from collections.abc import Sequence

from apps.registry.refusals.base import Refused, RefusedEntry

# How many versions of one archive can be chosen from, and how many a sentence tells.
MOST_VERSIONS, SHOWN_VERSIONS = 1_000, 10


class ConfigMissing(Refused):
    """No config.pbtxt where one belongs."""

    code = "config_missing"
    title = "There is no config.pbtxt"
    hint = "Pack [name/]config.pbtxt and [name/]1/..., or one version directory beside config.pbtxt."


class ModelTooDeep(RefusedEntry):
    """The model directory lies in more directories than packers wrap around it."""

    code = "model_too_deep"
    title = "The model lies too deep"
    hint = "Pack the model directory itself: config.pbtxt at the top, or a few directories below it."


class NestedArchive(RefusedEntry):
    """An archive in the archive."""

    code = "nested_archive"
    title = "The archive holds another archive"
    hint = "Send the inner archive itself."
    says = "it is an archive, and there is no model beside it"


class ConfigNeeded(Refused):
    """A file that does not tell its inputs and outputs came without config.pbtxt."""

    code = "config_needed"
    title = "A config.pbtxt is needed"


class SeveralModels(Refused):
    """More than one model directory."""

    code = "several_models"
    title = "The archive holds several models"
    hint = "Upload one model directory at a time."


class StrayEntry(RefusedEntry):
    """Something lies beside the model directory."""

    code = "stray_entry"
    title = "Something lies beside the model directory"
    hint = "Pack the model directory alone."
    says = "it lies beside the model directory, so no server would ever see it"


class VersionDirectoryMissing(Refused):
    """No version directory."""

    code = "version_directory_missing"
    title = "There is no version directory"
    hint = "Put the model's files into a directory named by a number, such as 1/, beside config.pbtxt."


class SeveralVersions(Refused):
    """More than one version directory, and nobody has said which one is meant; the newest are told."""

    code = "several_versions"
    title = "The archive holds several versions"
    hint = (
        "Choose one on the version's page, or POST version_directory to its address with /choose; no bytes are "
        "sent again. To have it done at once next time, send version_directory with the upload."
    )

    def __init__(self, found: Sequence[str]) -> None:
        self.versions = tuple(found[-MOST_VERSIONS:])
        newest = ", ".join(self.versions[-SHOWN_VERSIONS:])
        last = f", the newest {newest}" if len(found) > SHOWN_VERSIONS else f": {newest}"
        super().__init__(f"the archive holds {len(found)} versions{last}", versions=list(self.versions))


class VersionLookAlike(RefusedEntry):
    """A directory whose name a server would misread as a version."""

    code = "version_look_alike"
    title = "A directory's name looks like a version"
    hint = (
        "Name the version directory 1 (or any exact number up to 9223372036854775807), other directories with letters."
    )
    says = "a server may read this name as a version number, look for a model in it and hang"


class VersionEmpty(RefusedEntry):
    """A version directory without a file."""

    code = "version_empty"
    title = "The version directory is empty"
    hint = "Put the model's files into it."
    says = "there is no file in this version directory"


class ModelFileMissing(RefusedEntry):
    """The file that the backend loads is not there; a server would hang on it."""

    code = "model_file_missing"
    title = "The model's file is missing"


class ConfigTooLarge(RefusedEntry):
    """A configuration larger than any real one."""

    code = "config_too_large"
    title = "config.pbtxt is too large"


class ConfigNotUtf8(RefusedEntry):
    """A configuration that is no text."""

    code = "config_not_utf8"
    title = "config.pbtxt is not UTF-8"
    hint = "Save it as UTF-8 text."
    says = "it is not UTF-8 text"


class TemplateUnfilled(RefusedEntry):
    """A placeholder of a template that nobody has filled in."""

    code = "template_unfilled"
    title = "The configuration is an unfilled template"
    hint = "Fill the template in first, for instance with the script that came with it."


class NameMismatch(RefusedEntry):
    """The configuration is another model's."""

    code = "name_mismatch"
    title = "The configuration names another model"


class RulesBroken(Refused):
    """A rule of preflight is broken, whatever server the version would go to."""

    code = "rules_broken"
    title = "No server could load this"
