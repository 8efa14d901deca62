# SPDX-License-Identifier: Apache-2.0
"""Signs that a tape lacks statements of the workload."""

from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.completeness import completeness, threshold
from querytape.common.duck import open_database

from tests.helpers.logs import write_mariadb


def test_missing_short_statements_suggest_long_query_time(tmp_path: Path) -> None:
    """The warning suggests the likely value of long_query_time."""
    rows = [(1718000000 + i, 1, 0.1 + i / 100, "SELECT 1") for i in range(60)]
    info = capture_source(
        SOURCES["slowlog"], [str(write_mariadb(tmp_path / "s.log", rows))], tmp_path / "t.tape", Settings()
    )
    assert "long_query_time=0.1" in info["warnings"][0]["text"]


def test_unusual_pause_in_the_log_is_reported(tmp_path: Path) -> None:
    """A pause is reported if it is unlikely in comparison with the other pauses of the log."""
    rows = [(1718000000 + i // 20 + (600 if i > 1000 else 0), 1, 0.001, "SELECT 1") for i in range(2000)]
    info = capture_source(
        SOURCES["slowlog"], [str(write_mariadb(tmp_path / "s.log", rows))], tmp_path / "t.tape", Settings()
    )
    assert [w["kind"] for w in info["warnings"]] == ["hole"]


@pytest.mark.parametrize(
    ("shortest_s", "text"),
    [(0.1, "0.1"), (0.1234, "0.1"), (0.0051, "0.005"), (2.5, "2"), (7, "5"), (12, "10"), (600, "50")],
)
def test_suggested_long_query_time_is_a_round_number(shortest_s: float, text: str) -> None:
    """Users set round numbers, so the warning contains the nearest round number."""
    assert threshold(shortest_s) == text


def test_missing_small_statements_suggest_a_row_limit() -> None:
    """If all statements examined many rows, min_examined_row_limit was probably above 0."""
    with open_database() as con:
        con.execute(
            "CREATE TABLE events AS SELECT i * 1000000 AS start_ns, 1000 AS duration_ns, 'query' AS command,"
            " 'read' AS class, 100 + i AS rows_examined FROM range(30) t(i)"
        )
        (warning,) = completeness(con)
        assert warning["kind"] == "min_examined_row_limit"
        assert "min_examined_row_limit=100" in warning["text"]
        con.execute("DELETE FROM events WHERE rows_examined >= 119")
        assert completeness(con) == []


@pytest.mark.parametrize(("least", "warns"), [(9, False), (10, True), (11, True)])
def test_row_limit_is_reported_from_ten_rows(least: int, warns: bool) -> None:
    """Every complete log has lookups by key, which examine only one or two rows. A minimum of ten rows therefore means
    a limit.
    """
    with open_database() as con:
        con.execute(
            "CREATE TABLE events AS SELECT i * 1000000 AS start_ns, 1000 AS duration_ns, 'query' AS command,"
            f" 'read' AS class, {least} + i AS rows_examined FROM range(20) t(i)"
        )
        assert [warning["kind"] for warning in completeness(con)] == ["min_examined_row_limit"] * warns
