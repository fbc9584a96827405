"""The first account and tokens."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from apps.access import services
from apps.access.errors import TokenInvalid
from apps.access.models import ApiToken

pytestmark = pytest.mark.django_db
FILES = ("password", "token", "sd-token")


def bootstrap(folder: Path) -> dict[str, str]:
    arguments = [f"--{name}-file={folder / name}" for name in FILES]
    call_command("bootstrap", "--username=admin", *arguments)
    return {name: (folder / name).read_text(encoding="utf-8").strip() for name in FILES}


def test_it_makes_an_admin_and_both_tokens(tmp_path: Path) -> None:
    made = bootstrap(tmp_path / "secrets")

    user = User.objects.get(username="admin")
    assert user.check_password(made["password"])
    assert services.may(services.actor_of(user, door="console", address=""), "add_user")
    assert services.authenticate(made["token"], address="").scopes == frozenset({"admin"})
    assert services.authenticate(made["sd-token"], address="").scopes == frozenset({"sd:read"})


def test_its_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    bootstrap(tmp_path)

    assert {(tmp_path / name).stat().st_mode & 0o777 for name in FILES} == {0o600}


def test_running_it_again_changes_nothing(tmp_path: Path) -> None:
    first = bootstrap(tmp_path)

    second = bootstrap(tmp_path)

    assert second == first
    assert ApiToken.objects.count() == 2


def test_a_lost_token_file_is_written_anew_and_the_lost_token_ends(tmp_path: Path) -> None:
    lost = bootstrap(tmp_path)["token"]
    (tmp_path / "token").unlink()

    found = bootstrap(tmp_path)["token"]

    assert services.authenticate(found, address="").scopes == frozenset({"admin"})
    with pytest.raises(TokenInvalid):
        services.authenticate(lost, address="")


def test_tokens_of_another_database_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("conch_from_elsewhere\n", encoding="utf-8")

    made = bootstrap(tmp_path)

    assert services.authenticate(made["token"], address="").name == "bootstrap-admin"


def test_the_password_file_is_what_counts(tmp_path: Path) -> None:
    bootstrap(tmp_path)
    (tmp_path / "password").write_text("chosen by a person\n", encoding="utf-8")

    bootstrap(tmp_path)

    assert User.objects.get(username="admin").check_password("chosen by a person")
