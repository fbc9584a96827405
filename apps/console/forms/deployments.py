"""Forms for changes of what is live."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from apps.console.forms.base import ConfirmingForm, choose, reason_field

OVERLAY_EXAMPLE = """instance_group.count=2
dynamic_batching.max_queue_delay_microseconds=500
parameters.THREADS=4"""


class PromoteForm(ConfirmingForm):
    """Which version goes live, where."""

    environment = forms.ChoiceField()
    version = forms.TypedChoiceField(coerce=int)
    reason = reason_field(label="Why (may be left empty)", is_required=False)

    def __init__(self, *args: Any, environments: Iterable[str], versions: Iterable[int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "environment", [(name, name) for name in environments])
        choose(self, "version", [(str(number), str(number)) for number in versions])


class RollBackForm(ConfirmingForm):
    """Which version to go back to, whether what is live now is banned, and why."""

    CONFIRMS: Mapping[str, tuple[str, str]] = {
        **ConfirmingForm.CONFIRMS,
        "needed_by_ensemble": ("ensemble", "Go back all the same: the ensembles that are named stop"),
    }

    to = forms.TypedChoiceField(label="Back to version", coerce=int)
    reason = reason_field()
    ban = forms.BooleanField(required=False, help_text="While banned it cannot be promoted here, by anybody.")

    def __init__(self, *args: Any, targets: Iterable[tuple[int, str]], bans: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "to", [(str(number), words) for number, words in targets])
        self.fields["ban"].label = bans
        if not bans:
            del self.fields["ban"]


class UnloadForm(ConfirmingForm):
    """Why the model goes."""

    reason = reason_field()


class OverlayForm(ConfirmingForm):
    """What the environment sets otherwise, line by line, and why."""

    changes = forms.CharField(
        required=False,
        max_length=20_000,
        label="What this environment sets otherwise",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "placeholder": OVERLAY_EXAMPLE}),
        help_text="One field a line, path=value. An empty value takes the field away; no line at all: as uploaded.",
    )
    reason = reason_field()


class RestoreOverlayForm(ConfirmingForm):
    """Why it goes back."""

    reason = reason_field()


class WarmupForm(forms.Form):
    """How often a seldom-used model is kept warm."""

    minutes = forms.FloatField(label="Every so many minutes", min_value=0.1, max_value=10_080, initial=10)
    is_enabled = forms.BooleanField(label="Switched on", required=False, initial=True)
