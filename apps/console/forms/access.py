"""Forms for tokens and people."""

from collections.abc import Iterable
from typing import Any

from django import forms

from apps.access.verbs import SCOPES, Role
from apps.console.forms.base import EVERYWHERE, choose, environment_choices

SCOPE_WORDS = {
    "read": "read: look at everything",
    "sd:read": "sd:read: Prometheus service discovery only",
    "in-service:read": "in-service:read: for load balancers, whether a server is in service, only",
    "deploy": "deploy: upload, promote, roll back",
    "admin": "admin: everything",
}
DAYS = ((30, "30 days"), (90, "90 days"), (365, "a year"), (0, "never"))


class ReasonlessForm(forms.Form):
    """Nothing to fill in: pressing the button is the answer."""


class TokenForm(forms.Form):
    """What a new token is called and may do."""

    name = forms.CharField(max_length=128, help_text="Who uses it, for example ci-main.")
    scopes = forms.MultipleChoiceField(
        choices=[(scope, SCOPE_WORDS.get(scope, scope)) for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple,
        initial=["deploy"],
    )
    environment = forms.ChoiceField(label="Where")
    days = forms.TypedChoiceField(label="Expires after", choices=DAYS, coerce=int, initial=90)

    def __init__(self, *args: Any, environments: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "environment", environment_choices(environments))
        self.fields["environment"].initial = EVERYWHERE


class PasswordForm(forms.Form):
    """A password for somebody else."""

    password = forms.CharField(
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 12 characters. Tell it to them in person; they can change it.",
    )


class UserForm(PasswordForm):
    """A new account."""

    username = forms.CharField(label="User name", max_length=128)
    field_order = ("username", "password")


class GrantForm(forms.Form):
    """A role for a person."""

    username = forms.CharField(label="User name", max_length=150)
    role = forms.ChoiceField(
        required=False, choices=[*((str(role), str(role)) for role in Role), ("", "no role (take it away)")]
    )
    environment = forms.ChoiceField(label="Where")

    def __init__(self, *args: Any, environments: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "environment", environment_choices(environments))
        self.fields["environment"].initial = EVERYWHERE
