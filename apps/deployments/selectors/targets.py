"""Where a placement can be rolled back to, and how quickly."""

from dataclasses import dataclass

from django.db.models import F, Q

from apps.deployments.models import Ban, Overlay, Placement, Rollout, StepRun
from apps.deployments.selectors.rollouts import last_live
from apps.deployments.selectors.warmups import proven_warmups
from apps.deployments.states import RolloutKind, RolloutState, StepState
from apps.fleet import selectors as fleet
from apps.fleet.models import ObservedVersion, Server
from apps.registry.models import Version
from apps.registry.states import VersionState
from apps.serving import backends

# Rollouts of one placement that are looked through for versions that were live.
LOOK_BACK = 200


@dataclass(frozen=True, slots=True)
class Target:
    """A version that was live here before; `expected_s` is what going there took last time, if known."""

    version: Version
    is_hot: bool
    why: str
    expected_s: float | None


def rollback_targets(placement: Placement, *, limit: int = 10) -> list[Target]:
    """Earlier live versions, the default first."""
    return [_target(placement, version) for version in _earlier(placement, limit=limit)]


def default_target(placement: Placement) -> Version | None:
    """The standby, else the version that was live before the active one.

    None right after a rollback: of two people who roll back at once, the second must not go one version further.
    """
    made_live = last_live(placement)
    if made_live is not None and made_live.kind == RolloutKind.ROLLBACK:
        return None
    return next(iter(_earlier(placement, limit=1)), None)


def hot_servers(placement: Placement, to: Version) -> frozenset[str]:
    """Servers of the placement on which `to` is loaded, unchanged on disk since, and can stand alone at once."""
    if placement.active is None:
        return frozenset()
    kept = ObservedVersion.objects.filter(
        # An unknown stamp is no proof: NULL = NULL is not true in SQL either.
        seen_stamp_ns=F("loaded_stamp_ns"),
        model=placement.model.name,
        version=to.number,
        state="READY",
        server__environment=placement.environment,
        server__observation__is_reachable=True,
    )
    kinds = dict(kept.values_list("server__name", "server__kind"))
    agreeing = {kind for kind in set(kinds.values()) if do_stand_beside(placement, to, kind=kind)}
    return frozenset(name for name, kind in kinds.items() if kind in agreeing)


def serving_servers(placement: Placement, version: Version | None) -> frozenset[str]:
    """Servers of the placement that were last seen with `version` ready."""
    if version is None:
        return frozenset()
    seen = ObservedVersion.objects.filter(model=placement.model.name, version=version.number, state="READY")
    names = seen.filter(server__environment=placement.environment).values_list("server__name", flat=True)
    return frozenset(names)


def rollback_reach(placement: Placement) -> tuple[list[Server], list[Server]]:
    """The servers a rollback goes to, and those it leaves out.

    A cordoned server goes along where it serves what is rolled back: clients are on it. Elsewhere it is left alone.
    One that does not answer is left out, unless none does: it must not hold up the others.
    """
    every = list(fleet.servers(environment=placement.environment.name, state="active"))
    bad = serving_servers(placement, placement.active) if any(one.cordoned_at for one in every) else frozenset()
    wanted = [server for server in every if server.cordoned_at is None or server.name in bad]
    reachable = [server for server in wanted if fleet.is_reachable(server)] or wanted
    return reachable, [server for server in every if server not in reachable]


# A version that went live without a shadow has shown there what it can.
PROOFS = ("shadow", "verify")


def is_proven(version: Version) -> bool:
    """Whether these bytes and this configuration have passed aside, or live, anywhere and under any overlay."""
    return StepRun.objects.filter(name__in=PROOFS, state=StepState.SUCCEEDED, run__rollout__to_version=version).exists()


def is_proven_under(version: Version, overlay: Overlay | None) -> bool:
    """As `is_proven`, with exactly what the overlay sets: another configuration is another thing to try."""
    document = overlay.document if overlay else {}
    same = Q(run__rollout__to_overlay__document=document)
    if not document:
        same |= Q(run__rollout__to_overlay__isnull=True)
    passed = StepRun.objects.filter(name__in=PROOFS, state=StepState.SUCCEEDED)
    return passed.filter(same, run__rollout__to_version=version).exists()


def _earlier(placement: Placement, *, limit: int) -> list[Version]:
    """Versions that a promotion replaced here, most recent first, the standby before all.

    One that was rolled back is nobody's way out: it comes back by being promoted again. Where nothing is live,
    the way back is what was unloaded.
    """
    kinds = [RolloutKind.PROMOTE] if placement.active_id else [RolloutKind.PROMOTE, RolloutKind.UNLOAD]
    history = (
        Rollout.objects.filter(placement=placement, state=RolloutState.SUCCEEDED, from_version__isnull=False)
        .filter(kind__in=kinds)
        .order_by("-pk")
        .values_list("from_version", flat=True)[:LOOK_BACK]
    )
    seen = dict.fromkeys(pk for pk in (placement.standby_id, *history) if pk is not None)
    banned = Ban.objects.filter(placement=placement, lifted_at=None).values("version_id")
    usable = Version.objects.filter(pk__in=seen, state=VersionState.READY).exclude(pk__in=banned)
    ready = set(usable.values_list("pk", flat=True))
    wanted = [pk for pk in seen if pk in ready and pk != placement.active_id][:limit]
    found = Version.objects.select_related("model").in_bulk(wanted)
    return [found[pk] for pk in wanted]


def _target(placement: Placement, version: Version) -> Target:
    hot = hot_servers(placement, version)
    servers = [server.name for server in fleet.servers_for_rollouts(placement.environment.name)]
    cold = [name for name in servers if name not in hot]
    if servers and not cold:
        return Target(version, is_hot=True, why="still loaded on every server", expected_s=None)
    there = len(servers) - len(cold)
    where = "no server" if not there else f"{there} of {len(servers)} servers"
    return Target(version, is_hot=False, why=f"still loaded on {where}", expected_s=last_seconds(version))


def last_seconds(version: Version) -> float | None:
    """Seconds from the start of the last good live load to its end of verification."""
    steps = StepRun.objects.filter(
        run__rollout__to_version=version, name__in=("load", "await_ready", "verify"), state=StepState.SUCCEEDED
    ).order_by("-pk")[:3]
    seconds = [(step.finished_at - step.started_at).total_seconds() for step in steps if step.finished_at]
    return round(sum(seconds), 1) if seconds else None


def do_stand_beside(placement: Placement, to: Version, *, kind: str) -> bool:
    """Whether both stand side by side as this environment wants them, on servers of that kind."""
    if placement.active is None:
        return False
    versions = [placement.active, to]
    proven = proven_warmups({version.pk for version in versions})
    config_format, overlay = backends.get(kind).CONFIG, placement.overlay.document if placement.overlay else {}
    configs = [
        config_format.effective(
            config_format.merge(version.config, overlay),
            name="same",
            versions=[1],
            warmup=proven.get(version.pk, []),
        )
        for version in versions
    ]
    return config_format.can_stand_beside(configs[0], configs[1])
