"""Fields that several forms share, and ways out that a refusal offers."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from apps.common.errors import ControlPlaneError

EVERYWHERE = "*"


def reason_field(*, label: str = "Why", is_required: bool = True) -> forms.CharField:
    """Asks why; what is typed is what the next person reads in the history."""
    return forms.CharField(
        label=label,
        required=is_required,
        max_length=2_000,
        help_text="The next person reads this in the history.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def environment_choices(names: Iterable[str]) -> list[tuple[str, str]]:
    """Every environment, and all of them at once."""
    return [(EVERYWHERE, "every environment"), *((name, name) for name in names)]


def choose(form: forms.Form, name: str, choices: Iterable[tuple[object, str]]) -> None:
    """Give a choice field its choices."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{name} is not a choice field")
    field.choices = list(choices)


class ConfirmingForm(forms.Form):
    """A form that can be refused with a way on: the refusal adds the box to tick, the next try carries it.

    `confirm` collects what a person has agreed to, `skip` the servers left out on purpose.
    """

    CONFIRMS: Mapping[str, tuple[str, str]] = {
        "placement_held": ("hold", "Go on, and let go of the hold"),
        "interface_changed": ("interface", "The clients can follow: change the inputs and outputs"),
        "preflight_warnings": ("warnings", "I have read the warnings of preflight: go on"),
        "model_served_unplaced": ("unplaced", "Replace the versions that are served there outside Conch"),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for word, label in self.CONFIRMS.values():
            if f"confirm_{word}" in self.data:
                self._add_box(f"confirm_{word}", label)
        for name in self.data:
            if name.startswith("skip_"):
                self._add_box(name, f"Leave out {name.removeprefix('skip_')}")

    @property
    def confirmed(self) -> list[str]:
        """The words of the boxes that are ticked."""
        ticked = (name for name, value in self.cleaned_data.items() if value is True)
        return [name.removeprefix("confirm_") for name in ticked if name.startswith("confirm_")]

    @property
    def skipped(self) -> list[str]:
        """The servers whose boxes are ticked."""
        ticked = (name for name, value in self.cleaned_data.items() if value is True)
        return [name.removeprefix("skip_") for name in ticked if name.startswith("skip_")]

    def offer(self, error: ControlPlaneError) -> None:
        """Add the boxes that answer `error`."""
        if error.code in self.CONFIRMS:
            word, label = self.CONFIRMS[error.code]
            self._add_box(f"confirm_{word}", label)
        if error.code == "servers_down" and isinstance(error.facts.get("servers"), list):
            for server in error.facts["servers"]:
                self._add_box(f"skip_{server}", f"Leave out {server}")

    def _add_box(self, name: str, label: str) -> None:
        self.fields[name] = forms.BooleanField(label=label[:200], required=False)
