# SPDX-License-Identifier: Apache-2.0
"""What sessions told is one file where their parts were dropped: of those that may go on, the later word last."""

from pathlib import Path

import duckdb
import pytest
from querytape.capture.session_facts import DROPPED, FactsRing, load_facts

from tests.helpers.duck import database


def name_of(number: int) -> str:
    """Return the name of a part."""
    return f"part-{number:010d}.parquet"


def tell(con: duckdb.DuckDBPyConnection, folder: Path, number: int, rows: str) -> None:
    """Write what was told with a part: (session, charset, port, open_at_end)."""
    query = f"SELECT * FROM (VALUES {rows}) t (session, charset, port, open_at_end)"
    con.execute(f"COPY ({query}) TO '{folder / name_of(number)}' (FORMAT parquet)")


def known(folder: Path) -> dict[int, tuple[str | None, int | None]]:
    """Return what all files of a folder say of each session."""
    with database() as con:
        load_facts(con, sorted(folder.glob("part-*.parquet")))
        rows = con.execute("SELECT session, charset, port FROM telling").fetchall()
    return {session: (charset, port) for session, charset, port in rows}


@pytest.mark.long
def test_sessions_that_may_go_on_are_kept(tmp_path: Path) -> None:
    """Of 60 parts with a session each that quits three parts later, and one old one, no more than a few files stay."""
    with database() as con:
        ring = FactsRing(con, tmp_path, at_once=5)
        for number in range(60):
            old = f", (1000, 'old-{number}', {'33' if number == 0 else 'NULL'}, NULL)" if number % 7 == 0 else ""
            ended = f", ({number - 3}, NULL, NULL, false)" if number > 2 else ""
            tell(con, tmp_path, number, f"({number}, 'c{number}', 7, NULL::BOOLEAN){ended}{old}")
            ring.told(name_of(number))
            if number >= 10:
                ring.drop_before(name_of(number - 9))
            assert len(list(tmp_path.iterdir())) <= 10 + 5 + 2
            for session in range(max(0, number - 9), number + 1):  # those with an event in what is kept
                assert known(tmp_path)[session] == (f"c{session}", 7)
            assert known(tmp_path)[1000] == (f"old-{number // 7 * 7}", 33)
        assert con.execute(f"SELECT count(*) FROM '{tmp_path / DROPPED}'").fetchall()[0][0] <= 5


def test_of_those_that_never_quit_the_latest_are_kept(tmp_path: Path) -> None:
    """Connections that vanish without a word can't fill the disk."""
    with database() as con:
        ring = FactsRing(con, tmp_path, at_once=1, most=4)
        for number in range(20):
            tell(con, tmp_path, number, f"({number}, 'c', 7, NULL::BOOLEAN)")
            ring.told(name_of(number))
            ring.drop_before(name_of(number))
        assert sorted(known(tmp_path)) == [14, 15, 16, 17, 18, 19]
        assert [row[0] for row in con.execute(f"SELECT session FROM '{tmp_path / DROPPED}'").fetchall()] == [
            14,
            15,
            16,
            17,
        ]
