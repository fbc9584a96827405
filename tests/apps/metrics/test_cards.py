"""Cards as pictures: from what both generations of dcgm-exporter say, and from what they leave out."""

import re
from pathlib import Path

import pytest

from apps.metrics.cards import Card, cards_of
from apps.metrics.devices import Pod, device_of_uuid, devices_of, hosts_of, pod_of
from apps.metrics.prometheus import Series
from apps.serving.signals import Device

SAMPLES = Path(__file__).parent / "samples"
ROW = re.compile(r"^(DCGM_\w+)\{(.*)\} (\S+)$", re.MULTILINE)
A100 = "GPU-1f0c6a52-7d7e-4c8a-9b57-0d1f5be2a001"


def told(name: str) -> list[Series]:
    found = ROW.findall((SAMPLES / f"{name}.prom").read_text())
    return [
        Series({"__name__": metric, **dict(re.findall(r'(\w+)="([^"]*)"', labels))}, (float(value),))
        for metric, labels, value in found
    ]


def cards(name: str, **labels: str) -> tuple[Card, ...]:
    return cards_of(told(name), mine=devices_of(labels).known)


def test_a_divided_card_and_a_whole_one_of_the_older_exporter() -> None:
    divided, whole = cards("dcgm_mig_a100")

    assert (divided.host, divided.gpu, divided.uuid, divided.power_w) == ("gpu-node-a", "0", A100, 187.3)
    assert [(one.instance, one.profile) for one in divided.slices] == [
        ("1", "3g.40gb"),
        ("5", "2g.20gb"),
        ("9", "1g.10gb"),
        ("10", "1g.10gb"),
    ]
    assert divided.slices[0].use == 0.847434
    assert divided.slices[0].share == pytest.approx(6_059 / (6_059 + 34_133))
    assert (whole.is_divided, [one.instance for one in whole.slices]) == (False, [""])
    assert whole.slices[0].use == 0.945271


def test_the_newer_exporters_spelling_is_the_same_host() -> None:
    (card,) = cards("dcgm_mig_h100_v4.6")

    assert (card.host, len(card.slices), card.power_w) == ("gpu-node-b", 7, 231.5)


def test_a_slice_without_memory_says_so_and_its_use_is_not_the_cards_zero() -> None:
    (card,) = cards("dcgm_mig_without_host")

    assert [(one.instance, one.use) for one in card.slices] == [("9", 0.83), ("10", 0.02)]
    assert card.slices[0].remarks == (
        "dcgm-exporter leaves out its memory (DCGM_FI_DEV_FB_USED and DCGM_FI_DEV_FB_FREE)",
    )


def test_a_slice_without_profiling_metrics_has_no_use_and_no_zero() -> None:
    kept = [one for one in told("dcgm_mig_without_host") if one.labels["__name__"] == "DCGM_FI_DEV_GPU_UTIL"]

    (card,) = cards_of(kept)

    assert card.slices[0].use is None
    assert card.slices[0].remarks[0].startswith("use is not available on MIG")


def test_a_wrong_profile_name_is_told_and_memory_is_what_was_counted() -> None:
    rows = [
        Series({**one.labels, "GPU_I_PROFILE": "1g.18gb"}, one.values)
        for one in told("dcgm_mig_a100")
        if one.labels.get("GPU_I_ID") == "9"
    ]

    (card,) = cards_of(rows)

    assert card.slices[0].remarks == ("called 1g.18gb, but has 9.5 GiB: the name is wrong",)


def test_only_a_servers_own_slices_are_its_own() -> None:
    divided, whole = cards("dcgm_mig_a100", mig=f"{A100}/9, gpu-node-a/0/5")

    assert [one.instance for one in divided.slices if one.is_mine] == ["5", "9"]
    assert not any(one.is_mine for one in whole.slices)


def test_of_a_divided_card_that_was_found_out_no_slice_is_said_to_be_the_servers() -> None:
    divided, whole = cards_of(
        told("dcgm_mig_a100"), mine=(Device(uuid=A100), Device(host="gpu-node-a", gpu="1")), is_said=False
    )

    assert {(one.is_mine, one.is_unclear) for one in divided.slices} == {(False, True)}
    assert (divided.is_unclear, whole.is_unclear, whole.slices[0].is_mine) == (True, False, True)


def test_the_only_slice_of_a_card_that_was_found_out_is_the_servers() -> None:
    alone = [one for one in told("dcgm_mig_a100") if one.labels.get("GPU_I_ID") == "9"]

    (card,) = cards_of(alone, mine=(Device(uuid=A100),), is_said=False)

    assert (card.slices[0].is_mine, card.is_unclear) == (True, False)


def test_a_slice_that_was_found_out_whole_is_clear() -> None:
    divided, _ = cards_of(told("dcgm_mig_a100"), mine=(Device(uuid=A100, instance="5"),), is_said=False)

    assert [one.instance for one in divided.slices if one.is_mine] == ["5"]
    assert not divided.is_unclear


@pytest.mark.parametrize(
    ("uuid", "device"),
    [
        ("GPU-1", Device(uuid="GPU-1")),
        ("MIG-GPU-1/9/0", Device(uuid="GPU-1", instance="9")),
        ("MIG-5c89852c-d268", None),
        ("", None),
    ],
)
def test_what_a_server_calls_its_device(uuid: str, device: Device | None) -> None:
    assert device_of_uuid(uuid) == device


@pytest.mark.parametrize(
    ("labels", "address", "pod"),
    [
        ({}, "triton-0.triton.models.svc.cluster.local:8001", Pod("triton-0", "models")),
        ({"pod": "models/triton-7d9f"}, "10.0.0.7:8001", Pod("triton-7d9f", "models")),
        ({"pod": "triton-7d9f"}, "10.0.0.7:8001", Pod("triton-7d9f")),
        ({}, "triton.models.svc:8001", None),
        ({}, "10.0.0.7:8001", None),
    ],
)
def test_a_servers_pod_is_its_label_or_stands_in_its_address(
    labels: dict[str, str], address: str, pod: Pod | None
) -> None:
    assert pod_of(labels, address) == pod


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("gpu-node-a.dc1:8002", ("gpu-node-a.dc1", "gpu-node-a")),
        ("http://gpu-node-a:8002", ("gpu-node-a",)),
        ("10.0.0.7:8002", ()),
        ("[fd00::7]:8002", ()),
        ("localhost:8002", ()),
    ],
)
def test_an_address_that_is_a_name_tells_the_host(address: str, hosts: tuple[str, ...]) -> None:
    assert hosts_of(address) == hosts


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        ({"gpu": "GPU-1, host/3"}, (Device(uuid="GPU-1"), Device(host="host", gpu="3"))),
        (
            {"mig": "GPU-1/9,host/0/11"},
            (Device(uuid="GPU-1", instance="9"), Device(host="host", gpu="0", instance="11")),
        ),
        ({"mig": "MIG-GPU-1/9/0"}, (Device(uuid="GPU-1", instance="9"),)),
        ({"gpu": "", "zone": "eu"}, ()),
    ],
)
def test_labels_name_devices(labels: dict[str, str], known: tuple[Device, ...]) -> None:
    assert devices_of(labels).known == known


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"gpu": "3"}, "label gpu: '3' is not GPU-<uuid> or host/number"),
        ({"mig": "MIG-7"}, "label mig: 'MIG-7' is not card/instance"),
        ({"mig": "GPU-1/x"}, "label mig: 'GPU-1/x' is not card/instance"),
    ],
)
def test_a_label_that_names_no_device_is_told(labels: dict[str, str], said: str) -> None:
    assert devices_of(labels).unread == (said,)
