"""Rules of what lies in the model's directory: the file the backend loads, python sources, environments."""

from collections.abc import Iterator

from apps.serving.backends.triton.filenames import MAKES, PLATFORMS, backend_of, required_file
from apps.serving.backends.triton.preflight.ensembles import ENSEMBLE, is_ensemble
from apps.serving.backends.triton.preflight.tensors import shown
from apps.serving.preflight import Fault, PythonSource, Rule, Severity, Subject

CLASS = "TritonPythonModel"
IN_MODEL = "$$TRITON_MODEL_DIRECTORY/"
ENVIRONMENT = "parameters.EXECUTION_ENV_PATH.string_value"
STUB = "triton_python_backend_stub"


def _backend(subject: Subject) -> Iterator[Fault]:
    backend, platform = subject.get("backend", ""), subject.get("platform", "")
    if is_ensemble(subject) or backend:
        owner = PLATFORMS.get(platform)
        if owner and backend in PLATFORMS.values() and owner != backend:
            yield Fault(f"platform {shown(platform)} belongs to {owner}, and backend is {backend}", "backend")
        return
    if platform and platform not in MAKES:
        yield Fault(f"there is no platform {shown(platform)}; there are {', '.join(sorted(MAKES))}", "platform")
    elif not platform and subject.files is not None and not backend_of(subject.document, subject.files):
        yield Fault("neither backend nor platform is set, and no file tells which it is", "backend")


def _default_file(subject: Subject) -> Iterator[Fault]:
    wanted = required_file(subject.document)
    files = subject.files or {}
    if wanted and not any(path == f"version/{wanted}" or path.startswith(f"version/{wanted}/") for path in files):
        yield Fault(f"the version's directory holds no {shown(wanted)}", "default_model_filename")


def _capability_files(subject: Subject) -> Iterator[Fault]:
    for capability, name in subject.get("cc_model_filenames", {}).items():
        if f"version/{name}" not in (subject.files or {}):
            yield Fault(f"compute capability {shown(capability)}: there is no {shown(name)}", "cc_model_filenames")


def _source(subject: Subject) -> PythonSource:
    return subject.source or PythonSource()


def _unreadable(subject: Subject) -> Iterator[Fault]:
    if _source(subject).problem:
        yield Fault(f"{required_file(subject.document)}: {_source(subject).problem}", "default_model_filename")


def _no_class(subject: Subject) -> Iterator[Fault]:
    if _source(subject).has_class is False:
        yield Fault(f"{required_file(subject.document)} has no class {CLASS}", "default_model_filename")


def _no_execute(subject: Subject) -> Iterator[Fault]:
    methods = _source(subject).methods
    if methods is not None and "execute" not in methods:
        yield Fault(f"the class {CLASS} has no method execute", "default_model_filename")


def _environment(subject: Subject) -> Iterator[Fault]:
    path = str(subject.get(ENVIRONMENT, ""))
    if path.startswith(IN_MODEL):
        inside = path.removeprefix(IN_MODEL)
        files = subject.files or {}
        if not any(found == f"shared/{inside}" or found.startswith(f"shared/{inside}/") for found in files):
            yield Fault(f"EXECUTION_ENV_PATH names {shown(inside)}, which is not beside config.pbtxt", "parameters")


def _environment_elsewhere(subject: Subject) -> Iterator[Fault]:
    path = str(subject.get(ENVIRONMENT, ""))
    if path and not path.startswith(IN_MODEL):
        yield Fault(f"EXECUTION_ENV_PATH is {shown(path)}, a path on the server that Conch cannot see", "parameters")


def _stub(subject: Subject) -> Iterator[Fault]:
    if subject.get("backend") == "python" and f"shared/{STUB}" in (subject.files or {}):
        yield Fault(f"the model brings its own {STUB}: it must fit the server's release and its Python", "backend")


def _shared(subject: Subject) -> Iterator[Fault]:
    for file in subject.shared or ():
        yield Fault(f"{shown(file.path)} beside config.pbtxt has other content in version {file.version}, placed there")


def _runtime(subject: Subject) -> Iterator[Fault]:
    platform = subject.get("platform", "")
    if subject.get("runtime") and platform == ENSEMBLE:
        yield Fault("an ensemble has no runtime", "runtime")


FILES = ("files",)
SOURCE = ("source",)
RULES = (
    Rule(
        "backend",
        Severity.ERROR,
        "It is clear which backend serves the model.",
        'The server says only "failed to poll" or "unexpected platform type".',
        'Write backend: "python", "onnxruntime", "tensorrt" or another; platform is the older word for it.',
        _backend,
    ),
    Rule(
        "default-file",
        Severity.ERROR,
        "The file the backend loads is there.",
        "Without it most backends fail the load, and a python model hangs it for ever: only a restart helps.",
        "Put the file into the version's directory, or name another one as default_model_filename.",
        _default_file,
        needs=FILES,
    ),
    Rule(
        "capability-files",
        Severity.ERROR,
        "Every file named for a compute capability is there.",
        "The server looks for it on GPUs of that kind and fails the load.",
        "Put the files into the version's directory.",
        _capability_files,
        needs=FILES,
    ),
    Rule(
        "python-syntax",
        Severity.WARNING,
        "The python source can be read.",
        "A server whose Python cannot read it fails the load. Conch reads it as Python 3.11; a server may know more.",
        "Mend the line, or confirm when it is syntax of a newer Python.",
        _unreadable,
        needs=SOURCE,
    ),
    Rule(
        "python-class",
        Severity.ERROR,
        "The python source has the class that the backend looks for.",
        "The load fails without it.",
        f"Name the class {CLASS}.",
        _no_class,
        needs=SOURCE,
    ),
    Rule(
        "python-execute",
        Severity.ERROR,
        "The python model can execute.",
        "Without the method it loads, and every request fails.",
        "Write def execute(self, requests).",
        _no_execute,
        needs=SOURCE,
    ),
    Rule(
        "python-environment",
        Severity.ERROR,
        "The environment that a python model brings is there.",
        "The stub does not start without it, and the load fails.",
        "Put the packed environment beside config.pbtxt.",
        _environment,
        needs=FILES,
    ),
    Rule(
        "python-environment-elsewhere",
        Severity.NOTE,
        "An environment outside the model is the server's business.",
        "It can change without a version changing.",
        "Pack it with the model and name it as $$TRITON_MODEL_DIRECTORY/env.tar.gz.",
        _environment_elsewhere,
    ),
    Rule(
        "python-stub",
        Severity.NOTE,
        "A stub of one's own fits one release only.",
        "A stub of another release speaks another protocol with the server and fails the load.",
        "Build it for the release the servers run.",
        _stub,
    ),
    Rule(
        "shared-file",
        Severity.ERROR,
        "A file beside config.pbtxt is the same in every version.",
        "All versions of a model read it: another content would change the one that serves, and is not published.",
        "Put the file into the version directory.",
        _shared,
        needs=("shared",),
    ),
    Rule(
        "ensemble-runtime",
        Severity.ERROR,
        "An ensemble needs no runtime.",
        "The server loads no library for it.",
        "Drop runtime.",
        _runtime,
    ),
)
