"""Why an upload is refused: a class for each fault, naming the entry in the archive."""

from collections.abc import Sequence
from typing import Any, ClassVar

from apps.common.errors import Invalid
from apps.common.text import printable

SHOWN_ENTRY_CHARS = 160
# How many versions of one archive can be chosen from, and how many a sentence tells.
MOST_VERSIONS, SHOWN_VERSIONS = 1_000, 10


class Refused(Invalid):
    """An upload that cannot become a version."""

    code = "upload_refused"
    http_status = 422
    title = "The upload was refused"


class RefusedEntry(Refused):
    """One entry of the archive is at fault."""

    says: ClassVar[str] = "this entry is not allowed"

    def __init__(self, entry: str, says: str = "", **facts: Any) -> None:
        shown = printable(entry[:SHOWN_ENTRY_CHARS]) + ("..." if len(entry) > SHOWN_ENTRY_CHARS else "")
        super().__init__(f"{shown!r}: {says or self.says}", entry=shown, **facts)


class NotAnArchive(Refused):
    """No archive Conch takes, and no model's file that it knows by its name."""

    code = "not_an_archive"
    title = "This is not an archive Conch takes"
    hint = (
        "Pack the model directory as .zip, .tar, .tar.gz or .tar.zst, or send model.onnx, .plan, .pt or .py as it is."
    )


class ArchiveCorrupt(Refused):
    """The archive is cut off or damaged."""

    code = "archive_corrupt"
    title = "The archive is damaged"
    hint = "Pack it again and compare its SHA-256 before and after sending."


class ArchiveEncrypted(RefusedEntry):
    """An entry wants a password."""

    code = "archive_encrypted"
    title = "The archive is encrypted"
    hint = "Pack it without a password."
    says = "it is encrypted"


class CompressionUnknown(RefusedEntry):
    """An entry packed with a method that not every tool unpacks."""

    code = "compression_unknown"
    title = "The archive uses an unusual compression"
    hint = "Pack it as a usual .zip (deflate), .tar.gz or .tar.zst."
    says = "it is compressed in a way Conch does not unpack"


class PathLeavesArchive(RefusedEntry):
    """A path with '..'."""

    code = "path_leaves_archive"
    title = "A path leaves the archive"
    hint = "Pack from the directory that holds the model, with relative paths."
    says = "its path leads out of the archive"


class PathAbsolute(RefusedEntry):
    """A path from the root or with a drive letter."""

    code = "path_absolute"
    title = "A path is absolute"
    hint = "Pack from the directory that holds the model, with relative paths."
    says = "its path is absolute"


class PathBackslash(RefusedEntry):
    """A backslash: a separator on one system, a letter on the other."""

    code = "path_backslash"
    title = "A path holds a backslash"
    hint = "Pack with '/' between directories."
    says = "its path holds a backslash"


class PathControlCharacters(RefusedEntry):
    """Control or invisible characters in a name."""

    code = "path_control_characters"
    title = "A name holds control characters"
    hint = "Rename the file."
    says = "its name holds control or invisible characters"


class PathTooLong(RefusedEntry):
    """A name or path longer than file systems take."""

    code = "path_too_long"
    title = "A name is too long"
    hint = "Names may have 255 bytes, paths 1,000 bytes and 32 levels."
    says = "its name is too long"


class PathNotUtf8(RefusedEntry):
    """A name that is no UTF-8."""

    code = "path_not_utf8"
    title = "A name is not UTF-8"
    hint = "Rename the file, or pack with UTF-8 names."
    says = "its name is not UTF-8"


class PathTwice(RefusedEntry):
    """The same path twice."""

    code = "path_twice"
    title = "A path is in the archive twice"
    hint = "Pack it again from scratch."
    says = "it is in the archive twice"


class PathsCollide(RefusedEntry):
    """Two paths that are one on file systems that ignore case or composition."""

    code = "paths_collide"
    title = "Two names differ in case only"
    hint = "Rename one of the two."


class FileAndDirectory(RefusedEntry):
    """A path that is a file in one entry and a directory in another."""

    code = "file_and_directory"
    title = "A path is a file and a directory at once"
    hint = "Pack it again from scratch."
    says = "it is a file and a directory at once"


class LinkInArchive(RefusedEntry):
    """A symbolic or hard link."""

    code = "link_in_archive"
    title = "The archive holds a link"
    hint = "Pack the files themselves: zip without -y, tar with --dereference --hard-dereference."
    says = "it is a link"


class DeviceInArchive(RefusedEntry):
    """A device, pipe or socket."""

    code = "device_in_archive"
    title = "The archive holds a device"
    hint = "Pack files and directories only."
    says = "it is neither a file nor a directory"


class TooManyEntries(Refused):
    """More files and directories than this installation takes."""

    code = "too_many_entries"
    title = "The archive has too many entries"
    hint = "The limit is CONCH_MAX_ENTRIES."


class UnpackedTooLarge(Refused):
    """More bytes come out of the archive than this installation takes."""

    code = "unpacked_too_large"
    title = "The archive unpacks to too much"
    hint = "The limit is CONCH_MAX_UNPACKED_BYTES."


class RatioTooHigh(Refused):
    """So much comes out of so small an archive that it looks made to fill a disk."""

    code = "ratio_too_high"
    title = "The archive unpacks to far more than it is"
    hint = (
        "If it is meant, pack the files without compressing them (zip -0, plain .tar), or send a model file as it is. "
        "The limit is CONCH_MAX_RATIO."
    )


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
