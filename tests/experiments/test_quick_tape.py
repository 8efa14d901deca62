# SPDX-License-Identifier: Apache-2.0
"""The tape of samples that quick mode replays."""

import itertools
from pathlib import Path

import duckdb
import pytest
from querytape.common.duck import sql_text
from querytape.experiments.quick_selection import choose
from querytape.experiments.quick_tape import write_quick_tape
from querytape.schemas import open_folder

from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow

READ, PREPARED, MODE, CHARSET, OTHER = (f"{n:016x}" for n in range(1, 6))


def test_samples_have_the_settings_of_their_sessions(tmp_path: Path) -> None:
    """Each sample follows its PREPARE and the last SET of each kind since the last reset of its session."""
    events = [
        {"session": 1, "statement": "SET sql_mode = 'ANSI'", "class": "session", "digest": MODE},
        {"session": 1, "statement": "SET NAMES latin1", "class": "session", "digest": CHARSET},
        {"session": 1, "statement": "SELECT 1", "digest": READ, "db": "a", "rows_sent": 1, "checksum": "text:1:2"},
        {"session": 1, "statement": "SET sql_mode = ''", "class": "session", "digest": MODE},
        {"session": 1, "statement": "SELECT 22", "digest": OTHER, "db": "a"},
        {"session": 1, "statement": "SET autocommit = 0", "class": "session", "digest": f"{9:016x}"},
        {"session": 1, "command": "reset_connection"},
        {"session": 1, "statement": "SELECT 333", "digest": READ, "db": "b"},
        {"session": 2, "command": "prepare", "statement": "SELECT ?", "digest": PREPARED, "stmt": 7},
        *(
            {
                "session": 2,
                "command": "execute",
                "statement": "SELECT ?",
                "digest": PREPARED,
                "stmt": 7,
                "params": b"E\1\0\1\0\0\0\0\1\1\0" + bytes([value]),
            }
            for value in (5, 5, 6)
        ),
    ]
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", events))
    questions = choose(tape, ())
    assert len(questions.places) == 5
    out = tmp_path / "q.tape"
    info = write_quick_tape(tape, questions, dict.fromkeys(questions.places, 2), out)
    assert [warning["kind"] for warning in info["warnings"]] == ["quick", "quick"]
    made = open_folder("tape", out)
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT session, seq, command, replace(statement::VARCHAR, '\\x27', ''''), db, stmt, rows_sent, checksum"
            f" FROM {made.source('events')} ORDER BY start_ns"
        ).fetchall()
    sessions = [[row[2:] for row in group] for _, group in itertools.groupby(rows, key=lambda row: row[0])]
    assert all([row[1] for row in rows if row[0] == session] == list(range(1, n + 1)) for session, n in count_of(rows))
    mode, charset = ("query", "SET sql_mode = '{}'", None), ("query", "SET NAMES latin1", None)
    lap = [
        [(*mode[:1], mode[1].format("ANSI")), charset[:2], ("query", "SELECT 1")],
        [charset[:2], (*mode[:1], mode[1].format("")), ("query", "SELECT 22")],
    ]
    found = [[row[:2] for row in session] for session in sessions]
    for expected in lap:
        assert found.count(expected) == 2
    assert found.count([("query", "SELECT 333"), *[("prepare", "SELECT ?")] * 2, *[("execute", "SELECT ?")] * 2]) == 0
    bare = [session for session in sessions if session[0][1] == "SELECT 333" or session[0][0] == "prepare"]
    for session in bare:
        prepares = [row[3] for row in session if row[0] == "prepare"]
        assert sorted(prepares) == sorted(row[3] for row in session if row[0] == "execute")
        assert len(set(prepares)) == len(prepares)
    assert ("query", "SELECT 1", "a", None, 1, "text:1:2") in sessions[[s[-1][1] for s in found].index("SELECT 1")]
    assert not any("autocommit" in str(row[1]) for session in sessions for row in session)


def count_of(rows: list[tuple[object, ...]]) -> list[tuple[object, int]]:
    """Return each session with its number of events."""
    return [(key, len(list(group))) for key, group in itertools.groupby(rows, key=lambda row: row[0])]


def test_laps_of_a_sample_are_evenly_spread(tmp_path: Path) -> None:
    """A sample with a quarter of the laps occurs in every fourth lap. The tape has one sorted part file."""
    events = [{"statement": f"SELECT {n}", "digest": f"{n:016x}"} for n in (1, 2)]
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", events))
    questions = choose(tape, ())
    write_quick_tape(tape, questions, dict(zip(questions.places, (8, 2), strict=True)), tmp_path / "q.tape")
    with duckdb.connect() as con:
        source = sql_text(tmp_path / "q.tape" / "events" / "part-00000.parquet")
        texts = con.execute(f"SELECT session, statement::VARCHAR FROM {source}").fetchall()
    first = questions.places[0]
    often = next(event["statement"] for event in events if event["digest"] == first.digest)
    assert sum(text == often for _, text in texts) == 8
    rare = [session for session, text in texts if text != often]
    assert len(rare) == 2
    assert rare[1] - rare[0] == 4


def test_light_statements_precede_heavy_ones(tmp_path: Path) -> None:
    """All laps of statements with similar cost run in their own sessions before heavier statements. A statement of
    unknown cost counts as light.
    """
    events = [{"statement": f"SELECT {n}", "digest": f"{n:016x}"} for n in (1, 2, 3, 4)]
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", events))
    questions = choose(tape, ())
    costs = {f"{1:016x}": 5e7, f"{2:016x}": 90_000, f"{3:016x}": 2e7}
    write_quick_tape(tape, questions, dict.fromkeys(questions.places, 3), tmp_path / "q.tape", costs)
    with duckdb.connect() as con:
        source = sql_text(tmp_path / "q.tape" / "events" / "part-00000.parquet")
        rows = con.execute(f"SELECT session, statement::VARCHAR FROM {source} ORDER BY start_ns").fetchall()
    groups = [{text for _, text in rows[start:end]} for start, end in ((0, 3), (3, 6), (6, 12))]
    assert groups == [{"SELECT 4"}, {"SELECT 2"}, {"SELECT 1", "SELECT 3"}]
    assert len({session for session, _ in rows}) == 9
