# SPDX-License-Identifier: Apache-2.0
"""Asks a page of metrics as Prometheus does, and reads the answer with the client library's own parsers."""

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
    """Return what a page says, asked for OpenMetrics."""
    kind, text = fetch(url, OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    return Scrape(text)


class Scrape:
    """One answer. `values`: by name and labels."""

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
        """Return one value."""
        return self.values[name, frozenset(labels.items())]

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return a metric's values by one of its labels."""
        return {dict(labels)[label]: value for (each, labels), value in self.values.items() if each == name}

    def growing(self) -> Mapping[Key, float]:
        """Return the values that may never fall: counters, and all of histograms."""
        names = {
            sample.name
            for family in self.families
            if family.type in ("counter", "histogram")
            for sample in family.samples
        }
        return {key: value for key, value in self.values.items() if key[0] in names}


def never_falls(scrapes: list[Scrape]) -> None:
    """Hold that what grows does so, and that no series ends."""
    for before, after in itertools.pairwise(scrapes):
        now = after.growing()
        assert [key for key, value in before.growing().items() if key not in now or now[key] < value] == []


def promtool(request: pytest.FixtureRequest, text: str) -> None:
    """Hold that `promtool check metrics` accepts a page. `make setup` puts promtool next to Python."""
    program = Path(sys.executable).with_name("promtool")
    if not program.exists():
        skip_loudly(request, f"no {program}: make setup installs it")
    done = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
