"""Conch's own /metrics, in Prometheus's format: what it is doing, and how late it is."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from rest_framework.request import Request

from apps.access.verbs import DISCOVER
from apps.api.doors import ApiView
from apps.deployments import selectors as deployments
from apps.deployments.selectors import telemetry
from apps.fleet import selectors as fleet
from apps.registry import selectors as registry

_ROLLOUT = ("environment", "kind", "state")


@extend_schema(exclude=True)
class OwnMetrics(ApiView):
    """Conch's own figures."""

    looks = DISCOVER

    def get(self, request: Request) -> HttpResponse:
        """As Prometheus scrapes them. A token of scope `sd:read` opens this too."""
        registry = CollectorRegistry()
        registry.register(_Own(timezone.now()))
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Own(Collector):
    """Everything read anew at each scrape: no process has more to tell than another."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield from _rollouts()
        yield _gauge(
            "conch_queue_lag_seconds", "How long the oldest due work waits", [((), telemetry.lag_s(self._now))]
        )
        drift = [((one.environment, one.kind), float(one.count)) for one in deployments.drift_counts()]
        yield _gauge("conch_drift", "Versions that are not as desired", drift, "environment", "kind")
        active = [((where, model), float(number)) for where, model, number in telemetry.active_versions()]
        yield _gauge("conch_active_version", "The version that should serve", active, "environment", "model")
        failed = [(where, 1.0) for where in telemetry.failed_probes(self._now)]
        told = "Whether the newest of Conch's own requests to what is desired failed; told only where it did"
        yield _gauge("conch_probe_failed", told, failed, "environment", "server", "model")
        yield from _promises()
        yield from _servers(self._now)
        parts = [((part.name,), float(part.is_well)) for part in fleet.health(now=self._now)]
        yield _gauge("conch_part_up", "Whether a part of Conch itself is well", parts, "part")


def _promises() -> Iterator[Metric]:
    """Conch knows the promises; Prometheus's rules hold servers to them."""
    rows = list(registry.models().values_list("name", "slo_p99_ms", "slo_error_ratio"))
    latency = [((name,), float(p99)) for name, p99, _ in rows if p99 is not None]
    yield _gauge("conch_slo_p99_ms", "The p99 a model promises", latency, "model")
    errors = [((name,), float(ratio)) for name, _, ratio in rows if ratio is not None]
    yield _gauge("conch_slo_error_ratio", "The share of failed requests a model promises", errors, "model")


def _rollouts() -> Iterator[Metric]:
    moving = [((where, kind, state), float(number)) for where, kind, state, number in telemetry.active_rollouts()]
    yield _gauge("conch_rollouts_active", "Rollouts that are moving", moving, *_ROLLOUT)
    took = HistogramMetricFamily("conch_rollout_duration_seconds", "Rollouts that have ended", labels=_ROLLOUT)
    for one in telemetry.durations():
        buckets = [(f"{second:.1f}", float(number)) for second, number in one.below.items()]
        labels = (one.environment, one.kind, one.state)
        took.add_metric(labels, [*buckets, ("+Inf", float(one.count))], one.sum_s)
    yield took


def _servers(now: datetime) -> Iterator[Metric]:
    servers = [
        (server, observation)
        for server in fleet.servers(state="active")
        if (observation := getattr(server, "observation", None)) is not None
    ]
    labels = ("environment", "server")
    ages = [((server.environment.name, server.name), (now - seen.at).total_seconds()) for server, seen in servers]
    yield _gauge("conch_observation_age_seconds", "Since a server was last asked what it serves", ages, *labels)
    answers = [((server.environment.name, server.name), float(seen.is_reachable)) for server, seen in servers]
    yield _gauge("conch_server_reachable", "Whether a server answered Conch", answers, *labels)


def _gauge(name: str, help_: str, values: Sequence[tuple[tuple[str, ...], float]], *labels: str) -> Metric:
    family = GaugeMetricFamily(name, help_, labels=labels)
    for own, value in values:
        family.add_metric(own, value)
    return family
