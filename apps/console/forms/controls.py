"""Forms for a rollout on its way."""

from collections.abc import Iterable
from typing import Any

from django import forms

from apps.console.forms.base import choose, reason_field


class ServerRetryForm(forms.Form):
    """Which failed server is tried again."""

    server = forms.ChoiceField()
    reason = reason_field()

    def __init__(self, *args: Any, servers: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "server", [(name, name) for name in servers])


class GateForm(forms.Form):
    """Which gate is passed unjudged."""

    gate = forms.ChoiceField()
    reason = reason_field()

    def __init__(self, *args: Any, gates: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "gate", [(name, name) for name in gates])
