"""Who is asked for a signal: each kind of server, or the exporter that tells of GPUs. Pure."""

from apps.serving import backends, dcgm
from apps.serving.signals import DEVICE_SIGNALS, Query, Selection, Signal, Unsupported


def sources(signal: Signal) -> tuple[str, ...]:
    """The names of those that are asked."""
    return ("dcgm-exporter",) if signal in DEVICE_SIGNALS else backends.kinds()


def query(source: str, signal: Signal, selection: Selection) -> Query | Unsupported:
    """What that source is asked, or why it cannot be."""
    if signal in DEVICE_SIGNALS:
        return dcgm.query(signal, selection)
    return backends.get(source).query(signal, selection)


def queries(signal: Signal, selection: Selection) -> list[Query | Unsupported]:
    """What every source is asked."""
    return [query(source, signal, selection) for source in sources(signal)]
