"""Forms for releases."""

import re
from collections.abc import Iterable
from typing import Any

from django import forms

from apps.common.text import printable
from apps.console.forms.base import ConfirmingForm, choose, reason_field

_ITEM = re.compile(r"(\S{1,128})\s+([1-9][0-9]{0,17})")


class ReleaseForm(ConfirmingForm):
    """Which versions of which models go live together, where."""

    environment = forms.ChoiceField()
    items = forms.CharField(
        label="Models, one a line with its version",
        max_length=10_000,
        help_text="For example: tokenizer 3",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )
    reason = reason_field(label="Why (may be left empty)", is_required=False)

    def __init__(self, *args: Any, environments: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "environment", [(name, name) for name in environments])

    def clean_items(self) -> list[dict[str, Any]]:
        """The lines as models and versions."""
        lines = [line.strip() for line in self.cleaned_data["items"].splitlines() if line.strip()]
        found = [_ITEM.fullmatch(line) for line in lines]
        for line, item in zip(lines, found, strict=True):
            if item is None:
                raise forms.ValidationError(
                    f"Write a model's name and a version's number, not {printable(line)[:80]!r}."
                )
        return [{"model": item[1], "version": int(item[2])} for item in found if item is not None]


class ReleaseBackForm(forms.Form):
    """Why a release goes back, and whether its versions are banned."""

    reason = reason_field()
    ban = forms.BooleanField(
        label="Ban the versions it brought until somebody lifts that",
        required=False,
        help_text="While banned they cannot be promoted here, by anybody.",
    )
