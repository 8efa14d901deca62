# SPDX-License-Identifier: Apache-2.0
"""Two reports of the same runs are byte-identical for any number of threads."""

from pathlib import Path

import pytest
from querytape.analyze import as_json, build
from querytape.analyze import build_report as made
from querytape.analyze import database as registry
from querytape.analyze.database import AnalysisDatabase, open_analysis

pytestmark = pytest.mark.slow


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 3])
def test_report_is_byte_identical_with_any_number_of_threads(
    runs: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    def opened(memory: str) -> AnalysisDatabase:
        database = open_analysis(memory)
        database.con.execute(f"SET threads = {threads}")
        return database

    usual = as_json(build(runs[0], [runs[1]], [runs[2]]))
    monkeypatch.setattr(made, "open_analysis", opened)
    assert as_json(build(runs[0], [runs[1]], [runs[2]])) == usual


@pytest.mark.parametrize("shares", [1, 3])
def test_tables_on_disk_and_shares_of_sessions_give_the_same_report(
    runs: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, shares: int
) -> None:
    """Small tables are kept in memory by default, and joined in one step."""
    places: list[object] = []
    place = AnalysisDatabase.place

    def placed(database: AnalysisDatabase, rows: int) -> int:
        places.append(place(database, rows))
        places.extend(database.con.execute("SELECT current_database()").fetchall())
        return shares

    usual = as_json(build(runs[0], [runs[1]], [runs[2]]))
    monkeypatch.setattr(AnalysisDatabase, "place", placed)
    monkeypatch.setattr(registry, "ROW_BYTES", 1 << 40)
    assert as_json(build(runs[0], [runs[1]], [runs[2]])) == usual
    assert places == [1, ("disk",)]
