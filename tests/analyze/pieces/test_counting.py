# SPDX-License-Identifier: Apache-2.0
"""Aggregates computed from partitions equal the aggregates of all rows. The data has ties, NULLs and negative values."""

import random
from collections.abc import Iterator

import duckdb
import pytest
from querytape.analyze.database import open_analysis
from querytape.analyze.pieces import counting
from querytape.analyze.pieces.steps import parse, statements
from querytape.common.duck import load_sql

from tests.helpers.tables import insert_rows

pytestmark = pytest.mark.slow

PARTS = 3
TEXT = """CREATE OR REPLACE TEMP TABLE found AS
SELECT {keys}count(*) AS n,
    count(DISTINCT number) FILTER (number > 0) AS numbers,
    sum(number)::BIGINT AS total,
    min(number) AS low,
    max(text) AS high,
    arg_min(text, {{'n': number, 'p': place}}) AS first,
    mean_of(ln(greatest(number, 1))) AS level,
    quantile_disc(number, [0.5, 0.9, 0.999]) FILTER (place <> 7) AS p,
    quantile_disc(number, 0.95) AS q,
    median(number) AS middle,
    middle_interval((greatest(number, 1) / 7)::FLOAT) AS ratios
FROM outcome
WHERE place >= 0
GROUP BY ALL;
SELECT * FROM found
"""


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Create rows of a few groups with many ties, NULLs, zeros, negative numbers and very large numbers."""
    database = open_analysis()
    made = database.con
    made.execute("CREATE TABLE every_outcome (run VARCHAR); CREATE TABLE tape_event (a INTEGER)")
    for text in statements(load_sql("querytape.analyze", "prelude.sql")) + statements(counting.MACROS):
        if " MACRO mean_of" in text or "interval" in text or "bin_of" in text:
            made.execute(text)
    chance = random.Random(3)
    rows = []
    for place in range(4000):
        digest = chance.choice(["a", "a", "a", "b", None, "c"])
        size = int(chance.lognormvariate(9, 4))
        number = chance.choice([None, 0, -size, size, size, size, size // 1000 * 1000, 2**50 + size])
        rows.append((place, digest, number if digest != "c" else None, chance.choice("xyz"), place % PARTS))
    made.execute("CREATE TABLE outcome (place BIGINT, digest VARCHAR, number BIGINT, text VARCHAR, part INTEGER)")
    insert_rows(made, "outcome", rows)
    made.execute("SET VARIABLE spread = true")
    made.execute("CREATE TABLE whole AS SELECT 'b' AS digest; UPDATE outcome SET part = 1 WHERE digest = 'b'")
    yield made
    database.close()


@pytest.mark.parametrize("keys", ["", "digest, ", "number % 2 AS odd, ", "digest, number % 2 AS odd, "])
def test_partitions_give_the_same_aggregates_as_the_whole_table(con: duckdb.DuckDBPyConnection, keys: str) -> None:
    text = TEXT.format(keys=keys)
    (step,) = parse("found", text).steps
    usual = sorted(con.execute(step.query).fetchall(), key=str)

    def gathered(name: str, query: str) -> None:
        parts = (
            query.replace("FROM outcome", f"FROM (FROM outcome WHERE part = {part}) AS outcome")
            for part in range(PARTS)
        )
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS {' UNION ALL BY NAME '.join(f'FROM ({part})' for part in parts)}"
        )

    gathered("parts", counting.partial_rows(step, "FROM whole"))
    tables = {}
    for each in (each for each in step.aggregates if each.ranked):
        gathered("counts", counting.counted(step, each, "FROM whole"))
        con.execute(f"CREATE OR REPLACE TEMP TABLE bins AS {counting.chosen(step, each, 'counts')}")
        gathered("exact", counting.values(step, each, "bins", "FROM whole"))
        tables[each.name] = f"found_{each.name}"
        con.execute(f"CREATE OR REPLACE TEMP TABLE found_{each.name} AS {counting.ranked(step, each, 'bins', 'exact')}")
    query = counting.together(step, "parts", tables)
    whole = counting.whole_rows(step, "FROM whole")
    assert (whole is None) == ("digest" not in keys)
    if whole is not None:
        gathered("whole_ones", whole)
        query += " UNION ALL BY NAME FROM whole_ones"
    assert sorted(con.execute(query).fetchall(), key=str) == usual


def _taken(con: duckdb.DuckDBPyConnection, key: str) -> int:
    (step,) = parse("found", TEXT.format(keys=f"number % 2 AS {key}, ")).steps
    p = next(each for each in step.aggregates if each.name == "p")
    con.execute(f"CREATE OR REPLACE TEMP TABLE counts AS {counting.counted(step, p, 'FROM whole')}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE bins AS {counting.chosen(step, p, 'counts')}")
    return len(con.execute(counting.values(step, p, "bins", "FROM whole")).fetchall())


@pytest.mark.parametrize("key", ["bin", "height", "part"])
def test_second_pass_counts_only_chosen_bins(con: duckdb.DuckDBPyConnection, key: str) -> None:
    assert _taken(con, key) == _taken(con, "odd")


@pytest.mark.parametrize("key", counting.OWN)
def test_key_with_name_of_internal_column_is_refused(con: duckdb.DuckDBPyConnection, key: str) -> None:
    """A key with the name of an internal column would be confused with that column's counts or ranks."""
    with pytest.raises(ValueError, match=f"the key column {key} is reserved"):
        _taken(con, key)


def test_complete_partitions_read_no_events(con: duckdb.DuckDBPyConnection) -> None:
    """If a partition contains all events of a digest, the analysis needs no partial rows, counts or values."""
    (step,) = parse("found", TEXT.format(keys="digest, ")).steps
    p = next(each for each in step.aggregates if each.name == "p")
    con.execute(f"CREATE OR REPLACE TEMP TABLE counts AS {counting.counted(step, p, 'FROM whole')}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE bins AS {counting.chosen(step, p, 'counts')}")
    queries = [
        counting.partial_rows(step, "FROM whole"),
        counting.counted(step, p, "FROM whole"),
        counting.values(step, p, "bins", "FROM whole"),
    ]

    def reads(query: str) -> bool:
        return "outcome" in con.execute(f"EXPLAIN {query}").fetchall()[0][1]

    assert [reads(query) for query in queries] == [True, True, True]
    con.execute("SET VARIABLE spread = false")
    try:
        assert [reads(query) for query in queries] == [False, False, False]
        assert [con.execute(query).fetchall() for query in queries] == [[], [], []]
    finally:
        con.execute("SET VARIABLE spread = true")


@pytest.mark.parametrize("share", ["0.5", "0.9", "0.95", "0.99", "0.999"])
def test_ranks_equal_those_of_quantile_disc(share: str) -> None:
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT n, quantile_disc(i, {share}), greatest(1, n - floor(n - {share} * n))::BIGINT"
            " FROM (SELECT n, unnest(range(1, n + 1)) AS i FROM range(1, 1200) AS t(n)) GROUP BY n"
        ).fetchall()
    assert [row for row in rows if row[1] != row[2]] == []
