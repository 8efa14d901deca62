# SPDX-License-Identifier: Apache-2.0
"""Build Prometheus metrics from the values of registered sources at each scrape. This module counts nothing itself."""

import threading
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector, CollectorRegistry

from ..common.version import __version__
from ..native.bindings.meters import BOUNDS_NS, Meter
from .names import BUILD, COUNTER, GAUGE, HISTOGRAM, NAMES, Name, Value

BOUNDS = tuple(str(ns / 1e9) for ns in BOUNDS_NS)
Labels = dict[str, str]


Source = Callable[[], Iterable[Value]]


class Sources(Collector):
    """A Prometheus collector over several sources. All values of a source share its labels. All sources have the same
    label names.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: dict[str, tuple[Labels, Source]] = {}

    def put(self, source: Source, labels: Labels | None = None, slot: str = "") -> None:
        """Add a source. It replaces an earlier source in the same slot."""
        with self._lock:
            self._sources[slot] = labels or {}, source

    def registry(self) -> CollectorRegistry:
        """Return a registry that contains only this collector."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics in the order of `NAMES`."""
        with self._lock:
            sources = list(self._sources.values())
        found: dict[str, list[tuple[Labels, Value]]] = {}
        for labels, source in sources:
            for value in source():
                found.setdefault(value.name, []).append((labels, value))
        yield InfoMetricFamily(BUILD.name, BUILD.help, {"version": __version__})
        for name in NAMES:
            if name.name in found:
                yield family(name, found[name.name])


def family(name: Name, values: list[tuple[Labels, Value]]) -> Metric:
    """Return a metric family with the given values."""
    labels = (*values[0][0], *name.labels)
    if name.kind == HISTOGRAM:
        histogram = HistogramMetricFamily(name.name, name.help, labels=labels)
        for more, each in values:
            assert isinstance(each.value, Meter)
            histogram.add_metric([*more.values(), *each.labels], buckets(each.value), each.value.sum_ns / 1e9)
        return histogram
    kinds = {COUNTER: CounterMetricFamily, GAUGE: GaugeMetricFamily}
    metric: CounterMetricFamily | GaugeMetricFamily = kinds[name.kind](name.name, name.help, labels=labels)
    for more, each in values:
        assert not isinstance(each.value, Meter)
        metric.add_metric([*more.values(), *each.labels], each.value)
    return metric


def buckets(meter: Meter) -> list[tuple[str, float]]:
    """Return the cumulative buckets of a histogram. The last bucket counts all values."""
    return [*zip(BOUNDS, map(float, meter.below), strict=True), ("+Inf", float(meter.count))]
