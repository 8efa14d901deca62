# SPDX-License-Identifier: Apache-2.0
"""Under --order commit many things happen at one moment: which of them the database meets first decides nothing."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.common.duck import write_parquet
from querytape.replay.plan import commit_order

from tests.helpers.tapes import MS, T0

from .test_commit_order_golden import CASES, busy, ordered

pytestmark = pytest.mark.slow

ANSWER = "\nSELECT session, seq, concat("  # behind the steps
STEP = re.compile(r"(?m)^(?:WITH |\), )(?=\w+ AS (?:MATERIALIZED )?\()")
ASOF = re.compile(r"ASOF (?:LEFT )?JOIN (?:(\w+) (\w) ON (.*)|\()")
WITH_A_QUERY = 2  # what these find is one row for each key by its own text


@pytest.mark.parametrize(("source", "precision_ns", "durations"), CASES)
def test_what_asof_finds_is_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, precision_ns: int, durations: bool
) -> None:
    """Of rows with one key and one time ASOF takes any, in each release of DuckDB another one: all must say the same."""
    broken: list[str] = []

    def check(con: duckdb.DuckDBPyConnection, text: str, path: Path) -> None:
        steps = text[: text.rindex(ANSWER)]
        broken.extend(name for name, query in ties(steps) if con.execute(f"{steps} {query}").fetchall())
        write_parquet(con, text, path)

    monkeypatch.setattr(commit_order, "write_parquet", check)
    ordered(tmp_path, coarse(busy(5, durations, 0.15)), source, precision_ns)
    assert broken == []


def ties(steps: str) -> Iterator[tuple[str, str]]:
    """Return for each ASOF join what it is, and a query that has a row where it may find more than one answer."""
    joins = [(step, *found) for step in STEP.split(steps) for found in ASOF.findall(step)]
    assert len(joins) > 8
    assert sum(not relation for _, relation, *_ in joins) == WITH_A_QUERY
    for step, relation, alias, condition in joins:
        key = {*re.findall(rf"\b{alias}\.(\w+)", condition)}
        said = {*re.findall(rf"\b{alias}\.(\w+)", step)} - key
        if relation and said:
            differ = " OR ".join(f"min({name}) IS DISTINCT FROM max({name})" for name in sorted(said))
            keys = ", ".join(sorted(key))
            yield (
                f"{step.split()[0]}: {relation} by {keys}",
                f"SELECT 1 FROM {relation} GROUP BY {keys} HAVING {differ}",
            )


def coarse(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events with times of 4 ms: many are at one moment."""
    found = []
    for event in events:
        start, end = event["start_ns"] - T0, event["start_ns"] - T0 + (event["duration_ns"] or 0)
        start, end = (at // (4 * MS) * 4 * MS for at in (start, end))
        took = None if event["duration_ns"] is None else end - start
        found.append({**event, "start_ns": T0 + start, "duration_ns": took})
    return found
