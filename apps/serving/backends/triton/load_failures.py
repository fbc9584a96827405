"""What a server's words about a load that failed mean, and what to do. Pure; the words themselves are kept whole.

Each cause names the report its words come from; "measured" is Triton 2.51.0, python backend.
"""

import re
from dataclasses import dataclass

from apps.serving.configuration import Explanation

# Words are searched in the beginning of a reason: the cause stands first, tracebacks follow.
SEARCHED_CHARS = 32_000
_BACKEND = re.compile(
    r"unable to find (?:backend library for backend '([\w.-]{1,128})'|'[^']*libtriton_([\w-]{1,128})\.so')"
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One kind of failed load: its code, what it is in words, how the server says it, and the way out."""

    code: str
    says: str
    words: re.Pattern[str]
    hint: str
    source: str


def _cause(code: str, says: str, words: str, hint: str, source: str) -> Cause:
    return Cause(code, says, re.compile(words, re.IGNORECASE), hint, source)


# The first that matches is the cause: the particular before the general.
CAUSES: tuple[Cause, ...] = (
    _cause(
        "backend_missing",
        "the server has no such backend",
        _BACKEND.pattern,
        "Use an image that has the backend, or correct backend in config.pbtxt.",
        "measured",
    ),
    _cause(
        "runtime_missing",
        "the library named as runtime is not there",
        r"unable to find backend library '",
        "Correct runtime in config.pbtxt, or leave it out.",
        "measured",
    ),
    _cause(
        "library_mismatch",
        "a library on the server does not fit another one",
        r"undefined symbol|version [`'](?:GLIBC|CXXABI)\w*",
        "The backend or a package was built for another release. Use those of the server's own image.",
        "server#5803, server#2439, server#7222",
    ),
    _cause(
        "library_missing",
        "a library is missing on the server",
        r"cannot open shared object file|unable to load shared library",
        "Install the library on the server, or use an image that has it.",
        "tensorrtllm_backend#545, server#6083",
    ),
    _cause(
        "shared_memory_full",
        "the server has no shared memory left",
        r"shared memory (?:key|pool|region).*(?:No space left|size)|--shm-size",
        "Start the container with a larger --shm-size: each python instance takes 1 MiB at least, 64 MiB in releases "
        "before 2.35. Or use fewer instances.",
        "model_analyzer#749, server#5681, server#3678",
    ),
    _cause(
        "gpu_out_of_memory",
        "the GPU has no memory left",
        r"CUDA (?:error: )?out of memory|OutOfMemoryError|CNMEM_STATUS_OUT_OF_MEMORY|cudaErrorMemoryAllocation"
        r"|error code 2: OutOfMemory|unable to allocate .* on GPU",
        "Unload another model or version there, use fewer instances, or a larger GPU. Memory that a backend has taken "
        "comes back with a restart only.",
        "server#4330, server#1765, server#5349",
    ),
    _cause(
        "out_of_memory",
        "the server has no memory left",
        r"MemoryError|std::bad_alloc|Cannot allocate memory",
        "Unload another model or version there, use fewer instances, or a larger machine.",
        "measured",
    ),
    _cause(
        "plan_for_another_gpu",
        "the TensorRT plan was built for another kind of GPU",
        r"generated on an incompatible device|expecting compute \d",
        "Build the plan on a GPU of the server's kind, or name one plan per compute capability in cc_model_filenames.",
        "TensorRT#2176, TensorRT#564, TensorRT#3130",
    ),
    _cause(
        "plan_for_another_tensorrt",
        "the TensorRT plan was built by another TensorRT",
        r"not compatible with this version of TensorRT|serializ\w*version|Version tag does not match"
        r"|Magic tag does not match",
        "Build the plan with the TensorRT of the server's release (its container of the same month).",
        "server#317, TensorRT#1384, InsightFace-REST#84",
    ),
    _cause(
        "plan_unreadable",
        "TensorRT could not read the plan",
        r"unable to create TensorRT engine|failed to create CUDA engine|Engine deserialization failed"
        r"|unable to load plan file",
        "Build the plan with the server's TensorRT, on a GPU of its kind; the server's log says which did not fit.",
        "server#317, TensorRT#2117",
    ),
    _cause(
        "gpu_missing",
        "the server has no such GPU",
        r"has kind KIND_GPU but|invalid or unsupported gpu id|no CUDA-capable device|Failed to initialize NVML",
        "Correct instance_group, or promote to a server that has the GPU. The label gpus lets preflight find this.",
        "measured",
    ),
    _cause(
        "gpu_unusable",
        "the GPU and the software on the server do not fit",
        r"CUDA driver version is insufficient|no kernel image is available|unable to create stream"
        r"|operation not supported",
        "Update the driver, or use an image made for this GPU.",
        "server#1899, server#7958, mlverse/torch#722",
    ),
    _cause(
        "onnx_unreadable",
        "ONNX Runtime could not read the model",
        r"Protobuf parsing failed|INVALID_PROTOBUF|Unsupported model IR version|opset \d+ is under development"
        r"|onnx runtime error",
        "Check that the file is whole and that its opset is not newer than the server's ONNX Runtime; weights beside "
        "the model must lie in the version's directory too.",
        "Morpheus#1197, onnxruntime_backend#272",
    ),
    _cause(
        "torch_unreadable",
        "PyTorch could not read the model",
        r"PytorchStreamReader|failed to load model .*torch|Unknown type name '__torch__|libtorch model",
        "Save it with torch.jit.save (a state_dict is not enough), by a PyTorch no newer than the server's.",
        "server#6213, server#1808",
    ),
    _cause(
        "interface_mismatch",
        "config.pbtxt and the model's file differ in inputs or outputs",
        r"configuration expects \d+ (?:in|out)puts|unexpected inference (?:in|out)put|unexpected datatype"
        r"|unexpected shape for (?:in|out)put|allowed (?:in|out)puts are",
        "Correct names, data_type and dims in config.pbtxt; the reason names the one.",
        "server#4824, server#2644, yolov4-triton-tensorrt#54",
    ),
    _cause(
        "member_missing",
        "a model that the ensemble calls is not there",
        r"contains models that are not available",
        "Promote the member there first.",
        "measured",
    ),
    _cause(
        "python_class_missing",
        "the python source has no TritonPythonModel",
        r"has no attribute 'TritonPythonModel'",
        "Name the class TritonPythonModel.",
        "measured",
    ),
    _cause(
        "python_module_missing",
        "a python package is missing on the server",
        r"ModuleNotFoundError|No module named '|ImportError: cannot import",
        "Install the package on the server, or bring an environment with EXECUTION_ENV_PATH.",
        "measured",
    ),
    _cause(
        "python_environment",
        "the python environment that the model brings does not start",
        r"Failed to get the canonical path|failed to extract|EXECUTION_ENV_PATH|Path .* does not exist",
        "Put the packed environment beside config.pbtxt, made for the server's stub.",
        "measured",
    ),
    _cause(
        "python_stub_died",
        "the model's python process ended",
        r"stub process.*(?:unhealthy|not healthy|exited unexpectedly)|Failed to initialize.* stub",
        "A crash in a native library, or the kernel's out-of-memory killer: the server's log and dmesg say which.",
        "server#3094, server#5144, server#6901",
    ),
    _cause(
        "python_syntax",
        "the python source cannot be read by the server's Python",
        r"SyntaxError|IndentationError",
        "Mend the line that is named, or use the syntax of the server's Python.",
        "measured",
    ),
    _cause(
        "file_missing",
        "a file is missing in the model's directory",
        r"failed to open text file|failed to stat file|unable to find '|No such file or directory|file not found",
        "Put the file where the reason says, upload the version anew.",
        "measured",
    ),
    _cause(
        "warmup_failed",
        "the warm-up inside the load failed",
        r"warm-?up",
        "The inputs that ran aside did not run here: look at the reason.",
        "server#4330",
    ),
    _cause(
        "python_exception",
        "the model raised an exception while it started",
        r"\b\w+(?:Error|Exception): |\bAt:\s",
        "The reason names the exception and the line of the model's source.",
        "measured",
    ),
    _cause(
        "timed_out",
        "something the load waited for did not answer in time",
        r"timed? ?out|Deadline Exceeded",
        "Look at what the model reaches for while it starts: a download, a license server, another model.",
        "measured",
    ),
    _cause(
        "failed_to_poll",
        "the server could not read the directory or the configuration",
        r"failed to poll from model repository",
        "Conch found no fault either: the server's own log has the reason.",
        "server#5964",
    ),
)


def cause_of(reason: str) -> Cause | None:
    """The kind of failure in a server's words; None where they fit no kind."""
    beginning = reason[:SEARCHED_CHARS]
    return next((cause for cause in CAUSES if cause.words.search(beginning)), None)


def explain(reason: str) -> Explanation | None:
    """The kind of failure as other rooms know it."""
    cause = cause_of(reason)
    return Explanation(cause.code, cause.says, cause.hint) if cause else None


def missing_backend(reason: str) -> str:
    """The backend that a server said it does not have; empty when the reason is another."""
    found = _BACKEND.search(reason[:SEARCHED_CHARS])
    return (found[1] or found[2]) if found else ""
