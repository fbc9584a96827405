"""Releases, read: how far they are, and what each of their runs waits for."""

from collections.abc import Collection

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from apps.deployments.errors import ReleaseUnknown
from apps.deployments.models import Ban, Release, Rollout, Run, StepRun
from apps.deployments.selectors.bans import lacks_ban
from apps.deployments.selectors.ensembles import members_of
from apps.deployments.selectors.rollouts import rollouts, with_progress
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutKind, RolloutState, RunDirection, StepState

GO, BACK = "go", "back"
BARRIER = "barrier"


def releases(*, environment: str = "") -> QuerySet[Release]:
    """Releases with their rollouts and how far those are, newest first."""
    found = Release.objects.select_related("environment")
    if environment:
        found = found.filter(environment__name=environment)
    parts = Prefetch("rollouts", queryset=with_progress(rollouts()).order_by("pk"))
    return found.prefetch_related(parts).order_by("-pk")


def get_release(release_id: int) -> Release:
    """One release, or ReleaseUnknown."""
    found = releases().filter(pk=release_id).first()
    if found is None:
        raise ReleaseUnknown(f"there is no release {release_id}")
    return found


def parts_of(release: Release) -> list[Rollout]:
    """The rollouts that came with it; not those that sent it back."""
    return [rollout for rollout in release.rollouts.all() if rollout.kind == RolloutKind.PROMOTE]


def moving_parts(release: Release) -> list[Rollout]:
    """Those that have not ended yet, whichever way they go."""
    return [one for one in parts_of(release) if one.state in ACTIVE_ROLLOUT]


def live_parts(release: Release) -> list[Rollout]:
    """Those that made live what still is, and that nothing of the release is taking back."""
    going = _taken_back(release, *ACTIVE_ROLLOUT)
    came = [one for one in parts_of(release) if one.state == RolloutState.SUCCEEDED and _is_live(one)]
    return [one for one in came if one.placement_id not in going]


def gone_back(release: Release) -> list[Rollout]:
    """Those that turned round, or that a rollback of the release takes or took back; what they brought is not live."""
    going, gone = _taken_back(release, *ACTIVE_ROLLOUT), _taken_back(release, RolloutState.SUCCEEDED)
    turned = (RolloutState.ROLLED_BACK, RolloutState.FAILED)

    def has_gone(part: Rollout) -> bool:
        if part.state in turned or part.placement_id in gone:
            return not _is_live(part)
        return part.placement_id in going

    return [one for one in parts_of(release) if one.state not in ACTIVE_ROLLOUT and has_gone(one)]


def is_ban_left_open(release: Release) -> bool:
    """Whether something of what goes back or went back may come again; one query where it is banned by its number."""
    gone = [*gone_back(release), *(one for one in parts_of(release) if one.state == RolloutState.REVERTING)]
    in_force = Ban.objects.filter(lifted_at=None, placement__in={one.placement_id for one in gone})
    banned = set(in_force.values_list("placement", "version"))
    return any(lacks_ban(one) for one in gone if (one.placement_id, one.to_version_id) not in banned)


def _is_live(part: Rollout) -> bool:
    return part.placement.active_id == part.to_version_id


def _taken_back(release: Release, *states: str) -> set[int]:
    """The placements in which a rollback of the release is in one of these states."""
    backs = [one for one in release.rollouts.all() if one.kind != RolloutKind.PROMOTE]
    return {one.placement_id for one in backs if one.state in states}


def release_state(release: Release) -> str:
    """moving, reverting, succeeded, rolled_back or failed; of the rollouts that came with it."""
    states = {rollout.state for rollout in parts_of(release)}
    if states & set(ACTIVE_ROLLOUT):
        return "reverting" if release.decision == BACK else "moving"
    if RolloutState.FAILED in states:
        return "failed"
    return "rolled_back" if RolloutState.ROLLED_BACK in states else "succeeded"


def has_release_ended(release_id: int) -> bool:
    """Whether none of its rollouts moves; the cheapest query there is, for waiting on it."""
    if not Release.objects.filter(pk=release_id).exists():
        raise ReleaseUnknown(f"there is no release {release_id}")
    return not Rollout.objects.filter(release=release_id, state__in=ACTIVE_ROLLOUT).exists()


def are_all_through(release_id: int) -> bool:
    """Whether every rollout has passed on all its servers and through its bake, and none of them is being stopped."""
    parts = Rollout.objects.filter(release=release_id, kind=RolloutKind.PROMOTE)
    going = Q(state__in=(RolloutState.RUNNING, RolloutState.SUCCEEDED), through_at__isnull=False)
    return not parts.exclude(going).exists()


def barrier_waits_for(run: Run) -> str:
    """What this run of a release still has to wait for before it may go live, in words; empty when nothing is left."""
    release_id = run.rollout.release_id
    if release_id is None:
        return ""
    at_barrier = StepRun.objects.filter(run=OuterRef("pk"), name=BARRIER)
    every = Run.objects.filter(
        rollout__release=release_id, rollout__kind=RolloutKind.PROMOTE, direction=RunDirection.FORWARD
    )
    seen = every.annotate(is_there=Exists(at_barrier)).aggregate(
        total=Count("pk"), there=Count("pk", filter=Q(is_there=True))
    )
    if seen["there"] < seen["total"]:
        return f"{seen['there']} of {seen['total']} runs of the release have passed their shadows"
    members = {member.model for member in members_of(run.rollout.to_version)} if run.rollout.to_version else set()
    return _members_not_ready(run, members) if members else ""


def _members_not_ready(run: Run, members: Collection[str]) -> str:
    ready = StepRun.objects.filter(run=OuterRef("pk"), name="await_ready", state=StepState.SUCCEEDED)
    mine = Run.objects.filter(rollout__release=run.rollout.release_id, direction=RunDirection.FORWARD)
    mine = mine.filter(server=run.server_id, model__name__in=list(members))
    names = list(mine.filter(~Exists(ready)).order_by("model__name").values_list("model__name", flat=True))
    return f"its member {', '.join(names)} is not ready yet" if names else ""
