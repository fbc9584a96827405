"""How an environment is changed: waves, bakes, gates, approval, freezes. Pure; a document in, a frozen Policy out."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import accumulate, islice, pairwise
from math import ceil
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from apps.common.text import printable
from apps.deployments.errors import PolicyInvalid
from apps.metrics.gates import Gate

DAY_S = 86_400
_SHARE = re.compile(r"([1-9][0-9]?|100)%")
_MOST_TOLD, _MOST_SERVERS = 5, 1_000_000
# Back-to-back windows that are followed to find when promotions may begin again.
_MOST_WINDOWS = 400

Whole = Annotated[int, Field(strict=True)]


def _wave(value: Any) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_SERVERS:
        return value
    if isinstance(value, str) and _SHARE.fullmatch(value):
        return value
    raise ValueError('write a number of servers such as 1, or a share such as "25%"')


Wave = Annotated[int | str, BeforeValidator(_wave)]


class Approval(StrEnum):
    """Who must agree before a promotion begins."""

    NONE = "none"
    ANOTHER = "another"


class Unclear(StrEnum):
    """What happens when a bake is over and a gate could not be judged."""

    PAUSE = "pause"
    ROLL_BACK = "roll_back"
    GO_ON = "go_on"


class OnFailure(StrEnum):
    """What a promotion does when a run failed."""

    ROLL_BACK = "roll_back"
    PAUSE = "pause"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Freeze(_Part):
    """A window without promotions: begins when `cron` says so in `zone`, and lasts `duration_s`."""

    cron: str = Field(max_length=200)
    duration_s: Whole = Field(ge=60, le=366 * DAY_S)
    zone: str = "UTC"
    reason: str = Field(default="", max_length=300)

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, value: str) -> str:
        try:
            CronSim(value, datetime(2026, 1, 1))  # noqa: DTZ001 - only read for its syntax
        except CronSimError as error:
            raise ValueError(f"{error}; write minute hour day month weekday, such as 0 18 * * 5") from error
        return value

    @field_validator("zone")
    @classmethod
    def _is_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("there is no such time zone; write one such as Europe/Berlin") from error
        return value

    @model_validator(mode="after")
    def _opens(self) -> Self:
        length = timedelta(seconds=self.duration_s)
        begins = islice(CronSim(self.cron, datetime(2026, 1, 1, tzinfo=ZoneInfo(self.zone))), _MOST_WINDOWS)
        # The first gap answers: 400 beginnings of a leap day are 1,600 years of counting.
        if not any(later - earlier > length for earlier, later in pairwise(begins)):
            raise ValueError("it never ends: duration_s must be shorter than from one beginning to the next")
        return self

    def end(self, now: datetime) -> datetime | None:
        """When the window that `now` is in ends; None outside."""
        just_after = (now + timedelta(seconds=1)).astimezone(ZoneInfo(self.zone))
        began = next(CronSim(self.cron, just_after, reverse=True), None)
        end = began + timedelta(seconds=self.duration_s) if began is not None else now
        return end if end > now else None


class After(_Part):
    """The same bytes and configuration must have run well in `environment` for so many minutes."""

    environment: str = Field(min_length=1, max_length=128)
    minutes: Whole = Field(default=0, ge=0, le=525_600)


class ShadowLoad(_Part):
    """Requests sent to the shadow and to the serving version alike; the shadow may be `ratio_limit` as slow."""

    requests: Whole = Field(default=100, ge=1, le=100_000)
    clients: Whole = Field(default=2, ge=1, le=64)
    ratio_limit: float = Field(default=1.5, gt=0, le=1_000)


class Shadow(_Part):
    """When a version is tried aside first, and under which load."""

    when: Literal["always", "unproven", "never"] = "always"
    load: ShadowLoad | None = None


class Guard(_Part):
    """How much slower a load may make the server's other models before the rollout pauses."""

    ratio: float = Field(default=3.0, ge=1, le=1_000)
    minimum_ms: float = Field(default=20.0, ge=0, le=60_000)
    minimum_requests: Whole = Field(default=20, ge=1, le=1_000_000)


class Synthetic(_Part):
    """Requests from the model's samples where a server has too little traffic: so many per server and judgement."""

    requests: Whole = Field(default=20, ge=1, le=200)


class Policy(_Part):
    """How promotions go in one environment. What a document does not name has the default."""

    waves: tuple[Wave, ...] = Field(default=("100%",), min_length=1, max_length=50)
    parallel: Whole = Field(default=1, ge=1, le=1_000)
    bake_s: Whole = Field(default=0, ge=0, le=7 * DAY_S)
    final_bake_s: Whole = Field(default=0, ge=0, le=7 * DAY_S)
    gates: tuple[Gate, ...] = Field(default=(), max_length=20)
    inconclusive: Unclear = Unclear.PAUSE
    failure: OnFailure = OnFailure.ROLL_BACK
    approval: Approval = Approval.NONE
    progress_deadline_s: Whole = Field(default=600, ge=10, le=DAY_S)
    standby_window_s: Whole = Field(default=1_800, ge=0, le=30 * DAY_S)
    freeze: tuple[Freeze, ...] = Field(default=(), max_length=50)
    after: After | None = None
    synthetic: Synthetic | None = None
    shadow: Shadow = Shadow()
    self_heal: StrictBool = True
    guard: Guard | None = Guard()
    drop_standby: StrictBool = False

    @field_validator("waves")
    @classmethod
    def _grow(cls, waves: tuple[Wave, ...]) -> tuple[Wave, ...]:
        """Counts and shares each grow; how a count compares with a share depends on the fleet."""
        counts = [wave for wave in waves if isinstance(wave, int)]
        shares = [int(wave.rstrip("%")) for wave in waves if isinstance(wave, str)]
        if any(steps != sorted(set(steps)) for steps in (counts, shares)):
            raise ValueError('each wave says how many servers are done when it ends, so they grow: [1, "25%", "100%"]')
        if waves[-1] != "100%":
            raise ValueError('the last wave must reach every server: end with "100%"')
        return waves

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = [gate.name for gate in self.gates]
        if len(names) != len(set(names)):
            raise ValueError(f"gates need different names, these are {', '.join(names)}")
        if names and not self.bake_s and not self.final_bake_s:
            raise ValueError("gates are judged in a bake: set bake_s or final_bake_s")
        return self

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        """The policy that a document describes, or PolicyInvalid naming the field, the cause and what is right."""
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise _refusal(error) from error

    @classmethod
    def kept(cls, document: Mapping[str, Any]) -> Self:
        """A policy kept with a row, perhaps by another release: what is not known now is left out."""
        return cls.model_validate({key: value for key, value in document.items() if key in cls.model_fields})

    def document(self) -> dict[str, Any]:
        """As JSON, with every key."""
        return self.model_dump(mode="json")

    def wave_sizes(self, servers: int) -> tuple[int, ...]:
        """How many servers each wave takes, in order; waves that would take none are left out."""
        sizes: list[int] = []
        for wave in self.waves:
            reached = wave if isinstance(wave, int) else ceil(servers * int(wave.rstrip("%")) / 100)
            size = min(reached, servers) - sum(sizes)
            if size > 0:
                sizes.append(size)
        return tuple(sizes)

    def bake_after(self, wave: int, *, waves: int) -> int:
        """Seconds to bake after a wave, counted from 0."""
        return self.final_bake_s if wave + 1 >= waves else self.bake_s

    def frozen_until(self, now: datetime) -> datetime | None:
        """When promotions may begin again; None when they may begin now."""
        opens = now
        for _ in range(_MOST_WINDOWS):
            ends = [end for freeze in self.freeze if (end := freeze.end(opens)) is not None]
            if not ends:
                break
            opens = max(ends)
        return opens if opens > now else None


def wave_of(sizes: Sequence[int], position: int) -> int:
    """The wave in which the server at `position` goes, counted from 0; without any sizes there is one wave."""
    ends = accumulate(sizes)
    return next((wave for wave, end in enumerate(ends) if position < end), max(len(sizes) - 1, 0))


def _refusal(error: ValidationError) -> PolicyInvalid:
    faults = error.errors(include_url=False)
    told = list(dict.fromkeys(f"{_place(fault['loc'])}: {_cause(fault)}" for fault in faults))
    return PolicyInvalid("; ".join(told[:_MOST_TOLD]), field=_place(faults[0]["loc"]), faults=told)


def _cause(fault: ErrorDetails) -> str:
    if fault["type"] == "extra_forbidden":
        return "there is no such setting"
    return fault["msg"].removeprefix("Value error, ").replace("Input should", "it should", 1)


def _place(location: tuple[int | str, ...]) -> str:
    """Dotted, such as gates.0.limit; what a sender wrote as a name is cut."""
    return printable(".".join(map(str, location)), limit=80) or "policy"
