"""Registering, uploading, samples and aliases from the console."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments.models import Ban
from apps.deployments.selectors.bans import identity
from apps.fleet.models import ObservedVersion
from apps.registry.models import Alias, Model, Sample, Version
from apps.serving.backends.triton.config import CONFIG
from apps.serving.errors import ConfigUnparsable
from tests.factories.fleets import FleetRows


def test_a_registered_model_has_a_page(operator: Client) -> None:
    answer = operator.post("/register/", {"name": "bert-qa", "slo_error_percent": "0.5", "load_deadline_s": "300"})

    assert answer.headers["Location"] == "/models/bert-qa/"
    assert Model.objects.get(name="bert-qa").slo_error_ratio == pytest.approx(0.005)


@pytest.mark.parametrize("name", ["../up", "a b", "x.shadow", "$(touch x)", "digits"])
def test_a_name_that_cannot_be_is_refused_beside_its_field(name: str, rows: FleetRows, operator: Client) -> None:
    answer = operator.post("/register/", {"name": name, "owner": "vision team", "load_deadline_s": "300"})

    page = answer.content.decode()
    assert answer.status_code in (400, 409)
    assert 'id="id_name" aria-describedby="id_name_helptext id_name_error"' in page or 'aria-invalid="true"' in page
    assert "vision team" in page


def test_a_rejected_version_says_why_and_what_to_do(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/models/digits/versions/3/").content.decode()

    assert "the python backend needs 1/model.py" in page
    assert "Put model.py into the version directory." in page
    assert "no_model_file" in page


def test_a_version_tells_how_it_did_aside(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/models/digits/versions/2/").content.decode()

    assert "first 52 ms, last 2.9 ms of 3" in page
    assert "5 golden answers right" in page


def test_a_sample_is_kept(rows: FleetRows, operator: Client) -> None:
    tensor = json.dumps([{"name": "pixels", "datatype": "FP32", "shape": [1, 64], "data": [0] * 64}])

    operator.post("/models/digits/samples/add/", {"name": "two", "inputs": tensor, "outputs": ""})

    assert Sample.objects.get(name="two").inputs[0]["name"] == "pixels"


def test_a_sample_that_is_no_json_is_refused_and_kept(rows: FleetRows, operator: Client) -> None:
    answer = operator.post("/models/digits/samples/add/", {"name": "two", "inputs": "[{oops"})

    page = answer.content.decode()
    assert answer.status_code == 400
    assert '<a class="name" href="/models/digits/">digits</a>' in page
    assert "This is not JSON" in page
    assert "[{oops" in page


def test_an_alias_moves(rows: FleetRows, operator: Client) -> None:
    operator.post("/models/digits/alias/", {"alias": "champion", "version": "1"})

    assert Alias.objects.get(name="champion").version == rows.versions["digits", 1]


def test_an_alias_is_taken_away(rows: FleetRows, operator: Client) -> None:
    operator.post("/models/digits/alias/champion/remove/")

    assert not Alias.objects.exists()
    assert operator.get("/models/digits/alias/champion/remove/").status_code == 404


def test_models_are_found_by_name_and_owner(rows: FleetRows, viewer: Client) -> None:
    rows.model("fraud", owner="risk")

    page = viewer.get("/models/?search=risk").content.decode()

    assert "fraud" in page
    assert "/models/digits/" not in page


def test_a_models_versions_tell_their_digest_and_checks_and_can_be_compared(rows: FleetRows, viewer: Client) -> None:
    Version.objects.filter(number=1).update(remarks=[{"message": "a file was left out"}])

    page = viewer.get("/models/digits/").content.decode()

    assert f'title="{rows.versions["digits", 2].digest}"' in page
    assert "<td>passed, 1 remark</td>" in page
    assert "<td>! refused</td>" in page
    assert 'href="/models/digits/versions/2/compare/"' in page
    assert 'href="/models/digits/versions/3/compare/"' not in page


def test_the_history_tells_the_verdict_with_its_numbers(rows: FleetRows, viewer: Client) -> None:
    last = rows.rollout("digits", "prod", 1, 2, state="rolled_back")
    at = timezone.now()
    for gate, verdict, value in (("p99", "fail", 71.0), ("errors", "pass", 0.001)):
        last.judgements.create(gate=gate, wave=0, at=at, verdict=verdict, value=value, threshold=60)

    page = viewer.get("/models/digits/").content.decode()

    assert "p99 71.0 (gate 60.0) failed" in page


def test_two_versions_are_shown_side_by_side(rows: FleetRows, viewer: Client) -> None:
    Version.objects.filter(model__name="digits", number=1).update(config={"max_batch_size": 8})
    Version.objects.filter(model__name="digits", number=2).update(config={"max_batch_size": 4})

    page = viewer.get("/models/digits/versions/2/compare/").content.decode()

    assert "digits 1 → 2" in page
    assert "! interface" in page
    assert "version/weights.npz" in page


def test_a_version_without_another_has_nothing_to_compare_with(rows: FleetRows, viewer: Client) -> None:
    rows.model("lonely")
    rows.version("lonely", 1)

    page = viewer.get("/models/lonely/versions/1/compare/").content.decode()

    assert "Nothing to compare with" in page


def test_the_same_bytes_under_two_numbers_are_the_same(rows: FleetRows, viewer: Client) -> None:
    one, other = rows.versions["digits", 1], rows.versions["digits", 2]
    Version.objects.filter(pk=other.pk).update(artifact=one.artifact)

    page = viewer.get("/models/digits/versions/2/compare/?with=1").content.decode()

    assert "They are the same" in page


def test_a_versions_page_tells_what_preflight_finds_for_an_environment(rows: FleetRows, viewer: Client) -> None:
    config = {"backend": "home-made", "instance_group": [{"kind": "KIND_GPU"}]}
    Version.objects.filter(model__name="digits", number=2).update(config=config)

    page = viewer.get("/models/digits/versions/2/?environment=staging").content.decode()
    of_two = viewer.get("/models/digits/versions/2/?environment=prod").content.decode()

    assert "nobody knows whether staging-1 has the backend" in page
    assert "gpu-unknown" in page
    assert "prod-1" not in page.partition('id="report-title"')[2]
    assert "nobody knows whether each server has the backend" in of_two


def test_of_a_banned_version_the_report_says_so_first(rows: FleetRows, viewer: Client) -> None:
    banned = rows.versions["digits", 2]
    ban = Ban.objects.create(
        placement=rows.placements["digits", "prod"],
        version=banned,
        **identity(banned),
        reason="wrong labels",
        actor="alice",
        actor_kind="user",
    )

    elsewhere, there = (
        viewer.get(f"/models/digits/versions/2/?environment={name}").content.decode().partition('id="report-title"')[2]
        for name in ("staging", "prod")
    )

    assert "banned there" in there
    assert "by alice: wrong labels. A promotion there is refused until" in there
    assert f'href="/bans/{ban.pk}/lift/"' in there
    assert "banned" not in elsewhere


def test_trying_is_offered_where_a_server_has_the_version(rows: FleetRows, operator: Client) -> None:
    there = operator.get("/models/digits/versions/2/").content.decode()
    ObservedVersion.objects.all().delete()
    nowhere = operator.get("/models/digits/versions/2/").content.decode()

    assert "Try it" in there
    assert "Try it" not in nowhere


def test_a_version_that_was_rejected_has_no_report(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/models/digits/versions/3/").content.decode()

    assert "report-title" not in page


def test_the_bytes_of_an_archived_version_are_removed_by_hand(rows: FleetRows, operator: Client) -> None:
    version = rows.version("digits", 4)
    rows.rollout("digits", "prod", 1, 4)
    where = "/models/digits/versions/4/"
    before = operator.get(where).content.decode()
    Version.objects.filter(pk=version.pk).update(state="archived")

    page, asked = (operator.get(place).content.decode() for place in (where, f"{where}remove-bytes/"))
    answer = operator.post(f"{where}remove-bytes/", {"reason": "wrong weights"})

    assert ("Remove its bytes…" in before, "Remove its bytes…" in page) == (False, True)
    assert "cannot be undone" in asked
    assert "Its copy in repository prod-models goes too: 8.4 KiB." in asked
    version.refresh_from_db()
    assert (answer.status_code, version.state, version.artifact) == (302, "removed", None)


def test_a_rejected_configuration_is_shown_by_the_line_that_is_wrong(rows: FleetRows, viewer: Client) -> None:
    with pytest.raises(ConfigUnparsable) as refused:
        CONFIG.parse('name: "digits"\nmax_batchsize: 4 # <script>\n')
    error = {"code": refused.value.code, "message": refused.value.message, "facts": dict(refused.value.facts)}
    rows.version("digits", 9, state="rejected", error=error)

    page = viewer.get("/models/digits/versions/9/").content.decode()

    assert ">2 | max_batchsize: 4 # &lt;script&gt;</pre>" in page
