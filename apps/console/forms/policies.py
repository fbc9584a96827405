"""The form for an environment's policy."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms

from apps.common.reading import Decoder
from apps.common.text import whole_number
from apps.console.forms.base import reason_field

# What a policy says that has no question of its own here.
OTHERS = ("shadow", "self_heal", "guard", "drop_standby")
GATES_EXAMPLE = '[{"name": "p99", "signal": "latency_quantile", "against": "objective", "window_s": 60}]'
FREEZE_EXAMPLE = '[{"cron": "0 18 * * 5", "duration_s": 216000, "zone": "Europe/Berlin", "reason": "weekend"}]'


class JsonField(forms.JSONField):
    """JSON, shown one line for each entry."""

    widget = forms.Textarea(attrs={"rows": 4, "class": "code", "spellcheck": "false"})

    def __init__(self, **options: Any) -> None:
        super().__init__(decoder=Decoder, **options)

    def prepare_value(self, value: Any) -> Any:
        """Entries one below the other."""
        if isinstance(value, dict) and value:
            return "{" + ",\n ".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in value.items()) + "}"
        if isinstance(value, list) and value:
            return "[" + ",\n ".join(json.dumps(one) for one in value) + "]"
        return super().prepare_value(value)


class PolicyForm(forms.Form):
    """How promotions go here. The service checks it; this form only knows the questions."""

    waves = forms.CharField(
        help_text="How many servers are done after each wave, such as 1, 25%, 100%. The last is 100%."
    )
    parallel = forms.IntegerField(min_value=1, label="Servers at a time within a wave")
    bake_s = forms.IntegerField(min_value=0, label="Bake after each wave, seconds")
    final_bake_s = forms.IntegerField(min_value=0, label="Bake after the last wave, seconds")
    gates = JsonField(
        required=False, help_text=f"Judged while baking, and failures already during a wave. Such as {GATES_EXAMPLE}"
    )
    inconclusive = forms.ChoiceField(
        label="When a gate cannot be judged",
        choices=[("pause", "pause"), ("roll_back", "roll back"), ("go_on", "go on")],
        help_text="No data is never a pass.",
    )
    failure = forms.ChoiceField(
        label="When a server fails", choices=[("roll_back", "roll back"), ("pause", "pause, so that it can be retried")]
    )
    approval = forms.ChoiceField(
        choices=[("none", "none"), ("another", "by someone else than who asks for the promotion")]
    )
    progress_deadline_s = forms.IntegerField(
        min_value=10,
        label="Progress deadline, seconds",
        help_text="A rollout that gets no further for this long fails and is put back.",
    )
    standby_window_s = forms.IntegerField(
        min_value=0,
        label="Standby window, seconds",
        help_text="How long the old version stays loaded after a switch: rolling back is instant. 0: not at all.",
    )
    after_environment = forms.CharField(
        required=False, label="Only after it ran in", help_text="An environment. Empty: promotions may begin here."
    )
    after_minutes = forms.IntegerField(required=False, min_value=0, label="for so many minutes")
    freeze = JsonField(
        required=False, label="Freeze windows", help_text=f"Promotions are refused then. Such as {FREEZE_EXAMPLE}"
    )
    synthetic_requests = forms.IntegerField(
        required=False,
        min_value=0,
        label="Synthetic requests per server and judgement",
        help_text="From the model's samples, where a server has too little traffic to be judged. 0: none.",
    )
    others = JsonField(
        required=False,
        label="Shadow, healing, guard",
        help_text="The keys shadow, self_heal, guard and drop_standby; those left out get their defaults.",
    )
    reason = reason_field(label="Why (may be left empty)", is_required=False)
    based_on = forms.IntegerField(widget=forms.HiddenInput)

    def clean_others(self) -> dict[str, Any]:
        """Only what has no field of its own."""
        given = self.cleaned_data["others"] or {}
        if not isinstance(given, dict) or set(given) - set(OTHERS):
            raise forms.ValidationError(f"Write an object with only these keys: {', '.join(OTHERS)}.")
        return given

    @staticmethod
    def of(document: Mapping[str, Any]) -> dict[str, Any]:
        """A policy's document as this form shows it."""
        after, synthetic = document.get("after") or {}, document.get("synthetic") or {}
        return {
            **document,
            "waves": ", ".join(map(str, document["waves"])),
            "after_environment": after.get("environment", ""),
            "after_minutes": after.get("minutes"),
            "synthetic_requests": synthetic.get("requests", 0),
            "others": {key: document[key] for key in OTHERS if key in document},
        }

    def onto(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The document with what was filled in; what the form does not ask for stays."""
        given = dict(self.cleaned_data)
        del given["reason"], given["based_on"]
        environment, minutes = given.pop("after_environment"), given.pop("after_minutes")
        requests = given.pop("synthetic_requests")
        given["waves"] = [_wave(one) for one in given["waves"].replace(",", " ").split()]
        given["gates"], given["freeze"] = given["gates"] or [], given["freeze"] or []
        given["after"] = {"environment": environment, "minutes": minutes or 0} if environment else None
        given["synthetic"] = {"requests": requests} if requests else None
        others = given.pop("others")
        kept = {key: value for key, value in document.items() if key not in OTHERS}
        return {**kept, **given, **others}


def _wave(text: str) -> int | str:
    """A number of servers, or the words as they are: a share, or what is to be refused."""
    number = whole_number(text)
    return text if number is None else number
