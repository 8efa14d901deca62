# SPDX-License-Identifier: Apache-2.0
"""Tests of the collector, which converts values to metrics of the Prometheus client library."""

import itertools
from collections.abc import Iterator

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from querytape.metrics.collector import BOUNDS, Sources
from querytape.metrics.names import Value
from querytape.native.bindings.meters import BOUNDS_NS, Meter

from tests.helpers.scrapes import Scrape, promtool

METER = Meter(tuple(range(len(BOUNDS_NS))), 99, 2_500_000_000)


def read_values(n: float) -> Iterator[Value]:
    """Yield a counter, a gauge and a histogram."""
    yield Value("querytape_replay_statements", n, ("read",))
    yield Value("querytape_replay_open_sessions", 3)
    yield Value("querytape_replay_service_seconds", METER, ("read",))


def openmetrics(sources: Sources) -> bytes:
    text: bytes = generate_openmetrics(sources.registry())  # type: ignore[no-untyped-call]
    return text


def test_both_formats_have_the_same_values() -> None:
    """The formats are the Prometheus text format and OpenMetrics."""
    sources = Sources()
    sources.put(lambda: read_values(7))
    for text, plain in ((generate_latest(sources.registry()), True), (openmetrics(sources), False)):
        found = Scrape(text.decode(), plain)
        assert found.get("querytape_replay_statements_total", **{"class": "read"}) == 7
        assert found.get("querytape_replay_open_sessions") == 3
        assert found.get("querytape_replay_service_seconds_sum", **{"class": "read"}) == 2.5
        assert found.get("querytape_replay_service_seconds_count", **{"class": "read"}) == 99
        for n, bound in enumerate(BOUNDS):
            assert found.get("querytape_replay_service_seconds_bucket", **{"class": "read", "le": bound}) == n
        assert found.get("querytape_replay_service_seconds_bucket", **{"class": "read", "le": "+Inf"}) == 99
        assert any(name == "querytape_build_info" for name, _ in found.values)


def test_each_source_has_its_own_labels(request: pytest.FixtureRequest) -> None:
    """A source that is put into an occupied slot replaces the previous source."""
    sources = Sources()
    sources.put(lambda: read_values(1), {"side": "a", "round": "1"}, "a")
    sources.put(lambda: read_values(2), {"side": "b", "round": "1"}, "b")
    sources.put(lambda: read_values(5), {"side": "a", "round": "2"}, "a")
    promtool(request, generate_latest(sources.registry()).decode())
    found = Scrape(openmetrics(sources).decode())
    name = "querytape_replay_statements_total"
    assert {labels: value for (each, labels), value in found.values.items() if each == name} == {
        frozenset({("class", "read"), ("side", "a"), ("round", "2")}): 5,
        frozenset({("class", "read"), ("side", "b"), ("round", "1")}): 2,
    }


def test_without_a_source_both_formats_have_only_the_version() -> None:
    for text in (generate_latest(Sources().registry()), openmetrics(Sources())):
        assert next(line for line in text.decode().splitlines() if not line.startswith("#")).startswith(
            'querytape_build_info{version="'
        )


def test_bounds_are_powers_of_two() -> None:
    """The bounds of the engine's histograms range from 8 us to 69 s. Each bound is twice the previous bound."""
    assert BOUNDS_NS[0] == 8192
    assert BOUNDS_NS[-1] == 2**36
    assert all(float(b) == 2 * float(a) for a, b in itertools.pairwise(BOUNDS))
