# SPDX-License-Identifier: Apache-2.0
"""The same report twice is the same bytes, however many threads sum it up."""

from pathlib import Path

import pytest
from querytape.analyze import as_json, build
from querytape.analyze import build_report as made
from querytape.analyze import database as registry
from querytape.analyze.database import AnalysisDatabase, open_analysis

pytestmark = pytest.mark.slow


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_report_twice(runs: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """As it is made by default, and with so many threads."""

    def opened(memory: str) -> AnalysisDatabase:
        database = open_analysis(memory)
        database.con.execute(f"SET threads = {threads}")
        return database

    usual = as_json(build(runs[0], [runs[1]], [runs[2]]))
    monkeypatch.setattr(made, "open_analysis", opened)
    assert as_json(build(runs[0], [runs[1]], [runs[2]])) == usual


@pytest.mark.long
def test_the_same_report_on_disk(runs: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are kept in memory, as those of few events are, give the bytes of tables in a file."""
    places = []
    place = AnalysisDatabase.place

    def placed(database: AnalysisDatabase, rows: int) -> None:
        place(database, rows)
        places.extend(database.con.execute("SELECT current_database()").fetchall())

    monkeypatch.setattr(AnalysisDatabase, "place", placed)
    usual = as_json(build(runs[0], [runs[1]], [runs[2]]))
    monkeypatch.setattr(registry, "ROW_BYTES", 1 << 40)
    assert as_json(build(runs[0], [runs[1]], [runs[2]])) == usual
    assert places == [("memory",), ("disk",)]
