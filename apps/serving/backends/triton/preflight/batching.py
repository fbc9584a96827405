"""Rules of batching, queues and the cache."""

from collections.abc import Iterator

from apps.serving.backends.triton import warmup
from apps.serving.backends.triton.preflight.tensors import shown
from apps.serving.preflight import Fault, Rule, Severity, Subject

SOURCED = {
    "BATCH_ELEMENT_COUNT", "BATCH_ACCUMULATED_ELEMENT_COUNT", "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO",
    "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", "BATCH_ITEM_SHAPE", "BATCH_ITEM_SHAPE_FLATTEN",
}  # fmt: skip
BATCH_TYPES = ("TYPE_INT32", "TYPE_FP32")


def _preferred(subject: Subject) -> Iterator[Fault]:
    largest = subject.get("max_batch_size", 0)
    for path in ("dynamic_batching.preferred_batch_size", "sequence_batching.oldest.preferred_batch_size"):
        for size in subject.get(path, ()):
            if size <= 0:
                yield Fault(f"{path} holds {size}, which is not positive", path)
            elif size > largest:
                yield Fault(f"{path} holds {size}, and max_batch_size is {largest}", path)


def _pointless(subject: Subject) -> Iterator[Fault]:
    is_dynamic = subject.get("dynamic_batching") is not None
    if is_dynamic and subject.get("max_batch_size", 0) == 0 and not subject.get("dynamic_batching.priority_levels"):
        yield Fault("dynamic_batching is set and max_batch_size is 0: nothing is ever batched", "dynamic_batching")


def _priorities(subject: Subject) -> Iterator[Fault]:
    levels = subject.get("dynamic_batching.priority_levels", 0)
    if not levels:
        return
    default = subject.get("dynamic_batching.default_priority_level", 0)
    if not 1 <= default <= levels:
        yield Fault(
            f"default_priority_level {default} is not between 1 and priority_levels {levels}",
            "dynamic_batching.default_priority_level",
        )
    for level in subject.get("dynamic_batching.priority_queue_policy", {}):
        if not 1 <= int(level) <= levels:
            yield Fault(
                f"priority_queue_policy names level {level}, and priority_levels is {levels}",
                "dynamic_batching.priority_queue_policy",
            )


def _ordering(subject: Subject) -> Iterator[Fault]:
    batching = subject.get("dynamic_batching", {})
    if not batching.get("preserve_ordering"):
        return
    if batching.get("priority_levels", 0) > 1:
        yield Fault("preserve_ordering and more than one priority level exclude each other", "dynamic_batching")
    policies = [batching.get("default_queue_policy", {}), *batching.get("priority_queue_policy", {}).values()]
    if any(one.get("timeout_action") == "DELAY" and one.get("default_timeout_microseconds") for one in policies):
        yield Fault("preserve_ordering and the timeout action DELAY exclude each other", "dynamic_batching")


def _cache(subject: Subject) -> Iterator[Fault]:
    if not subject.get("response_cache.enable"):
        return
    if subject.get("sequence_batching") is not None:
        yield Fault("response_cache and sequence_batching exclude each other", "response_cache")
    if subject.get("model_transaction_policy.decoupled"):
        yield Fault("response_cache and a decoupled model exclude each other", "response_cache")


def _batch_inputs(subject: Subject) -> Iterator[Fault]:
    inputs = {tensor.get("name") for tensor in subject.get("input", ())}
    for entry in subject.get("batch_input", ()):
        kind, sources = entry.get("kind", "BATCH_ELEMENT_COUNT"), entry.get("source_input", ())
        if kind in SOURCED and len(sources) != 1:
            yield Fault(f"{kind} takes one source_input, {len(sources)} are given", "batch_input.source_input")
        if entry.get("data_type") not in BATCH_TYPES:
            yield Fault(f"a batch_input has data_type {entry.get('data_type')}", "batch_input.data_type")
        for name in sources:
            if name not in inputs:
                yield Fault(f"source_input {shown(name)} is no input", "batch_input.source_input")


def _batch_outputs(subject: Subject) -> Iterator[Fault]:
    inputs, outputs = ({tensor.get("name") for tensor in subject.get(side, ())} for side in ("input", "output"))
    for entry in subject.get("batch_output", ()):
        sources, targets = entry.get("source_input", ()), entry.get("target_name", ())
        if len(sources) != 1 or sources[0] not in inputs:
            yield Fault("a batch_output takes exactly one source_input, which must be an input", "batch_output")
        if len(set(targets)) != len(targets) or not outputs.issuperset(targets):
            yield Fault(f"target_name {list(map(shown, targets))} must be outputs, each once", "batch_output")


def _transaction(subject: Subject) -> Iterator[Fault]:
    if subject.get("model_transaction_policy.decoupled"):
        yield Fault(warmup.cannot_ask(subject.document), "model_transaction_policy.decoupled")


RULES = (
    Rule(
        "preferred-batch-size",
        Severity.ERROR,
        "A preferred batch is at least 1 and at most max_batch_size.",
        "The server refuses the whole configuration otherwise.",
        "Raise max_batch_size, or lower or drop preferred_batch_size.",
        _preferred,
    ),
    Rule(
        "batching-without-batch",
        Severity.WARNING,
        "Dynamic batching needs a batch.",
        "With max_batch_size 0 the batcher queues requests and never puts two together.",
        "Set max_batch_size to what the model takes, or leave dynamic_batching out.",
        _pointless,
    ),
    Rule(
        "priority-levels",
        Severity.ERROR,
        "Priorities lie between 1 and priority_levels.",
        "The server refuses the whole configuration otherwise.",
        "Set default_priority_level, and number priority_queue_policy, within priority_levels.",
        _priorities,
    ),
    Rule(
        "preserve-ordering",
        Severity.ERROR,
        "Answers in order exclude priorities and delayed requests.",
        "The server refuses preserve_ordering together with several priority levels or the timeout action DELAY.",
        "Drop preserve_ordering, or the priorities and DELAY.",
        _ordering,
    ),
    Rule(
        "response-cache",
        Severity.ERROR,
        "A cached model answers each request once and by itself.",
        "The server refuses a cache for sequences and decoupled models.",
        "Leave response_cache out.",
        _cache,
    ),
    Rule(
        "batch-input",
        Severity.ERROR,
        "Each batch_input has one source and a type the server can make.",
        "The server refuses others, and sources that are no inputs.",
        "Name one input as source_input; data_type is TYPE_INT32 or TYPE_FP32.",
        _batch_inputs,
    ),
    Rule(
        "batch-output",
        Severity.ERROR,
        "Each batch_output has one source and targets that are outputs.",
        "The server refuses others.",
        "Name one input as source_input and each output once as target_name.",
        _batch_outputs,
    ),
    Rule(
        "decoupled",
        Severity.NOTE,
        "A decoupled model answers as often as it likes.",
        "One plain request with one answer, which is what Conch sends, does not suit it.",
        "Nothing needs to be done; watch its first requests yourself.",
        _transaction,
    ),
)
