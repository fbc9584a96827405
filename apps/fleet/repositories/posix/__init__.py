"""A directory that Conch's workers write and servers read.

Nothing is written in place: files are staged beside the root, on the same file system, because a
server lists every directory of the root as a model, hidden ones too. Then they are renamed in.
"""

from apps.fleet.repositories.posix.configs import read_config, remove_model_config, write_config
from apps.fleet.repositories.posix.directory import Directory
from apps.fleet.repositories.posix.removal import remove_versions
from apps.fleet.repositories.posix.root import check_root, free_bytes, listing, marker, sweep
from apps.fleet.repositories.posix.shadows import make_shadow, remove_shadow
from apps.fleet.repositories.posix.stamps import newest_stamp_ns, strange_entries
from apps.fleet.repositories.posix.versions import Published, has_version, publish_version

__all__ = [
    "Directory",
    "Published",
    "check_root",
    "free_bytes",
    "has_version",
    "listing",
    "make_shadow",
    "marker",
    "newest_stamp_ns",
    "publish_version",
    "read_config",
    "remove_model_config",
    "remove_shadow",
    "remove_versions",
    "strange_entries",
    "sweep",
    "write_config",
]
