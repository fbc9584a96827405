"""Control keys at rest: encrypted under the installation's secret key, shown to nobody again."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from apps.fleet.errors import ControlValueSealed

_PURPOSE = b"conch: control value of a server\x00"


def seal(value: str) -> str:
    """`value` encrypted; empty stays empty."""
    return _fernet().encrypt(value.encode()).decode() if value else ""


def unseal(sealed: str, *, server: str) -> str:
    """What was sealed, or ControlValueSealed when the secret key is another one now."""
    if not sealed:
        return ""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise ControlValueSealed(f"{server}: its control key cannot be opened", server=server) from error


def _fernet() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(_PURPOSE + settings.SECRET_KEY.encode()).digest()))
