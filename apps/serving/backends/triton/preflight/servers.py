"""Rules of one server: its release, the backends it offers, its disk and memory."""

from collections.abc import Iterator

from google.protobuf.message import Message

from apps.common.text import KIB, as_size
from apps.serving.backends.triton import releases
from apps.serving.backends.triton.document import to_message
from apps.serving.backends.triton.filenames import backend_of
from apps.serving.backends.triton.preflight.ensembles import is_ensemble
from apps.serving.backends.triton.preflight.tensors import shown
from apps.serving.preflight import Fault, Rule, Severity, Subject

# In the image that is called -py3, which most servers run: presumed there until a load says otherwise.
USUAL = frozenset({"python", "onnxruntime", "tensorrt", "pytorch", "openvino", "dali", "fil"})
# Left over on the disk after publishing.
RESERVE_BYTES = 16 << 20


def _newer(subject: Subject) -> Iterator[Fault]:
    release = releases.release_of(subject.at.version)
    if release is None:
        return
    for found in releases.newer_than(_message(subject), release):
        runs = f"{subject.at.name} runs {subject.at.version}"
        yield Fault(f"{found.path}: {found.name} came with {found.release}, {runs}", found.path)


def _message(subject: Subject) -> Message:
    message: Message = to_message(subject.document)
    return message


def _release_unknown(subject: Subject) -> Iterator[Fault]:
    server = subject.at
    new = releases.newer_than(_message(subject), (0, 0))
    if new and releases.release_of(server.version) is None:
        names = ", ".join(sorted({one.name for one in new}))
        yield Fault(f"{server.name} did not tell its release, and {names} needs a newer one", new[0].path)


def _backend(subject: Subject) -> str:
    return "" if is_ensemble(subject) else backend_of(subject.document, subject.files or {})


def _missing(subject: Subject) -> Iterator[Fault]:
    backend, server = _backend(subject), subject.at
    if not backend or backend in server.seen:
        return
    if server.backends is not None and backend not in server.backends:
        offered = ", ".join(sorted(server.backends))
        yield Fault(f"{server.name} offers {offered or 'no backend'}, not {shown(backend)}", "backend")
    elif server.backends is None and backend in server.missing:
        yield Fault(f"{server.name} said that it has no backend {shown(backend)}", "backend")


def _is_unknown(subject: Subject, backend: str) -> bool:
    server = subject.at
    is_told = server.backends is not None or backend in server.seen or backend in server.missing
    return bool(backend) and not is_told


def _unknown(subject: Subject) -> Iterator[Fault]:
    backend = _backend(subject)
    if _is_unknown(subject, backend) and backend not in USUAL:
        yield Fault(f"nobody knows whether {subject.at.name} has the backend {shown(backend)}", "backend")


def _presumed(subject: Subject) -> Iterator[Fault]:
    backend = _backend(subject)
    if _is_unknown(subject, backend) and backend in USUAL:
        yield Fault(
            f"{subject.at.name} has not served with the backend {shown(backend)} yet; the usual image has it, "
            "and the shadow will tell",
            "backend",
        )


def _bytes(subject: Subject) -> int:
    return sum((subject.files or {}).values())


def _disk(subject: Subject) -> Iterator[Fault]:
    free, needed = subject.at.free_disk_bytes, _bytes(subject)
    if subject.at.publishes and free is not None and needed + RESERVE_BYTES > free:
        yield Fault(
            f"{_sized(needed)} are to be published and {as_size(RESERVE_BYTES)} stay in reserve; "
            f"{_sized(free)} are free in {subject.at.name}'s repository"
        )


def _disk_unknown(subject: Subject) -> Iterator[Fault]:
    if subject.at.publishes and subject.at.free_disk_bytes is None:
        yield Fault(
            f"{_sized(_bytes(subject))} are to be published; "
            f"how much room {subject.at.name}'s repository has is not known"
        )


def _memory(subject: Subject) -> Iterator[Fault]:
    has, needed = subject.at.memory_bytes, _bytes(subject)
    if has is not None and needed > has:
        yield Fault(f"the files have {_sized(needed)} and {subject.at.name} has {_sized(has)} of memory")


def _sized(size_bytes: int) -> str:
    """In the unit that fits, and to the byte: `3.4 MiB (3,565,158 bytes)`."""
    exact = f"{size_bytes:,} bytes"
    return exact if size_bytes < KIB else f"{as_size(size_bytes)} ({exact})"


SERVER, BOTH = ("server",), ("server", "files")
RULES = (
    Rule(
        "newer-field",
        Severity.ERROR,
        "The server knows every field of the configuration.",
        'An older server refuses the whole file for one field, and says only "failed to poll".',
        "Leave the field out, or upgrade the server.",
        _newer,
        needs=SERVER,
    ),
    Rule(
        "release-unknown",
        Severity.WARNING,
        "The server's release is known where it matters.",
        "The configuration has fields that not every release knows.",
        "Observe the server again; it tells its release with every answer.",
        _release_unknown,
        needs=SERVER,
    ),
    Rule(
        "backend-missing",
        Severity.ERROR,
        "The server has the backend.",
        "The load fails on the missing library.",
        "Use an image that has it, or say what the server has in its label backends (separated by spaces).",
        _missing,
        needs=SERVER,
    ),
    Rule(
        "backend-unknown",
        Severity.WARNING,
        "It is known that the server has the backend.",
        "A Triton lists its backends nowhere but in its log. This one is not in the usual image.",
        "Give the server the label backends, or confirm: the shadow will tell before any client notices.",
        _unknown,
        needs=SERVER,
    ),
    Rule(
        "backend-presumed",
        Severity.NOTE,
        "A backend of the usual image is presumed.",
        "No version with this backend has been ready on the server yet.",
        "Nothing needs to be done; the label backends says it for certain.",
        _presumed,
        needs=SERVER,
    ),
    Rule(
        "disk",
        Severity.ERROR,
        "The repository has room for the version.",
        "Publishing would fill the disk that other models' servers read from.",
        "Free some space: archive versions, then remove their bytes.",
        _disk,
        needs=BOTH,
    ),
    Rule(
        "disk-unknown",
        Severity.NOTE,
        "It is known how much room the repository has.",
        "A bucket does not tell, and a directory was not read within ten minutes: whether the version fits is open.",
        "Nothing needs to be done: what tells its room is read again before anything is published.",
        _disk_unknown,
        needs=BOTH,
    ),
    Rule(
        "memory",
        Severity.ERROR,
        "The server has memory for the version.",
        "A model needs at least its files' size in memory; the one it replaces stays beside it until then.",
        "Promote to a larger server. The label memory_gib says how much this one has; the plan tells what both need.",
        _memory,
        needs=BOTH,
    ),
)
