# SPDX-License-Identifier: Apache-2.0
"""Merge tables of separate shares: sums, minima, maxima, and the values of the first events."""

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze.database import AnalysisDatabase, open_analysis
from querytape.analyze.merge import ROWS, merge_files
from querytape.analyze.shares import CHOSEN, COUNTS, SPANS
from querytape.common.duck import sql_text

# A table with all combinations. `status` and `bin` are keys.
COLUMNS = (
    "status VARCHAR, bin INTEGER, n BIGINT, service_ns BIGINT, least BIGINT, first_ns BIGINT, last_ns BIGINT,"
    " longest_ns BIGINT, error VARCHAR, error_at STRUCT(session BIGINT, seq BIGINT)"
)
ROW = """
    SELECT ['x', 'y', NULL][1 + i % 3] AS status, (i // 3 % 2)::INTEGER AS bin, hash(i, {seed}, 'n') % 9 AS n,
        CASE WHEN hash(i, {seed}, 's') % 5 > 0 THEN hash(i, {seed}, 't') % 1000 END AS service_ns, hash(i, {seed}, 'l') % 50 AS least,
        hash(i, {seed}, 'f') % 50 AS first_ns, hash(i, {seed}, 'e') % 50 AS last_ns, hash(i, {seed}, 'g') % 50 AS longest_ns,
        CASE WHEN i % 4 > 0 THEN 'text ' || i END AS error,
        CASE WHEN i % 4 > 0 THEN {{'session': hash(i, {seed}, 'o') % 7, 'seq': i}} END AS error_at
    FROM range({rows}) AS t(i)
"""


def write(database: AnalysisDatabase, query: str, path: Path) -> Path:
    database.con.execute(f"COPY ({query}) TO {sql_text(path)} (FORMAT parquet)")
    return path


def merged(database: AnalysisDatabase, files: list[Path]) -> list[tuple[Any, ...]]:
    database.con.execute(f"CREATE OR REPLACE TABLE made ({COLUMNS})")
    merge_files(database, "made", files)
    return database.con.execute("FROM made ORDER BY ALL").fetchall()


@pytest.mark.parametrize("seed", range(10))
def test_result_does_not_depend_on_the_order_and_the_grouping(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    with closing(open_analysis()) as database:
        rows = ROW.format(seed=seed, rows=chance.choice((0, 1, 40, 400)))
        shares = chance.randrange(1, 9)
        files = [
            write(database, f"FROM ({rows}) WHERE hash(error_at, n) % {shares} = {k}", tmp_path / f"{k}")
            for k in range(shares)
        ]
        whole = merged(database, [write(database, rows, tmp_path / "whole")])
        assert merged(database, chance.sample(files, shares)) == whole
        halves = []
        for number, some in enumerate((files[: shares // 2], files[shares // 2 :])):
            if some:
                merged(database, some)
                halves.append(write(database, "FROM made", tmp_path / f"half{number}"))
        assert merged(database, halves) == whole


def test_merged_values_equal_those_of_a_simple_reference(tmp_path: Path) -> None:
    with closing(open_analysis()) as database:
        rows = ROW.format(seed=1, rows=400)
        found = merged(database, [write(database, rows, tmp_path / "whole")])
        each = database.con.execute(rows).fetchall()
    for status, key, n, service_ns, least, first_ns, last_ns, longest_ns, error, error_at in found:
        group = [row for row in each if row[:2] == (status, key)]
        assert n == sum(row[2] for row in group)
        assert service_ns == sum(row[3] for row in group if row[3] is not None)
        assert (least, first_ns) == (min(row[4] for row in group), min(row[5] for row in group))
        assert (last_ns, longest_ns) == (max(row[6] for row in group), max(row[7] for row in group))
        at = min((row[9]["session"], row[9]["seq"], row[8]) for row in group if row[9] is not None)
        assert (error_at["session"], error_at["seq"], error) == at
    assert len(found) == 6


def test_rows_of_single_events_stay_as_they_are(tmp_path: Path) -> None:
    """Two equal rows are two events."""
    with closing(open_analysis()) as database:
        database.con.execute("CREATE TABLE few_rows (digest VARCHAR, a_sent_ns BIGINT)")
        files = [write(database, "SELECT 'd' AS digest, 5::BIGINT AS a_sent_ns", tmp_path / name) for name in "ab"]
        merge_files(database, "few_rows", files)
        assert database.con.execute("FROM few_rows").fetchall() == [("d", 5), ("d", 5)]


def test_tables_of_single_events_are_tables_of_the_summary() -> None:
    assert {*CHOSEN, *COUNTS, *SPANS} >= ROWS
