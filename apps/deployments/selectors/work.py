"""What a worker needs to know about one run, read once a turn."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from django.db.models import Exists, F, OuterRef, Prefetch, prefetch_related_objects

from apps.deployments import plan
from apps.deployments.models import Overlay, Rollout, Run, StepRun
from apps.deployments.policy import Policy
from apps.deployments.selectors.changes import Change, change_of, warmups_for
from apps.deployments.selectors.ensembles import Ensemble, ensembles_on, samples_of
from apps.deployments.selectors.memory import Expectations
from apps.deployments.selectors.overlays import document_by_digest
from apps.deployments.selectors.rollouts import state_of
from apps.deployments.states import RolloutKind, RunDirection, RunState, StepState
from apps.fleet import selectors as fleet
from apps.fleet.models import Server
from apps.fleet.repositories import Home, open_home
from apps.registry import selectors as registry
from apps.registry.models import Sample, Version
from apps.serving import backends
from apps.serving.configuration import ConfigFormat

# Letting go of a standby is never worth blocking a rollback for.
RETIRE_DEADLINE_S = 30


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version as the steps need it; `warmup` is what ran against its bytes and config, None if nothing did.

    `under` is the digest of the overlay that `config` is merged with.
    """

    pk: int
    number: int
    config: Mapping[str, Any]
    signature: Mapping[str, Any]
    artifact: Path
    files: list[dict[str, Any]]
    warmup: list[dict[str, Any]] | None
    under: str = ""


@dataclass(frozen=True)
class Work:
    """One run with all it stands on, for one turn of a worker.

    `steps` are those begun so far, by name. `before` is the configuration that a change of overlay replaces,
    `kept` the standby.
    """

    run: Run
    rollout: Rollout
    change: Change
    steps: dict[str, StepRun]
    server: Server
    model: str
    home: Home
    load_deadline_s: int
    progress_deadline_s: int
    keep_standby: bool
    policy: Policy
    config_format: ConfigFormat
    old: Candidate | None
    new: Candidate | None
    before: Candidate | None = None
    kept: Candidate | None = None
    confirmed: frozenset[str] = field(default_factory=frozenset)

    @property
    def samples(self) -> list[Sample]:
        """The model's samples by name; read when first asked for: a switch needs none, and they can be large."""
        prefetch_related_objects([self.run.model], Prefetch("samples", queryset=Sample.objects.order_by("name")))
        return list(self.run.model.samples.all())

    @property
    def takes(self) -> Expectations:
        """What memory the versions take that this is about, where that was measured."""
        return self.change.takes

    @property
    def ensembles(self) -> list[tuple[Ensemble, list[Sample]]]:
        """The live ensembles that the model is a member of, with their samples; read when asked for.

        Not those that go live together with it: they look after themselves.
        """
        coming = self.rollout.release.items if self.rollout.release else {}
        found = [one for one in ensembles_on(self.rollout.placement) if one.model not in coming]
        samples = samples_of([one.model for one in found])
        return [(one, samples[one.model]) for one in found]

    @property
    def stands_beside(self) -> bool:
        """Whether old and new agree on everything but instances and policy, proven warm-up included."""
        if self.old is None or self.new is None:
            return False
        return self.config_format.can_stand_beside(self.config_of(self.old, {1}), self.config_of(self.new, {1}))

    @property
    def sets(self) -> tuple[set[int], set[int]]:
        """The versions loaded while the new one is tried live, and in the end."""
        if self.new is None:
            return set(), set()
        if self.rollout.kind == RolloutKind.RETIRE:
            return {self.new.number}, {self.new.number}
        if self.rollout.kind == RolloutKind.RECONFIGURE:
            kept = {self.new.number} | ({self.kept.number} if self.kept else set())
            return kept, kept
        active = self.old.number if self.old else None
        return plan.sets_between(active, self.new.number, stands_beside=self.stands_beside, keep=self.keep_standby)

    @property
    def at_once(self) -> int:
        """On how many servers this rollout may be at the same time."""
        servers, is_forward = len(self.rollout.plan.get("servers", ())), self.run.direction == RunDirection.FORWARD
        has_waves = self.rollout.goes_in_waves and self.rollout.release_id is None and is_forward
        return min(servers, self.policy.parallel) if has_waves else servers

    @property
    def is_shadow_shared(self) -> bool:
        """Whether another run of this rollout still has its try before it, or is in it, on the same repository."""
        passed = StepRun.objects.filter(run=OuterRef("pk"), name="shadow", state=StepState.SUCCEEDED)
        others = Run.objects.filter(
            rollout=self.rollout, server__repository=self.server.repository, state=RunState.RUNNING
        )
        before = others.exclude(pk=self.run.pk).filter(~Exists(passed), direction=RunDirection.FORWARD)
        # The last comes last: looked for from there, it is found at once, however many have passed already.
        return before.order_by("-pk").values("pk").first() is not None

    @property
    def is_harmless(self) -> bool:
        """Whether a change of overlay restarts nothing: only instances differ."""
        if self.before is None or self.new is None:
            return False
        return self.config_format.can_stand_beside(self.config_of(self.before, {1}), self.config_of(self.new, {1}))

    @cached_property
    def replaced(self) -> Mapping[str, Any] | None:
        """The configuration that what serves on the server runs under and is to run under no longer; None: no other.

        A change of overlay replaces one, and a heal where the server was left under an older one.
        """
        if self.rollout.kind == RolloutKind.RECONFIGURE:
            return self.before.config if self.before else None
        if self.rollout.kind != RolloutKind.HEAL or self.new is None or self.rollout.to_version is None:
            return None
        under = fleet.loaded_under(self.server, model=self.model, version=self.new.number)
        if under in ("", self.new.under):
            return None
        document = document_by_digest(self.rollout.placement, under)
        return self.config_format.merge(self.rollout.to_version.config, document or {})

    def carried(self, versions: Collection[int]) -> Mapping[str, bytes]:
        """The files that a load naming these versions must bring along, if any."""
        known = {one.number: one for one in (self.kept, self.before, self.old, self.new) if one is not None}
        return self.home.carried([known[number] for number in sorted(versions)])

    def config_of(self, candidate: Candidate, versions: set[int]) -> dict[str, Any]:
        """The configuration under which every load of the model names `versions`."""
        return self.config_format.effective(
            candidate.config, name=self.model, versions=sorted(versions), warmup=candidate.warmup or []
        )


def work(run_id: int) -> Work:
    """Everything about one run; the row must exist. What all runs of its rollout share is not read again for each."""
    run = (
        Run.objects.prefetch_related("steps")
        .annotate(begun_at=F("rollout__created_at"), state_now=F("rollout__state"), wave_now=F("rollout__wave"))
        .get(pk=run_id)
    )
    # Asked for by itself: PostgreSQL plans two short questions in a fraction of the time of one over seven tables.
    server = Server.objects.select_related("observation")
    run.server = server.defer("finding", "observation__extensions", "observation__asked").get(pk=run.server_id)
    return _work_on(run, {step.name: step for step in run.steps.all()}, state=run.state_now, wave=run.wave_now)


def work_once_proven(todo: Work) -> Work:
    """The same work after its own try: with the warm-up that was proven there, and the rollout as it stands now."""
    return _work_on(todo.run, todo.steps, state=state_of(todo.rollout.pk), wave=todo.rollout.wave)


def _work_on(run: Any, steps: dict[str, StepRun], *, state: str, wave: int) -> Work:
    change = change_of(run.rollout_id, created_at=run.begun_at)
    rollout = run.rollout = change.rollout(state=state, wave=wave)
    run.model = change.model
    if run.server.repository_id in change.repositories:
        run.server.repository = change.repositories[run.server.repository_id]
    proven = warmups_for(change, direction=run.direction, shadow=steps.get("shadow"))
    policy, standby = change.policy, rollout.placement.standby
    # A heal brings back what is desired: the active version, and the standby beside it.
    beside = standby if rollout.kind == RolloutKind.HEAL else rollout.from_version
    config_format = backends.get(run.server.kind).CONFIG
    old = candidate(beside, proven, config_format, rollout.from_overlay)
    new = candidate(rollout.to_version, proven, config_format, rollout.to_overlay)
    before = new if rollout.kind == RolloutKind.RECONFIGURE and run.direction == RunDirection.REVERT else old
    if run.direction == RunDirection.REVERT:
        old, new = None, old
    return Work(
        run=run,
        rollout=rollout,
        change=change,
        steps=steps,
        server=run.server,
        model=run.model.name,
        home=open_home(run.server.repository),
        load_deadline_s=run.model.load_deadline_s,
        progress_deadline_s=RETIRE_DEADLINE_S if rollout.kind == RolloutKind.RETIRE else policy.progress_deadline_s,
        # What is rolled back stays nowhere: it is banned, and nobody goes back to it.
        keep_standby=policy.standby_window_s > 0 and rollout.kind != RolloutKind.ROLLBACK,
        policy=policy,
        config_format=config_format,
        old=old,
        new=new,
        before=before,
        kept=candidate(standby, proven, config_format, None),
        confirmed=frozenset(rollout.plan.get("confirmed", ())),
    )


def candidate(
    version: Version | None,
    proven: Mapping[int, list[dict[str, Any]]],
    config_format: ConfigFormat,
    overlay: Overlay | None,
) -> Candidate | None:
    """A version with its bytes' place, its proven warm-up, and its configuration as the environment wants it."""
    if version is None:
        return None
    artifact = version.artifact
    if artifact is None:
        raise ValueError(f"{version} has no artifact")
    document = overlay.document if overlay else {}
    return Candidate(
        pk=version.pk,
        number=version.number,
        config=config_format.merge(version.config, document),
        signature=version.signature,
        artifact=registry.artifact_directory(artifact),
        files=artifact.files,
        warmup=proven.get(version.pk),
        under=plan.config_digest(document),
    )
