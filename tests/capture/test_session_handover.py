# SPDX-License-Identifier: Apache-2.0
"""Information on the tape about sessions that were open before the capture."""

import os
from pathlib import Path

import duckdb
from querytape.capture.session_handover import HandedOver, describe_state, is_after, server_is_another
from querytape.schemas.names import FLAGS
from querytape.servers.client_sessions import OpenSessions

ASKED = {"server": {"at": "2026-11-22T07:00:00+00:00"}, "source": "packets"}
NINE = range(1, 10)
MOMENT_NS = 1_795_330_800 * 10**9


def events() -> duckdb.DuckDBPyConnection:
    """Return a database with the view `events`. Two sessions have a state, a third one has none, and a fourth one
    connected later.
    """
    con = duckdb.connect()
    con.execute("CREATE TABLE events (thread_id BIGINT, command VARCHAR, flags BIGINT)")
    rows = [(1, "query"), (1, "prepare"), (2, "query")]
    con.executemany(f"INSERT INTO events VALUES (?, ?, {FLAGS['carried']})", rows)
    con.execute("INSERT INTO events VALUES (1, 'execute', 0), (3, 'query', 0), (77, 'query', 0)")
    return con


def test_complete_session_state_gives_only_a_note() -> None:
    """The note contains the number of sessions with a state."""
    info, notes, warnings = describe_state(events(), HandedOver(NINE, {}, ()), ASKED, MOMENT_NS)
    assert info["open_sessions"] == {
        "sessions": 9,
        "found": 3,
        "carried": 3,
        "prepared": 1,
        "asked": "before",
        "not_restored": {},
        "not_shown": [],
    }
    (note,) = notes
    assert "sessions open on the source: 9. The tape contains 3 of these sessions, and 3 statements" in note
    assert warnings == []


def test_incomplete_session_state_is_reported() -> None:
    """The state was read too late, the server hides statement texts, or the server does not show prepared statements."""
    given = HandedOver(NINE, {"no_text": 2}, ("user variables", "prepared statements"))
    info, notes, warnings = describe_state(events(), given, ASKED, MOMENT_NS - 1)
    assert info["open_sessions"]["asked"] == "after"
    assert any("after the traffic" in note for note in notes)
    assert any("before the capture: user variables, prepared statements" in note for note in notes)
    (warning,) = warnings
    assert "2 prepared statements whose full text the server does not show" in warning["text"]
    assert "the prepared statements of 3 sessions" in warning["text"]
    slow = describe_state(events(), HandedOver(NINE, {}, given.not_shown), ASKED | {"source": "slowlog"}, MOMENT_NS)
    assert slow[2] == []
    assert is_after({"at": "x"}, MOMENT_NS)


def test_later_server_start_makes_the_state_unusable(tmp_path: Path) -> None:
    """The sessions of the restarted server differ from those in the log files."""
    log = tmp_path / "a.pcap"
    log.touch()
    os.utime(log, (1000, 1000))
    assert "started after" in server_is_another(OpenSessions((), started_s=1001), [str(log)])
    assert server_is_another(OpenSessions((), started_s=999), [str(log)]) == ""
    assert server_is_another(OpenSessions((), started_s=1001), ["-"]) == ""
    assert describe_state(events(), HandedOver((), {}, (), "why"), ASKED, 0)[2][0]["text"] == "why"
