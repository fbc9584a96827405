"""The first account and tokens, so that an installation can be signed in to and scripted."""

import argparse
import os
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import transaction
from django.utils import timezone

from apps.access import services
from apps.access.errors import TokenInvalid
from apps.access.models import ApiToken
from apps.access.verbs import SD_READ
from apps.common.actor import COMMAND

API_TOKEN_LIFE = timedelta(days=365)


class Command(BaseCommand):
    """Make sure that an admin, an API token and a service discovery token exist and that their files are right."""

    help = (
        "Creates the admin account, an API token (scope admin, one year) and a token for Prometheus (scope sd:read, "
        "no expiry). A file that is missing or no longer right is written anew, readable by its owner only. "
        "A password file that exists sets the account's password. Running it again changes nothing."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The account's name and the three files."""
        parser.add_argument("--username", required=True)
        parser.add_argument("--password-file", type=Path, required=True)
        parser.add_argument("--token-file", type=Path, required=True)
        parser.add_argument("--sd-token-file", type=Path, required=True)

    @transaction.atomic
    def handle(self, *_args: Any, **options: Any) -> None:
        """Bring accounts, tokens and files into agreement."""
        self._ensure_admin(options["username"], options["password_file"])
        self._ensure_token("bootstrap-admin", "admin", options["token_file"], life=API_TOKEN_LIFE)
        self._ensure_token("bootstrap-discovery", SD_READ, options["sd_token_file"], life=None)

    def _ensure_admin(self, username: str, file: Path) -> None:
        password = _content(file)
        if not password:
            password = secrets.token_urlsafe(18)
            _write_private(file, password)
        user = User.objects.filter(username=username).first()
        if user is None:
            services.add_user(COMMAND, username=username, password=password, is_superuser=True)
            self.stdout.write(f"created the admin {username}; the password is in {file}")
        elif not (user.is_superuser and user.is_active and user.check_password(password)):
            user.is_superuser = user.is_active = True
            user.set_password(password)
            user.save()
            self.stdout.write(f"made {username} an admin with the password in {file}")

    def _ensure_token(self, name: str, scope: str, file: Path, *, life: timedelta | None) -> None:
        if _is_good(_content(file), scope):
            return
        for token in ApiToken.objects.filter(name=name, issued_by=COMMAND.name, revoked_at=None):
            services.revoke_token(COMMAND, token.pk)
        expires_at = None if life is None else timezone.now() + life
        _, secret = services.issue_token(COMMAND, name=name, scopes=[scope], expires_at=expires_at)
        _write_private(file, secret)
        self.stdout.write(f"issued a token of scope {scope} into {file}")


def _is_good(secret: str, scope: str) -> bool:
    try:
        return services.authenticate(secret, address="").scopes == frozenset({scope})
    except TokenInvalid:
        return False


def _content(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _write_private(file: Path, content: str) -> None:
    """Write beside and rename: the file is never readable by others, nor half written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(content + "\n")
    beside.replace(file)
