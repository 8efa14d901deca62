# SPDX-License-Identifier: Apache-2.0
"""Metric names follow the conventions of Prometheus. The documentation page lists the same names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.metrics.names import COUNTER, GAUGE, HISTOGRAM, INFO, NAMES, Name

NOT_BASE_UNITS = r"(milli|micro|nano|_ms|_us|_ns|kilo|mega|_mb|_kb|minutes|hours|percent)"
SECRET = {"digest", "statement", "sql", "user", "host", "schema", "db", "table", "database", "query"}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.name)
def test_names_follow_the_conventions(name: Name) -> None:
    """Names have one prefix and base units, but no suffix that the formats add themselves. The help is one sentence.
    Labels have few values.
    """
    assert re.fullmatch(r"querytape_[a-z]+(_[a-z]+)*", name.name)
    assert not re.search(NOT_BASE_UNITS, name.name)
    assert not name.name.endswith(("_total", "_bucket", "_count", "_sum", "_info", "_created"))
    assert name.kind in (COUNTER, GAUGE, HISTOGRAM, INFO)
    assert name.help.endswith(".")
    assert not SECRET & set(name.labels)


def test_each_metric_name_occurs_once_in_each_format() -> None:
    assert len({name.name for name in NAMES}) == len(NAMES)
    assert len({name.shown for name in NAMES}) == len(NAMES)


def test_docs_metrics_md_is_up_to_date(checkout: Path) -> None:
    command = [sys.executable, str(checkout / "docs" / "make_metrics.py"), "--print"]
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (checkout / "docs" / "metrics.md").read_text(encoding="utf-8") == page, "run make docs"


def test_every_query_of_docs_metrics_md_names_existing_metrics(checkout: Path) -> None:
    text = (checkout / "docs" / "metrics.md").read_text(encoding="utf-8")
    there = {name.shown for name in NAMES} | {
        f"{name.name}_{end}" for name in NAMES if name.kind == HISTOGRAM for end in ("sum", "count")
    }
    assert set(re.findall(r"querytape_(?:replay|target|capture|build)_\w+", text)) - there == set()
