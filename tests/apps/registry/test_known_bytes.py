"""Bytes that are in the store already need not be sent."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.common.errors import NotAllowed
from apps.registry import services
from apps.registry.errors import (
    ArtifactUnknown,
)
from apps.registry.models import Artifact, Version
from apps.registry.services import Wanted
from tests.apps.registry.conftest import files_under
from tests.apps.registry.sending import CONTENT, DIGEST, OPERATOR, VIEWER, Begin


def test_bytes_that_are_known_need_not_be_sent(begin: Begin, arrive: Callable[..., Version], store: Path) -> None:
    first = arrive(CONTENT)
    before = files_under(store)

    upload = begin(sha256=DIGEST, may_skip_bytes=True, notes="again")

    second = upload.version
    assert second is not None
    services.check_version(second.pk, now=timezone.now())
    second.refresh_from_db()
    assert (upload.received_bytes, second.number, second.state, second.notes) == (len(CONTENT), 2, "ready", "again")
    assert (second.config, second.signature, second.backend) == (first.config, first.signature, first.backend)
    assert "as demo version 1; none were sent" in second.remarks[-1]
    assert (files_under(store), Artifact.objects.count()) == (before, 1)


def test_known_bytes_are_still_checked_against_the_model_they_are_for(arrive: Callable[..., Version]) -> None:
    arrive(CONTENT)
    services.register_model(COMMAND, name="another")

    version = services.add_known_version(OPERATOR, model="another", sha256=DIGEST, wanted=Wanted())
    services.check_version(version.pk, now=timezone.now())

    version.refresh_from_db()
    assert (version.state, version.error["code"]) == ("rejected", "name_mismatch")


def test_bytes_of_another_size_are_not_the_known_ones(begin: Begin, arrive: Callable[..., Version]) -> None:
    arrive(CONTENT)

    upload = begin(content=CONTENT + b"more", sha256=DIGEST, may_skip_bytes=True)

    assert (upload.version, upload.received_bytes) == (None, 0)


def test_bytes_that_were_never_checked_are_not_known(begin: Begin, receive: Callable[..., Version]) -> None:
    receive(CONTENT)

    with pytest.raises(ArtifactUnknown):
        services.add_known_version(OPERATOR, model="demo", sha256=DIGEST, wanted=Wanted())

    assert begin(sha256=DIGEST, may_skip_bytes=True).version is None


def test_who_may_only_look_cannot_make_a_version_of_known_bytes(arrive: Callable[..., Version]) -> None:
    arrive(CONTENT)

    with pytest.raises(NotAllowed):
        services.add_known_version(VIEWER, model="demo", sha256=DIGEST, wanted=Wanted())
