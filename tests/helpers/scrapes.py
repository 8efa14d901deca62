# SPDX-License-Identifier: Apache-2.0
"""Fetch a metrics page like Prometheus, and parse the response with the parsers of the client library."""

import itertools
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_plain

from ..conftest import skip_loudly

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
Key = tuple[str, frozenset[tuple[str, str]]]


def fetch(url: str, accept: str = "") -> tuple[str, str]:
    """Return the content type and the text of a page."""
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def scrape(url: str) -> "Scrape":
    """Fetch a page in OpenMetrics format and return its values."""
    kind, text = fetch(url, OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    return Scrape(text)


class Scrape:
    """One scrape of a metrics page. `values` maps names and labels to values."""

    def __init__(self, text: str, plain: bool = False) -> None:
        self.text = text
        self.families = list((parse_plain if plain else parse_openmetrics)(text))
        self.values: dict[Key, float] = {}
        for family in self.families:
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.values, "a series twice"
                self.values[key] = sample.value

    def get(self, name: str, /, **labels: str) -> float:
        """Return the value of one metric with these labels."""
        return self.values[name, frozenset(labels.items())]

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return the values of a metric, keyed by one of its labels."""
        return {dict(labels)[label]: value for (each, labels), value in self.values.items() if each == name}

    def growing(self) -> Mapping[Key, float]:
        """Return the metrics that must never decrease: counters and all parts of histograms."""
        names = {
            sample.name
            for family in self.families
            if family.type in ("counter", "histogram")
            for sample in family.samples
        }
        return {key: value for key, value in self.values.items() if key[0] in names}


def check_never_decreases(scrapes: list[Scrape]) -> None:
    """Check that counters and histograms never decrease and that no series disappears."""
    for before, after in itertools.pairwise(scrapes):
        now = after.growing()
        assert [key for key, value in before.growing().items() if key not in now or now[key] < value] == []


def promtool(request: pytest.FixtureRequest, text: str) -> None:
    """Check a page with `promtool check metrics`. `make setup` installs promtool next to Python."""
    program = Path(sys.executable).with_name("promtool")
    if not program.exists():
        skip_loudly(request, f"no {program}: make setup installs it")
    done = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
