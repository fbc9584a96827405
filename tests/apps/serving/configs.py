# ruff: noqa: E501 - a table: one configuration a line
"""Configurations over every feature of Triton's protobuf, each with what the rules find in it.

`live` is what a real Triton 2.51 with the python backend alone makes of it: whether the load is taken, None
where it is not asked (another backend, files that matter, or a load that would end the server).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.serving.backends.triton.config import CONFIG
from apps.serving.preflight import LiveMember, ServerFacts, SharedElsewhere

PYTHON = 'backend: "python"\n'
INPUT = 'input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]\n'
OUTPUT = 'output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]\n'
CPU = "instance_group [ { kind: KIND_CPU count: 1 } ]\n"
BASE = PYTHON + INPUT + OUTPUT + CPU
BATCHED = BASE + "max_batch_size: 8\n"
ONNX = 'backend: "onnxruntime"\n' + INPUT + OUTPUT
PLAN = 'backend: "tensorrt"\n' + INPUT + OUTPUT
CONTROL = 'control_input [ { name: "START" control [ { kind: CONTROL_SEQUENCE_START %s } ] } ]'
CORRID = 'control_input [ { name: "ID" control [ { kind: CONTROL_SEQUENCE_CORRID %s } ] } ]'
WARMUP = 'model_warmup [ { name: "w" batch_size: 1 inputs { key: "x" value { %s } } } ]\n'
ZEROS = "data_type: TYPE_FP32 dims: [ 4 ] zero_data: true"
STEP = 'step [ { model_name: "%s" model_version: -1 input_map { key: "x" value: "%s" } output_map { key: "y" value: "%s" } } ]\n'


def ensemble(*steps: str, more: str = "", inputs: str = INPUT, outputs: str = OUTPUT) -> str:
    """An ensemble of these steps."""
    return f'platform: "ensemble"\n{inputs}{outputs}{more}ensemble_scheduling {{ {"".join(steps)} }}\n'


def step(model: str, one: str, other: str) -> str:
    """A step that makes tensor `other` of tensor `one`."""
    return STEP % (model, one, other)


@dataclass(frozen=True)
class Config:
    """A configuration, the ids of the rules it breaks, and what it is held against."""

    name: str
    text: str
    breaks: tuple[str, ...] = ()
    files: Mapping[str, int] = field(default_factory=lambda: {"version/model.py": 10})
    members: Mapping[str, LiveMember] | None = None
    shared: tuple[SharedElsewhere, ...] | None = None
    server: ServerFacts | None = None
    live: bool | None = None

    def __str__(self) -> str:
        return self.name


def member(*, dims: str = "[ 4 ]", datatype: str = "TYPE_FP32", batch: int = 0, inputs: str = "") -> LiveMember:
    """A model with input x and output y, live in version 3."""
    text = (
        f'max_batch_size: {batch} input [ {{ name: "x" data_type: {datatype} dims: {dims} }} ] {inputs}'
        f'output [ {{ name: "y" data_type: TYPE_FP32 dims: [ 4 ] }} ]'
    )
    return LiveMember(CONFIG.parse(text).document, frozenset({3}))


def calling(*names: str) -> LiveMember:
    """An ensemble that calls these, live in version 3."""
    return LiveMember({"ensemble_scheduling": {"step": [{"model_name": name} for name in names]}}, frozenset({3}))


T1 = ServerFacts("t1", version="2.51.0")
FILES = {"version/model.py": 10}
ONNX_FILES = {"version/model.onnx": 10}
PLAN_FILES = {"version/model.plan": 10}

CLEAN: tuple[Config, ...] = (
    Config("the least", BASE, live=True),
    Config("batched", BATCHED + "dynamic_batching { preferred_batch_size: [ 4, 8 ] }"),
    Config("queues", BATCHED + """dynamic_batching { max_queue_delay_microseconds: 100 priority_levels: 2
        default_priority_level: 2 priority_queue_policy { key: 1 value { timeout_action: DELAY
        default_timeout_microseconds: 5 allow_timeout_override: true max_queue_size: 9 } } }""", live=True),
    Config("in order", BATCHED + "dynamic_batching { preserve_ordering: true default_queue_policy { max_queue_size: 1 } }"),
    Config("every datatype", PYTHON + CPU + OUTPUT + "".join(
        f'input {{ name: "{one}" data_type: TYPE_{one} dims: [ -1 ] }} '
        for one in ("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "BF16",
                    "FP32", "FP64", "STRING"))),
    Config("reshape", BATCHED.replace("dims: [ 4 ] } ]\noutput", "dims: [ 4 ] reshape { shape: [ 2, 2 ] } } ]\noutput")),
    Config("scalar", BATCHED.replace("dims: [ 4 ] } ]\noutput", "dims: [ 1 ] reshape { shape: [ ] } } ]\noutput")),
    Config("variable reshape", BASE.replace("dims: [ 4 ] } ]\noutput", "dims: [ 2, 4, -1, 6 ] reshape { shape: [ 8, -1, 1, 6 ] } } ]\noutput")),
    Config("image", BASE.replace("dims: [ 4 ] } ]\noutput", "format: FORMAT_NCHW dims: [ 3, -1, -1 ] } ]\noutput")),
    Config("optional", BATCHED + 'input { name: "o" data_type: TYPE_STRING dims: [ 1 ] optional: true }'),
    Config("ragged", BATCHED + """input { name: "r" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
        batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: "n" data_type: TYPE_FP32 source_input: "r" }
        batch_output { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "y" source_input: "r" }"""),
    Config("labels", BASE.replace('dims: [ 4 ] } ]\ninst', 'dims: [ 4 ] label_filename: "l.txt" } ]\ninst'), files={**FILES, "shared/l.txt": 3}),
    Config("environment", BASE + """parameters { key: "EXECUTION_ENV_PATH"
        value { string_value: "$$TRITON_MODEL_DIRECTORY/env.tar.gz" } }""", files={**FILES, "shared/env.tar.gz": 3}),
    Config("parameters", BASE + 'parameters { key: "a" value { string_value: "1" } } metric_tags { key: "t" value: "v" }'),
    Config("optimisation", ONNX + """optimization { graph { level: -1 } priority: PRIORITY_MAX
        cuda { graphs: true busy_wait_events: true output_copy_stream: true
          graph_spec { batch_size: 1 input { key: "x" value { dim: [ 4 ] } }
            graph_lower_bound { batch_size: 1 input { key: "x" value { dim: [ 1 ] } } } } }
        execution_accelerators { gpu_execution_accelerator { name: "tensorrt" parameters { key: "p" value: "v" } }
          cpu_execution_accelerator { name: "openvino" } }
        input_pinned_memory { enable: true } output_pinned_memory { enable: false }
        gather_kernel_buffer_threshold: 3 eager_batching: true }""", files=ONNX_FILES),
    Config("cached", BASE + "response_cache { enable: true }"),
    Config("rate limiter", BASE.replace("count: 1", 'count: 1 rate_limiter { resources { name: "R" count: 2 global: true } priority: 1 }')),
    Config("host policy", BASE.replace("count: 1", 'count: 1 host_policy: "p0" passive: false name: "g"')),
    Config("metrics", BASE + 'model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: [ 1, 2 ] } } }', live=False),
    Config("operations", 'platform: "tensorflow_savedmodel"\n' + INPUT + OUTPUT + 'model_operations { op_library_filename: "ops.so" }', files={"version/model.savedmodel/saved_model.pb": 1}),
    Config("onnx by platform", 'platform: "onnxruntime_onnx"\n' + INPUT + OUTPUT, files=ONNX_FILES),
    Config("backend by its file", INPUT + OUTPUT, files=ONNX_FILES),
    Config("plans per capability", PLAN + 'cc_model_filenames { key: "8.6" value: "a.plan" }', files={"version/a.plan": 1}),
    Config("plan", PLAN + 'instance_group { kind: KIND_GPU gpus: [ 0 ] profile: "1" } input { name: "s" data_type: TYPE_INT32 dims: [ 1 ] is_shape_tensor: true }', files=PLAN_FILES),
    Config("another file's name", BASE + 'default_model_filename: "serve.py"', files={"version/serve.py": 1}),
    Config("pipeline", ensemble(step("a", "x", "t"), step("b", "t", "y"))),
    Config("calls an ensemble that calls another", ensemble(step("a", "x", "y")), members={"a": calling("b", "b"), "b": member()}),
    Config("pipeline with members", ensemble(step("a", "x", "t"), step("b", "t", "y")), members={"a": member(), "b": member(dims="[ -1 ]")}),
    Config("fan out", ensemble(step("a", "x", "t"), step("b", "x", "u"), """step { model_name: "c" model_version: 1
        input_map { key: "p" value: "t" } input_map { key: "q" value: "u" } output_map { key: "y" value: "y" } }""")),
    Config("gpu there", PLAN, files=PLAN_FILES, server=ServerFacts("t1", gpus=2, seen=frozenset({"tensorrt"}))),
    Config("old fields on an old server", BASE, server=ServerFacts("t1", version="2.11.0", seen=frozenset({"python"}))),
)  # fmt: skip
NOTED: tuple[Config, ...] = (
    Config("no tensors", PYTHON + CPU, ("tensors-missing", "tensors-missing")),
    Config("decoupled", BASE + "model_transaction_policy { decoupled: true }", ("decoupled",)),
    Config("sequence, direct", BATCHED + "sequence_batching { max_sequence_idle_microseconds: 5 direct { minimum_slot_utilization: 0.5 } " + CONTROL % "int32_false_true: [ 0, 1 ]" + " }", ("sequence",), live=True),
    Config("sequence, oldest", BATCHED + "sequence_batching { oldest { max_candidate_sequences: 4 preferred_batch_size: [ 4 ] } " + CORRID % "data_type: TYPE_UINT64" + " }", ("sequence",)),
    Config("sequence, implicit state", BATCHED + """sequence_batching { state { input_name: "i" output_name: "o"
        data_type: TYPE_INT32 dims: [ 1 ] initial_state { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true name: "z" } } }""", ("sequence",)),
    Config("sequence, iterative", BATCHED + "sequence_batching { iterative_sequence: true }", ("sequence",)),
    Config("version policy", BASE + "version_policy { latest { num_versions: 2 } }", ("version-policy-unused",)),
    Config("agents", BASE + 'model_repository_agents { agents { name: "checksum" } }', ("repository-agents",)),
    Config("warm-up", BASE + WARMUP % ZEROS, ("warmup-unused",)),
    Config("warm-up that denies its zeros", BASE + WARMUP % "data_type: TYPE_FP32 dims: [ 4 ] zero_data: false", ("warmup-unused",)),
    Config("environment elsewhere", BASE + 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "/opt/env.tar.gz" } }', ("python-environment-elsewhere",)),
    Config("own stub", BASE, ("python-stub",), files={**FILES, "shared/triton_python_backend_stub": 9}),
    Config("usual backend, not seen yet", BASE, ("backend-presumed",), server=T1),
    Config("room on the disk not known", BASE, ("disk-unknown",), server=ServerFacts("t1", seen=frozenset({"python"}), publishes=True)),
)  # fmt: skip
WARNED: tuple[Config, ...] = (
    Config("batcher without a batch", BASE + "dynamic_batching { }", ("batching-without-batch",), live=True),
    Config("ragged without a batch", BASE + 'input { name: "r" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }', ("ragged-without-batch",)),
    Config("a blank in a name", BASE + 'input { name: " z" data_type: TYPE_FP32 dims: [ 1 ] }', ("tensor-names",)),
    Config("half a state", BATCHED + 'sequence_batching { state { input_name: "i" } }', ("sequence-state", "sequence"), live=True),
    Config("warm-up of nothing", BASE + 'model_warmup [ { name: "w" batch_size: 1 } ]', ("warmup-empty", "warmup-unused")),
    Config("warm-up without a batch", BASE + (WARMUP % ZEROS).replace("batch_size: 1", ""), ("warmup-empty", "warmup-unused"), live=True),
    Config("a large input", BASE + 'input { name: "v" data_type: TYPE_FP32 dims: [ 100000, 1000 ] }', ("input-size",)),
    Config("an overflowing input", BASE + 'input { name: "v" data_type: TYPE_FP32 dims: [ 4294967296, 4294967296 ] }', ("input-size",)),
    Config("gpu unknown", BASE.replace("KIND_CPU", "KIND_GPU"), ("gpu-unknown",), server=ServerFacts("t1", seen=frozenset({"python"}))),
    Config("unusual backend", 'backend: "vllm"\n' + INPUT + OUTPUT, ("backend-unknown",), files={"version/model.json": 1}, server=T1),
    Config("no release told", BASE + 'runtime: "libx.so"', ("release-unknown",), server=ServerFacts("t1", seen=frozenset({"python"}))),
)  # fmt: skip
REFUSED: tuple[Config, ...] = (
    Config("no backend", INPUT + OUTPUT, ("backend",), files={"version/weights.bin": 1}),
    Config("no such platform", 'platform: "caffe2_netdef"\n' + INPUT + OUTPUT, ("backend",)),
    Config("platform of another", ONNX + 'platform: "tensorrt_plan"', ("backend",), files=ONNX_FILES),
    Config("no model.py", BASE, ("default-file",), files={"version/weights.bin": 1}),
    Config("no model.onnx", ONNX, ("default-file",)),
    Config("no file of that name", BASE + 'default_model_filename: "serve.py"', ("default-file",)),
    Config("no plan for a capability", PLAN + 'cc_model_filenames { key: "8.6" value: "a.plan" }', ("capability-files",), files=PLAN_FILES),
    Config("no environment", BASE + 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "$$TRITON_MODEL_DIRECTORY/env.tar.gz" } }', ("python-environment",), live=False),
    Config("no label file", BASE.replace('dims: [ 4 ] } ]\ninst', 'dims: [ 4 ] label_filename: "l.txt" } ]\ninst'), ("label-file",), live=False),
    Config("image of two dims", BASE.replace("dims: [ 4 ] } ]\noutput", "format: FORMAT_NHWC dims: [ 3, 4 ] } ]\noutput"), ("image-format",)),
    Config("reshape of another size", BASE.replace("dims: [ 4 ] } ]\noutput", "dims: [ 4 ] reshape { shape: [ 5 ] } } ]\noutput"), ("reshape",), live=False),
    Config("reshape across variables", BASE.replace("dims: [ 4 ] } ]\noutput", "dims: [ 2, -1 ] reshape { shape: [ -1, 2 ] } } ]\noutput"), ("reshape",)),
    Config("empty reshape, no batch", BASE.replace("dims: [ 4 ] } ]\noutput", "dims: [ 1 ] reshape { shape: [ ] } } ]\noutput"), ("reshape",)),
    Config("reshape for dims", BATCHED.replace("dims: [ 4 ] } ]\noutput", "reshape { shape: [ 1 ] } } ]\noutput"), ("reshape",)),
    Config("shape tensor", BASE.replace("dims: [ 4 ] } ]\noutput", "dims: [ 4 ] is_shape_tensor: true } ]\noutput"), ("tensorrt-only",)),
    Config("preferred above the largest", BATCHED + "dynamic_batching { preferred_batch_size: [ 4, 16 ] }", ("preferred-batch-size",), live=False),
    Config("preferred nothing", BATCHED + "dynamic_batching { preferred_batch_size: [ 0 ] }", ("preferred-batch-size",), live=False),
    Config("oldest above the largest", BATCHED + "sequence_batching { oldest { max_candidate_sequences: 4 preferred_batch_size: [ 9 ] } }", ("preferred-batch-size", "sequence"), live=False),
    Config("no default priority", BATCHED + "dynamic_batching { priority_levels: 3 }", ("priority-levels",), live=False),
    Config("a priority too many", BATCHED + "dynamic_batching { priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 2 value { } } }", ("priority-levels",), live=False),
    Config("order and priorities", BATCHED + "dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }", ("preserve-ordering",), live=False),
    Config("order and delay", BATCHED + "dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 } }", ("preserve-ordering",), live=False),
    Config("cached sequence", BATCHED + "sequence_batching { } response_cache { enable: true }", ("response-cache", "sequence"), live=False),
    Config("cached decoupled", BASE + "model_transaction_policy { decoupled: true } response_cache { enable: true }", ("response-cache", "decoupled"), live=False),
    Config("batch input of nothing", BATCHED + 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "n" data_type: TYPE_FP32 }', ("batch-input",)),
    Config("batch input of a stranger", BATCHED + 'batch_input { target_name: "n" data_type: TYPE_INT64 source_input: "q" }', ("batch-input", "batch-input")),
    Config("batch output of a stranger", BATCHED + 'batch_output { target_name: "q" source_input: "x" }', ("batch-output",)),
    Config("control without values", BATCHED + "sequence_batching { " + CONTROL % "" + " }", ("sequence-controls", "sequence"), live=False),
    Config("control with three values", BATCHED + "sequence_batching { " + CONTROL % "fp32_false_true: [ 0, 1, 2 ]" + " }", ("sequence-controls", "sequence"), live=False),
    Config("control twice", BATCHED + "sequence_batching { " + 2 * (CONTROL % "int32_false_true: [ 0, 1 ]" + " ") + " }", ("sequence-controls", "sequence"), live=False),
    Config("correlation of a float", BATCHED + "sequence_batching { " + CORRID % "data_type: TYPE_FP32" + " }", ("sequence-controls", "sequence"), live=False),
    Config("more than all slots", BATCHED + "sequence_batching { direct { minimum_slot_utilization: 1.5 } }", ("slot-utilisation", "sequence"), live=False),
    Config("gpus on a cpu", BASE.replace("count: 1", "count: 1 gpus: [ 0 ]"), ("gpus-without-gpu",), live=False),
    Config("profile without TensorRT", BASE.replace("count: 1", 'count: 1 profile: "1"'), ("profile",), live=False),
    Config("gpu on a server without", BASE.replace("KIND_CPU", "KIND_GPU"), ("gpu-missing",), server=ServerFacts("t1", gpus=0, seen=frozenset({"python"})), live=False),
    Config("plan on a server without", PLAN, ("gpu-missing",), files=PLAN_FILES, server=ServerFacts("t1", gpus=0, seen=frozenset({"tensorrt"}))),
    Config("gpu 3 of 2", BASE.replace("KIND_CPU", "KIND_GPU").replace("count: 1", "gpus: [ 0, 3 ]"), ("gpu-id",), server=ServerFacts("t1", gpus=2, seen=frozenset({"python"}))),
    Config("steps without the platform", BASE + "ensemble_scheduling { " + step("a", "x", "y") + " }", ("ensemble-platform", "ensemble-extras")),
    Config("platform without steps", 'platform: "ensemble"\n' + INPUT + OUTPUT, ("ensemble-platform", "ensemble-steps")),
    Config("ensemble with instances", ensemble(step("a", "x", "y"), more=CPU), ("ensemble-extras",)),
    Config("ensemble of itself", ensemble(step("demo", "x", "y")), ("ensemble-steps",)),
    Config("ensemble of a path", ensemble(step("../up", "x", "y")), ("ensemble-steps",)),
    Config("a step without maps", ensemble('step { model_name: "a" }', step("b", "x", "y")), ("ensemble-steps", "ensemble-steps")),
    Config("made twice", ensemble(step("a", "x", "y"), step("b", "x", "y")), ("ensemble-once",)),
    Config("a circle", ensemble(step("a", "u", "t"), step("b", "t", "u"), step("c", "x", "y")), ("ensemble-flow", "ensemble-flow")),
    Config("from nowhere", ensemble(step("a", "q", "y"), step("b", "x", "z")), ("ensemble-flow", "ensemble-unused")),
    Config("output of nobody", ensemble(step("a", "x", "t"), step("b", "t", "z")), ("ensemble-flow", "ensemble-unused")),
    Config("input of nobody", ensemble(step("a", "x", "y"), inputs=INPUT + 'input { name: "w" data_type: TYPE_FP32 dims: [ 1 ] }'), ("ensemble-unused",)),
    Config("member not there", ensemble(step("a", "x", "y")), ("member-missing",), members={}),
    Config("member in another version", ensemble(step("a", "x", "y").replace("-1", "7")), ("member-version",), members={"a": member()}),
    Config("member without that input", ensemble(step("a", "x", "y").replace('key: "x"', 'key: "z"')), ("member-maps", "member-maps"), members={"a": member()}),
    Config("member with another type", ensemble(step("a", "x", "y")), ("member-types",), members={"a": member(datatype="TYPE_FP16")}),
    Config("member with other dims", ensemble(step("a", "x", "y")), ("member-types",), members={"a": member(dims="[ 5 ]")}),
    Config("calls itself by way of another", ensemble(step("a", "x", "y")), ("member-circle",), members={"a": calling("c", "b"), "b": calling("demo"), "c": member()}),
    Config("shared file of other content", BASE, ("shared-file",), shared=(SharedElsewhere("labels.txt", 1),)),
    Config("member with smaller batches", ensemble(step("a", "x", "y"), more="max_batch_size: 8\n"), ("member-batch",), members={"a": member(batch=4)}),
    Config("ensemble with a runtime", ensemble(step("a", "x", "y"), more='runtime: "libx.so"\n'), ("ensemble-runtime",)),
    Config("huge warm-up", BASE + WARMUP % "data_type: TYPE_FP32 dims: [ 1000000, 1000000 ] zero_data: true", ("warmup-size", "warmup-inputs", "warmup-unused")),
    Config("overflowing warm-up", BASE + WARMUP % "data_type: TYPE_FP32 dims: [ 4294967296, 4294967296, 4294967296 ] zero_data: true", ("warmup-size", "warmup-inputs", "warmup-unused")),
    Config("warm-up above the largest batch", BATCHED + (WARMUP % ZEROS).replace("batch_size: 1", "batch_size: 9"), ("warmup-batch", "warmup-unused")),
    Config("warm-up of a stranger", BASE + (WARMUP % ZEROS).replace('"x"', '"image"'), ("warmup-inputs", "warmup-unused")),
    Config("warm-up of another type", BASE + WARMUP % "data_type: TYPE_INT32 dims: [ 4 ] zero_data: true", ("warmup-inputs", "warmup-unused")),
    Config("warm-up of variable dims", BASE.replace("dims: [ 4 ] } ]\noutput", "dims: [ -1 ] } ]\noutput") + WARMUP % "data_type: TYPE_FP32 dims: [ -1 ] zero_data: true", ("warmup-inputs", "warmup-unused")),
    Config("warm-up without data", BASE + WARMUP % "data_type: TYPE_FP32 dims: [ 4 ]", ("warmup-inputs", "warmup-unused")),
    Config("warm-up from no file", BASE + WARMUP % 'data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "in.bin"', ("warmup-file", "warmup-unused")),
    Config("warm-up from /etc", BASE + WARMUP % 'data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "../../../etc/hostname"', ("warmup-file", "warmup-unused")),
    Config("too new a field", BASE + "model_metrics { }", ("newer-field", "backend-presumed"), server=T1, live=False),
    Config("too new a value", BASE.replace("TYPE_FP32", "TYPE_BF16"), ("newer-field", "newer-field"), server=ServerFacts("t1", version="2.20.0", seen=frozenset({"python"}))),
    Config("declared without it", BASE, ("backend-missing",), server=ServerFacts("t1", backends=frozenset({"onnxruntime"}))),
    Config("said it lacks it", ONNX, ("backend-missing",), files=ONNX_FILES, server=ServerFacts("t1", missing=frozenset({"onnxruntime"}))),
    Config("no room on the disk", BASE, ("disk",), files={"version/model.py": 10**9}, server=ServerFacts("t1", seen=frozenset({"python"}), publishes=True, free_disk_bytes=10**9)),
    Config("no room in memory", BASE, ("memory",), files={"version/model.py": 10**9}, server=ServerFacts("t1", seen=frozenset({"python"}), memory_bytes=10**8)),
)  # fmt: skip
EVERY = (*CLEAN, *NOTED, *WARNED, *REFUSED)
