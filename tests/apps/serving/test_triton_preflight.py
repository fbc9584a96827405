"""The rules of preflight, held against configurations over every feature of the protobuf, and a real Triton."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from google.protobuf.descriptor import Descriptor
from tritonclient.grpc.model_config_pb2 import ModelConfig

from apps.common.errors import ControlPlaneError
from apps.serving.backends.triton.config import CONFIG
from apps.serving.preflight import Fault, PythonSource, Rule, ServerFacts, Severity, Subject, examine_on
from apps.serving.protocol import ServingBackend
from tests.apps.serving.configs import BASE, CLEAN, EVERY, NOTED, REFUSED, WARNED, Config
from tests.factories.triton_models import TRIVIAL


def subject(config: Config) -> Subject:
    document = CONFIG.parse(config.text).document
    return Subject(
        "demo", document, files=config.files, members=config.members, shared=config.shared, server=config.server
    )


@pytest.mark.parametrize("config", EVERY, ids=str)
def test_a_configuration_breaks_exactly_the_rules_it_should(config: Config) -> None:
    found = CONFIG.examine(subject(config))

    assert Counter(finding.rule for finding in found) == Counter(config.breaks), [one.message for one in found]


def test_the_severity_of_the_worst_finding_is_that_of_its_table() -> None:
    worst = {
        severity: {CONFIG.examine(subject(config))[0].severity for config in table}
        for severity, table in ((Severity.NOTE, NOTED), (Severity.WARNING, WARNED), (Severity.ERROR, REFUSED))
    }

    assert worst == {severity: {severity} for severity in Severity}
    assert {CONFIG.examine(subject(config)) for config in CLEAN} == {()}


def test_there_are_at_least_sixty_configurations_that_pass_and_that_do_not_and_no_two_are_the_same() -> None:
    told = {
        subject(config).document.__repr__() + str((config.files, config.members, config.shared, config.server))
        for config in EVERY
    }

    assert len(told) == len({config.name for config in EVERY}) == len(EVERY) >= 100


def test_every_rule_is_broken_by_some_configuration_or_source() -> None:
    by_source = {"python-syntax", "python-class", "python-execute"}

    broken = {rule for config in EVERY for rule in config.breaks} | by_source

    assert broken == {rule.id for rule in CONFIG.rules}


def test_every_rule_says_what_why_and_how_to_mend_it() -> None:
    ids = [rule.id for rule in CONFIG.rules]

    assert len(set(ids)) == len(ids)
    assert all(rule.what.endswith(".") and rule.why and rule.mend.endswith((".", "image.")) for rule in CONFIG.rules)


def fields(message: Descriptor, seen: tuple[str, ...] = ()) -> Iterator[str]:
    for field in message.fields:
        yield field.name
        if field.message_type is not None and field.message_type.full_name not in seen:
            yield from fields(field.message_type, (*seen, field.message_type.full_name))


def test_the_configurations_use_every_field_of_the_protobuf_that_has_a_meaning() -> None:
    written = " ".join(config.text for config in EVERY)
    rare = {
        # Written by maps, or of single backends that this Conch does not look into.
        "key", "value", "secondary_devices", "device_id", "model_namespace", "max_inflight_requests", "agents",
        "use_same_buffer_for_input_output", "use_growable_memory", "is_non_linear_format_io", "data_file",
        "random_data", "count", "all", "specific", "versions", "bool_false_true",
    }  # fmt: skip

    assert {name for name in fields(ModelConfig.DESCRIPTOR) if name not in written} <= rare


SOURCES = [
    (b"class TritonPythonModel:\n    def execute(self, requests): ...", []),
    (b"from here import TritonPythonModel", []),
    (b"from here import *", []),
    (b"class Base: ...\nclass TritonPythonModel(Base): ...", []),
    (b"try:\n    import torch\nexcept ImportError:\n    pass\nTritonPythonModel = type('T', (), {})", []),
    (b"if True:\n    class TritonPythonModel:\n        execute = print", []),
    (b"# -*- coding: latin-1 -*-\n# \xe9\nclass TritonPythonModel:\n    async def execute(self, r): ...", []),
    (b"", ["python-class"]),
    (b"class tritonpythonmodel: ...", ["python-class"]),
    (b"def f():\n    class TritonPythonModel: ...", ["python-class"]),
    (b"class TritonPythonModel:\n    def initialize(self, args): ...", ["python-execute"]),
    (b"class TritonPythonModel(:\n", ["python-syntax"]),
    (b"x = '\xff'", ["python-syntax"]),
    (b"\x00", ["python-syntax"]),
    (b"(" * 5_000, ["python-syntax"]),
    (b"-" * 200_000 + b"1", ["python-syntax"]),
]


@pytest.mark.parametrize(("content", "rules"), SOURCES)
def test_a_python_source_is_read_and_never_run(content: bytes, rules: list[str]) -> None:
    found = CONFIG.examine(
        Subject("demo", CONFIG.parse(BASE).document, files={"version/model.py": 1}, source=CONFIG.read_source(content))
    )

    assert [finding.rule for finding in found] == rules


def test_a_source_too_large_to_be_read_is_not_judged() -> None:
    assert CONFIG.read_source(b"#" * ((1 << 20) + 1)) == PythonSource()


def test_a_finding_names_the_server_only_where_the_server_matters() -> None:
    config = next(config for config in REFUSED if config.name == "gpu on a server without")
    other = next(config for config in REFUSED if config.name == "profile without TensorRT")

    assert [finding.server for finding in CONFIG.examine(subject(config))] == ["t1"]
    assert [finding.server for finding in CONFIG.examine(subject(other))] == [""]


FLEET = (
    ServerFacts("a"),
    ServerFacts("b"),
    ServerFacts("c", backends=frozenset({"onnxruntime"}), gpus=0),
    ServerFacts("d", version="2.20.0", missing=frozenset({"python"}), memory_bytes=1),
)


def test_servers_that_are_looked_at_together_are_told_what_each_would_be_alone() -> None:
    subjects = [subject(config) for config in EVERY]

    together = [set(CONFIG.examine_on(one, FLEET)) for one in subjects]

    alone = [
        {finding for facts in (None, *FLEET) for finding in CONFIG.examine(replace(one, server=facts))}
        for one in subjects
    ]
    assert together == alone
    assert {finding.server for found in together for finding in found} == {"", "a", "b", "c", "d"}


def test_servers_of_which_the_same_is_known_are_looked_at_once() -> None:
    looks: list[str] = []

    def check(subject: Subject) -> Iterator[Fault]:
        looks.append(subject.at.version)
        yield Fault(f"{subject.at.name} is odd")

    rule = Rule("odd", Severity.NOTE, "what", "why", "mend", check, needs=("server",))
    servers = [ServerFacts(f"s{number:02}", version="2.51.0") for number in range(50)]

    found = examine_on([rule], Subject("demo", {}), servers)

    assert [(one.server, one.message) for one in found] == [(one.name, f"{one.name} is odd") for one in servers]
    assert looks == ["2.51.0"]


@pytest.mark.live
@pytest.mark.parametrize("start_triton", ["real"], indirect=True)
def test_a_real_triton_takes_and_refuses_what_the_rules_say(backend: ServingBackend) -> None:
    taken: dict[str, bool] = {}
    asked = [config for config in EVERY if config.live is not None]

    for number, config in enumerate(asked):
        name = f"rule{number}"
        document = {**CONFIG.parse(config.text).document, "name": name}
        try:
            backend.load(name, config=document, files={"1/model.py": TRIVIAL}, timeout_s=60)
        except ControlPlaneError:
            taken[config.name] = False
        else:
            taken[config.name] = True
            backend.unload(name, timeout_s=10)

    assert taken == {config.name: config.live for config in asked}
