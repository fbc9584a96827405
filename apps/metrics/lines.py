"""Prometheus's series to a chart's lines: names, colours, order. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from apps.common.names import natural
from apps.common.text import printable, whole_number
from apps.metrics.chart import Chart, Lines
from apps.metrics.figures import Line
from apps.metrics.palettes import slot_of_server, slot_of_version
from apps.metrics.prometheus import Series
from apps.serving.signals import Selection

MOST_LINES = 12
_LABEL_CHARS = 48
_QUANTILE_DASHES = {"0.5": "dot", "0.95": "dash"}
NO_REASON = "none"
_REASON_DASHES = ("solid", "dash", "dot", "dashdot")
_DASHES = ("solid", "dot", "dash", "dashdot")


def lines_of(chart: Chart, spec: Lines, series: Sequence[Series], selection: Selection) -> list[Line]:
    """The lines that `spec` gives to `chart`, in the order they are named."""
    wanted = _occurred(series) if spec.hides_zeros else series
    ordered = sorted(wanted, key=lambda one: _order(one.labels))
    return [
        Line(
            name=_name(one.labels, spec, selection),
            slot=_slot(one.labels, selection),
            values=tuple(None if value is None else value * chart.scale for value in one.values),
            dash=_dash(chart, spec, one.labels, selection),
        )
        for one in ordered
    ]


def busiest(lines: Sequence[Line]) -> list[Line]:
    """At most twelve lines, those with the most in them, in their order."""
    ranked = sorted(range(len(lines)), key=lambda index: sum(value or 0 for value in lines[index].values), reverse=True)
    return [lines[index] for index in sorted(ranked[:MOST_LINES])]


def versions_in(series: Iterable[Series]) -> set[str]:
    """The version numbers that have a series."""
    return {one.labels["version"] for one in series if "version" in one.labels}


def _occurred(series: Sequence[Series]) -> list[Series]:
    """The reasons that occurred; for a version without any, one line at zero."""
    kept = [one for one in series if any(one.values)]
    seen = {_without_reason(one.labels) for one in kept}
    for one in series:
        if (rest := _without_reason(one.labels)) not in seen:
            seen.add(rest)
            kept.append(replace(one, labels={**dict(rest), "reason": NO_REASON}))
    return kept


def _without_reason(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in labels.items() if name != "reason"))


def _order(labels: Mapping[str, str]) -> tuple[str, str, int, str]:
    version = labels.get("version", "")
    number = whole_number(version) or 0
    rest = [labels.get(name, "") for name in ("server", "gpu_uuid", "host", "gpu", "GPU_I_ID", "quantile", "reason")]
    return labels.get("environment", ""), labels.get("model", ""), number, natural(" ".join(rest))


def _name(labels: Mapping[str, str], spec: Lines, selection: Selection) -> str:
    """What tells this line from the others, in few words."""
    words = [labels.get("environment", ""), labels.get("model", "")]
    if "version" in labels:
        words.append(f"v{labels['version']}")
    if not selection.server:
        words.append(labels.get("server", ""))
    words += device_words(labels)
    if "quantile" in labels:
        words.append(_percentile(labels["quantile"]))
    reason = labels.get("reason", "").lower()
    words += ["" if reason == NO_REASON else reason, spec.name]
    return printable(" ".join(word for word in words if word), limit=_LABEL_CHARS * 2).replace("\n", " ")


def _percentile(quantile: str) -> str:
    """`0.99` as p99; what is no number stays as it is."""
    try:
        return f"p{float(quantile) * 100:g}"
    except ValueError:
        return quantile


def device_words(labels: Mapping[str, str]) -> Iterator[str]:
    """A card by what its source calls it, and the slice of it."""
    if "gpu_uuid" in labels:
        yield f"GPU {labels['gpu_uuid'].removeprefix('GPU-')[:8]}"
    if "gpu" in labels or "UUID" in labels:
        yield labels.get("host", "")
        yield f"GPU {labels.get('gpu') or labels['UUID'].removeprefix('GPU-')[:8]}"
    if labels.get("GPU_I_ID"):
        profile = labels.get("GPU_I_PROFILE", "")
        yield f"slice {labels['GPU_I_ID']}" + (f" ({profile})" if profile else "")


def _slot(labels: Mapping[str, str], selection: Selection) -> int:
    if "version" in labels:
        return slot_of_version(labels["version"], model=selection.model or labels.get("model", ""))
    names = ("server", "gpu_uuid", "host", "gpu", "GPU_I_ID")
    return slot_of_server("".join(labels.get(name, "") for name in names))


def _dash(chart: Chart, spec: Lines, labels: Mapping[str, str], selection: Selection) -> str:
    """Lines of one colour are told apart by their dashes."""
    if "quantile" in labels:
        return _QUANTILE_DASHES.get(labels["quantile"], "solid")
    if "reason" in labels:
        reason = labels["reason"].lower()
        known = (NO_REASON, "backend", "other", "rejected", "canceled")
        return _REASON_DASHES[max(0, known.index(reason) - 1) if reason in known else 0]
    if selection.is_per_server and "server" in labels:
        return _DASHES[slot_of_server(labels["server"]) % len(_DASHES)]
    return "solid" if spec.instead_of else _DASHES[chart.lines.index(spec) % len(_DASHES)]
