"""What a server's words about a failed load mean: real texts, each with where it was seen."""

import pytest

from apps.serving.backends.triton.load_failures import CAUSES, cause_of, missing_backend

UNAVAILABLE = "load failed for model 'm': version 1 is at UNAVAILABLE state: "
PREFIX = UNAVAILABLE + "Internal: "
SHM = "If you are running Triton inside docker, use '--shm-size' flag to control the shared memory region size."

TEXTS: list[tuple[str, str, str]] = [
    ("measured", "backend_missing", UNAVAILABLE + "Invalid argument: unable to find backend library for backend 'x'"),
    (
        "measured",
        "runtime_missing",
        UNAVAILABLE + "Invalid argument: unable to find backend library 'nope.so' for model 'c8', searched: '/tmp/1'",
    ),
    (
        "server#5803",
        "library_mismatch",
        UNAVAILABLE + "Not found: unable to load shared library: /opt/tritonserver/backends/pytorch/"
        "libtriton_pytorch.so: undefined symbol: _ZN5torch3jit4loadERSiN3c108optionalINS2_6DeviceEEEb;",
    ),
    (
        "tensorrtllm_backend#545",
        "library_missing",
        UNAVAILABLE + "Not found: unable to load shared library: libnvinfer_plugin_tensorrt_llm.so.9: "
        "cannot open shared object file: No such file or directory",
    ),
    (
        "model_analyzer#749",
        "shared_memory_full",
        PREFIX + "Unable to initialize shared memory key 'triton_python_backend_shm_region_3' to requested size "
        f"(67108864 bytes). {SHM} Error: No space left on device;",
    ),
    (
        "server#5681",
        "shared_memory_full",
        "Failed to increase the shared memory pool size for key 'triton_python_backend_shm_region_2' to 67108864 "
        f"bytes. {SHM} Error: No space left on device",
    ),
    (
        "stable-diffusion-webui#15020",
        "gpu_out_of_memory",
        PREFIX + "OutOfMemoryError: CUDA out of memory. Tried to allocate 114.00 MiB (GPU 0; 2.00 GiB total capacity)",
    ),
    ("server#1765", "gpu_out_of_memory", "Failed to allocate CUDA memory on GPU 0: CNMEM_STATUS_OUT_OF_MEMORY"),
    ("measured", "out_of_memory", PREFIX + "MemoryError: no memory\n\nAt:\n  /tmp/folder/1/model.py(2): <module>\n;"),
    (
        "TensorRT#2176",
        "plan_for_another_gpu",
        "The engine plan file is generated on an incompatible device, expecting compute 8.6 got compute 7.5, "
        "please rebuild.",
    ),
    (
        "server#317",
        "plan_for_another_tensorrt",
        "The engine plan file is not compatible with this version of TensorRT, expecting library version 5.1.2 got "
        "5.1.5, please rebuild.",
    ),
    ("TensorRT#1384", "plan_for_another_tensorrt", "Serialization Error in verifyHeader: 0 (Magic tag does not match)"),
    ("server#317", "plan_unreadable", PREFIX + "unable to create TensorRT engine"),
    ("measured", "gpu_missing", "instance group b5_0 of model b5 has kind KIND_GPU but no GPUs are available;"),
    (
        "measured",
        "gpu_missing",
        "instance group b6_0 of model b6 specifies invalid or unsupported gpu id 0. GPUs with at least the minimum "
        "required CUDA compute compatibility of 6.000000 are: ;",
    ),
    ("server#7958", "gpu_unusable", PREFIX + "unable to create stream: operation not supported"),
    ("server#1899", "gpu_unusable", "CUDA driver version is insufficient for CUDA runtime version"),
    (
        "Morpheus#1197",
        "onnx_unreadable",
        PREFIX + "onnx runtime error 7: Load model from /models/m/1/model.onnx failed:Protobuf parsing failed.",
    ),
    (
        "server#6213",
        "torch_unreadable",
        PREFIX + "failed to load model 'vit_torch': PytorchStreamReader failed locating file constants.pkl: file not "
        "found\nException raised from valid at /opt/pytorch/pytorch/caffe2/serialize/inline_container.cc:196",
    ),
    (
        "server#1808",
        "torch_unreadable",
        "Internal: load failed for libtorch model -> 'hrnet_libtorch': \nUnknown type name '__torch__.torch.nn'",
    ),
    (
        "server#4824",
        "interface_mismatch",
        "Invalid argument: unable to load model 'm', configuration expects 0 inputs, model provides 2;",
    ),
    ("server#2644", "interface_mismatch", "unexpected datatype INT64 for input 'users', expecting TYPE_FP32"),
    (
        "yolov4-triton-tensorrt#54",
        "interface_mismatch",
        UNAVAILABLE + "Invalid argument: unexpected inference input 'data', allowed inputs are: input",
    ),
    ("measured", "member_missing", "ensemble c9 contains models that are not available or ambiguous: zz\n"),
    ("measured", "python_class_missing", "AttributeError: module '1.model' has no attribute 'TritonPythonModel';"),
    ("measured", "python_module_missing", PREFIX + "ModuleNotFoundError: No module named 'nothere'\n\nAt:\n"),
    ("measured", "python_environment", PREFIX + "Failed to get the canonical path for /tmp/folder/env.tar.gz.;"),
    ("server#3094", "python_stub_died", PREFIX + "Failed to initialize stub, stub process exited unexpectedly"),
    ("server#3678", "python_stub_died", "Stub process is unhealthy and it will be restarted."),
    ("measured", "python_syntax", PREFIX + "SyntaxError: invalid syntax (model.py, line 1);"),
    ("measured", "file_missing", PREFIX + "failed to open text file for read /tmp/l.txt: No such file or directory;"),
    ("server#4330", "warmup_failed", "failed to run warmup sample 'w' for model 'm'"),
    ("measured", "python_exception", PREFIX + "RuntimeError: boom <b>x</b>\n\nAt:\n  /tmp/1/model.py(1): <module>\n;"),
    ("measured", "timed_out", "Deadline Exceeded"),
    ("server#5964", "failed_to_poll", "failed to load 'c1', failed to poll from model repository"),
]


@pytest.mark.parametrize(("source", "code", "text"), TEXTS)
def test_a_real_text_has_its_cause(source: str, code: str, text: str) -> None:
    cause = cause_of(text)

    assert cause is not None, source
    assert cause.code == code, source


def test_every_cause_has_a_text_a_code_of_its_own_a_source_and_a_way_out() -> None:
    codes = [cause.code for cause in CAUSES]

    assert {code for _, code, _ in TEXTS} == set(codes)
    assert len(set(codes)) == len(codes)
    assert all(cause.source and cause.hint.endswith(".") and cause.says for cause in CAUSES)


@pytest.mark.parametrize("text", ["", "something nobody has seen", "x" * 5_000_000])
def test_words_of_no_known_kind_have_no_cause(text: str) -> None:
    assert cause_of(text) is None


def test_a_cause_is_found_whatever_stands_around_it() -> None:
    text = "\x1b[31m<script>" + TEXTS[0][2] + "\x00" + "y" * 3_000_000

    assert getattr(cause_of(text), "code", "") == "backend_missing"


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("unable to find backend library for backend 'onnxruntime', try specifying runtime", "onnxruntime"),
        ("unable to find '/opt/backends/fil/libtriton_fil.so' for model 'm'", "fil"),
        ("unable to find backend library 'nope.so' for model 'm'", ""),
        ("unable to find backend library for backend '<script>'", ""),
        ("no gpu", ""),
    ],
)
def test_the_backend_a_server_lacks_is_read_from_its_words(text: str, backend: str) -> None:
    assert missing_backend(text) == backend
