# SPDX-License-Identifier: Apache-2.0
"""Session properties, such as charset and port, from parts that --keep removed. One file keeps the properties of
sessions that may continue, with the latest value last.
"""

from pathlib import Path

import duckdb
import pytest
from querytape.capture.session_facts import DROPPED, FactsRing, load_facts

from tests.helpers.duck import database


def name_of(number: int) -> str:
    """Return the file name of a part."""
    return f"part-{number:010d}.parquet"


def write_session_facts(con: duckdb.DuckDBPyConnection, folder: Path, number: int, rows: str) -> None:
    """Write the file with the session properties of a part: (session, charset, port, open_at_end)."""
    query = f"SELECT * FROM (VALUES {rows}) t (session, charset, port, open_at_end)"
    con.execute(f"COPY ({query}) TO '{folder / name_of(number)}' (FORMAT parquet)")


def known(folder: Path) -> dict[int, tuple[str | None, int | None]]:
    """Return the properties of each session from all files in a folder."""
    with database() as con:
        load_facts(con, sorted(folder.glob("part-*.parquet")))
        rows = con.execute("SELECT session, charset, port FROM telling").fetchall()
    return {session: (charset, port) for session, charset, port in rows}


@pytest.mark.long
def test_properties_of_open_sessions_are_retained(tmp_path: Path) -> None:
    """Each of 60 parts has a new session that disconnects three parts later. One more session is open from the start.
    Only a few files remain.
    """
    with database() as con:
        ring = FactsRing(con, tmp_path, at_once=5)
        for number in range(60):
            old = f", (1000, 'old-{number}', {'33' if number == 0 else 'NULL'}, NULL)" if number % 7 == 0 else ""
            ended = f", ({number - 3}, NULL, NULL, false)" if number > 2 else ""
            write_session_facts(con, tmp_path, number, f"({number}, 'c{number}', 7, NULL::BOOLEAN){ended}{old}")
            ring.told(name_of(number))
            if number >= 10:
                ring.drop_before(name_of(number - 9))
            assert len(list(tmp_path.iterdir())) <= 10 + 5 + 2
            for session in range(max(0, number - 9), number + 1):  # sessions with an event in the parts that are kept
                assert known(tmp_path)[session] == (f"c{session}", 7)
            assert known(tmp_path)[1000] == (f"old-{number // 7 * 7}", 33)
        assert con.execute(f"SELECT count(*) FROM '{tmp_path / DROPPED}'").fetchall()[0][0] <= 5


def test_properties_of_sessions_without_a_disconnect_are_limited(tmp_path: Path) -> None:
    """The properties of the latest sessions are kept. Sessions that never disconnect cannot fill the disk."""
    with database() as con:
        ring = FactsRing(con, tmp_path, at_once=1, most=4)
        for number in range(20):
            write_session_facts(con, tmp_path, number, f"({number}, 'c', 7, NULL::BOOLEAN)")
            ring.told(name_of(number))
            ring.drop_before(name_of(number))
        assert sorted(known(tmp_path)) == [14, 15, 16, 17, 18, 19]
        assert [row[0] for row in con.execute(f"SELECT session FROM '{tmp_path / DROPPED}'").fetchall()] == [
            14,
            15,
            16,
            17,
        ]
