# SPDX-License-Identifier: Apache-2.0
"""The sweep over events sorted by DuckDB: its rows, and its errors for invalid input."""

from contextlib import closing

import duckdb
import pytest
from querytape.common.duck import open_database
from querytape.native.bindings.sweep import TIMES, sweep_commits
from querytape.schemas.names import USE_ASKS

LOCKS, STATEMENT = 2, 16
TABLE, DIGEST = 3, 0
ROWS = (  # session, seq, lo, hi: three autocommit writes on one table
    (1, 1, 0, 10),
    (2, 1, 5, 20),
    (1, 2, 15, 30),
)
COLUMNS = "session, seq, tape_ns, at_ns, lo_ns, hi_ns, digest, tx_first, tx_end, facts"


def swept(uses: list[tuple[int, int, int]], columns: str = COLUMNS, times: str = "both") -> list[tuple[int, int, str]]:
    """Return (session, seq, waits) for each row of the sweep."""
    with open_database() as con, open_database() as reader:
        con.execute("CREATE TABLE given (session BIGINT, seq BIGINT, lo_ns BIGINT, hi_ns BIGINT)")
        con.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", ROWS)
        events = con.sql(
            f"SELECT {columns} FROM (SELECT *, lo_ns AS tape_ns, lo_ns AS at_ns, {DIGEST}::BIGINT AS digest,"
            f" -1::BIGINT AS tx_first, -1::BIGINT AS tx_end, {LOCKS | STATEMENT}::BIGINT AS facts FROM given)"
            " ORDER BY lo_ns, session, seq"
        )
        with closing(sweep_commits(events, uses, TABLE + 1, times=times)) as stream:
            reader.register("swept", stream)
            return reader.execute("SELECT session, seq, waits FROM swept ORDER BY session, seq").fetchall()


def test_commits_are_numbered_in_time_order() -> None:
    """Each commit waits for the previous commit on its table."""
    place = 3 * TABLE
    expected = [(1, 1, f";{place}:1"), (1, 2, f"{place}:2;{place}:3"), (2, 1, f"{place}:1;{place}:2")]
    assert swept([(DIGEST, TABLE, USE_ASKS)]) == expected
    assert swept([(DIGEST, TABLE, USE_ASKS)], times="ends") == expected


@pytest.mark.parametrize("times", TIMES)
def test_event_without_tables_has_no_row(times: str) -> None:
    """The digest of the event is known, but the event uses no table."""
    assert swept([(DIGEST + 1, TABLE, USE_ASKS)], times=times) == []


def test_invalid_input_is_reported() -> None:
    """Covers unsorted table uses, an unknown table, and a column of a wrong type."""
    with pytest.raises(duckdb.Error, match="not sorted by digest"):
        swept([(1, TABLE, USE_ASKS), (0, TABLE, USE_ASKS)])
    with pytest.raises(duckdb.Error, match="not sorted by digest"):
        swept([(0, TABLE + 1, USE_ASKS)])
    with pytest.raises(duckdb.Error, match="column"):
        swept([(DIGEST, TABLE, USE_ASKS)], COLUMNS.replace("seq", "seq::VARCHAR"))


def test_ddl_inside_a_transaction_counts_as_two_events() -> None:
    """Other statements wait for the implicit COMMIT, which itself waits for nothing. The DDL waits for earlier reads of
    its table.
    """
    own, reads, exclusive = 4, 8, 32
    ddl = LOCKS | own | STATEMENT | exclusive
    rows = [
        (1, 1, 0, 1, 0, 3, LOCKS | STATEMENT),  # a write in a transaction of events 1 to 3
        (2, 1, 5, 6, -1, -1, reads | STATEMENT),
        (1, 3, 100, 90_000, -1, -1, ddl),
        *((3, n, 200 + 10 * n, 205 + 10 * n, -1, -1, reads | STATEMENT) for n in range(1, 3000)),
    ]
    with open_database() as con, open_database() as reader:
        con.execute(
            "CREATE TABLE given (session BIGINT, seq BIGINT, lo BIGINT, hi BIGINT, tx BIGINT, e BIGINT, f BIGINT)"
        )
        con.execute(
            "INSERT INTO given SELECT unnest($1, recursive := true)",
            [[dict(zip("abcdefg", r, strict=True)) for r in rows]],
        )
        events = con.sql(
            f"SELECT session, seq, lo, lo, lo, hi, {DIGEST}::BIGINT, tx, e, f FROM given ORDER BY lo, session, seq"
        )
        stream = sweep_commits(events, [(DIGEST, TABLE, USE_ASKS)], TABLE + 1, exclusive_tables={TABLE})
        with closing(stream):
            reader.register("swept", stream)
            ((waits,),) = reader.execute("SELECT waits FROM swept WHERE session = 1 AND seq = 3").fetchall()
    commits, locks = 3 * TABLE, 3 * TABLE + 1
    assert waits == f";{commits}:1|{commits}:1 {locks}:3001;{commits}:2"
