"""Archives that are damaged, hostile, or none."""

from apps.registry.refusals.base import Refused, RefusedEntry


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


class WindowTooLarge(Refused):
    """A .zst that was packed to be unpacked with more memory than a worker gives to one."""

    code = "window_too_large"
    title = "The archive takes too much memory to unpack"
    hint = "Pack it with one of zstd's usual levels, 1 to 19, without --ultra and without --long above 25."


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
    title = "Two names are one on some file systems"
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
    hint = "Leave out what no server reads, or pack many small files into one. The limit is CONCH_MAX_ENTRIES."


class UnpackedTooLarge(Refused):
    """More bytes come out of the archive than this installation takes."""

    code = "unpacked_too_large"
    title = "The archive unpacks to too much"
    hint = "Leave out what no server reads, or have CONCH_MAX_UNPACKED_BYTES raised: that is the limit."


class RatioTooHigh(Refused):
    """So much comes out of so small an archive that it looks made to fill a disk."""

    code = "ratio_too_high"
    title = "The archive unpacks to far more than it is"
    hint = (
        "If it is meant, pack the files without compressing them (zip -0, plain .tar), or send a model file as it is. "
        "The limit is CONCH_MAX_RATIO."
    )
