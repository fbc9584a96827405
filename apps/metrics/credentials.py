"""What Prometheus, or the proxy in front of it, is told of who asks: a bearer token, and headers as for a tenant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from requests import PreparedRequest

from apps.metrics.errors import PrometheusTokenUnusable

HIDDEN = "[token]"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The token is given, or lies in a file that somebody else may renew at any time."""

    token: str = field(default="", repr=False)
    token_file: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Credentials":
        """As the settings name them."""
        headers = tuple(given["prometheus_headers"].items())
        return cls(given["prometheus_token"], given["prometheus_token_file"], headers)

    @property
    def has_token(self) -> bool:
        """Whether a token is to be sent, wherever it is from."""
        return bool(self.token or self.token_file)

    def sign(self, request: PreparedRequest) -> PreparedRequest:
        """Put today's token on a request; PrometheusTokenUnusable."""
        request.headers["Authorization"] = f"Bearer {self._current()}"
        return request

    def _current(self) -> str:
        where = self.token_file or "CONCH_PROMETHEUS_TOKEN"
        try:
            token = Path(self.token_file).read_text(encoding="utf-8").strip() if self.token_file else self.token.strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else "not text"
            raise PrometheusTokenUnusable(f"The token for Prometheus cannot be read: {where}: {why.lower()}") from error
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise PrometheusTokenUnusable(f"The token for Prometheus is not one: {where} is empty, or has spaces in it")
        return token


def without_secret(text: str, sent: Mapping[str, str]) -> str:
    """Words from outside without what was `sent` as Authorization: proxies are known to answer with what they got."""
    secret = sent.get("Authorization", "").rpartition(" ")[2]
    return text.replace(secret, HIDDEN) if secret else text


NOBODY = Credentials()
