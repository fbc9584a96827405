"""Rows whose pages have a number or a name of their own in their address, and where those pages are."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from apps.access.models import ApiToken
from apps.deployments.models import Ban, Release, Rollout, Trial
from apps.registry.models import Upload, Version
from tests.factories.fleets import FleetRows


def numbered_pages(rows: FleetRows, moving: Rollout, *, owner: User) -> list[str]:
    """One of each; the upload is the owner's, who alone may see it."""
    at = f"/rollouts/{moving.pk}/"
    return [
        *(f"{at}{verb}/" for verb in ("approve", "resume", "retry")),
        *_release(moving),
        *_access(),
        *_uploads(rows, owner),
        _trial(rows),
        _ban(rows, moving),
    ]


def _release(moving: Rollout) -> list[str]:
    home = moving.placement.environment
    made = Release.objects.create(environment=home, actor="alice", actor_kind="user", items={"digits": 2})
    Rollout.objects.filter(pk=moving.pk).update(release=made)
    at = f"/releases/{made.pk}/"
    return [at, *(f"{at}{verb}/" for verb in ("approve", "pause", "resume", "abort", "roll-back"))]


def _access() -> list[str]:
    User.objects.create_user("bob")
    token = ApiToken.objects.create(name="ci", digest="0" * 64, scopes=["promote"], issued_by="bob")
    return [f"/tokens/{token.pk}/revoke/", "/people/bob/password/", "/people/bob/close/"]


def _uploads(rows: FleetRows, owner: User) -> list[str]:
    later = timezone.now() + timedelta(hours=1)
    upload = Upload.objects.create(
        key="f" * 32,
        model=rows.models["digits"],
        owner=f"user:{owner.pk}",
        actor={"name": owner.username, "kind": "user"},
        state="numbering",
        wanted={"number": 2, "filename": "digits.zip"},
        size_bytes=9,
        received_bytes=9,
        expires_at=later,
    )
    waiting = rows.version("digits", 8, state="received")
    Version.objects.filter(pk=waiting.pk).update(state="choosing", choices=["1", "7"], choose_until=later)
    model = "/models/digits/"
    return [
        *(f"{model}uploads/{upload.key}/{verb}/" for verb in ("number", "discard")),
        *(f"{model}versions/8/{verb}" for verb in ("", "choose/", "discard/")),
    ]


def _trial(rows: FleetRows) -> str:
    made = Trial.objects.create(
        model=rows.models["digits"],
        version=1,
        server=rows.servers["prod-1"],
        state="answered",
        inputs=[{"name": "pixels", "datatype": "FP32", "shape": [1, 64], "data": [0.5] * 64}],
        answer={
            "outputs": [{"name": "label", "datatype": "INT64", "shape": [1, 1], "data": [7]}],
            "latency_us": 3_100,
            "spent": {"queue_us": 20, "input_us": 10, "infer_us": 2_900, "output_us": 9, "requests": 1},
        },
        created_by="alice",
        finished_at=timezone.now(),
    )
    return f"/trials/{made.pk}/"


def _ban(rows: FleetRows, moving: Rollout) -> str:
    made = Ban.objects.create(
        placement=moving.placement,
        version=rows.versions["digits", 2],
        artifact_digest="1" * 64,
        config_digest="2" * 64,
        reason="wrong labels",
        actor="alice",
        actor_kind="user",
    )
    return f"/bans/{made.pk}/lift/"
