# SPDX-License-Identifier: Apache-2.0
"""What is said before a recording begins: what it will lack, what stays behind, how much may be written."""

from pathlib import Path

from querytape.capture.server_log.notes import plan_notes
from querytape.capture.server_log.settings import GLOBAL_CONTROL, plan_changes
from querytape.servers.facts import Facts

VARIABLES = {
    "long_query_time": "10.000000",
    "log_output": "FILE",
    "slow_query_log": "OFF",
    "slow_query_log_file": "/var/log/own.log",
    "general_log": "OFF",
}


def notes(method: str = "file", **variables: str) -> str:
    """Return the notes as one text."""
    facts = Facts("8.0", variables=VARIABLES | variables, connected=4, statements_per_s=2000.0)
    file = Path("/q.log") if method == "file" else None
    changes = plan_changes(facts.variables, method, str(file) if file else None)
    return "; ".join(plan_notes(facts, method, changes, file, 8 << 30))


def test_how_much_and_where() -> None:
    """The bound, the place and whether it stays, the rate."""
    assert "at most about 8,590 MB (--max-disk) are written, to /q.log, which is removed at the end" in notes()
    assert "0.60 MB/s at this server's mean of 2,000 statements a second" in notes()
    assert "mysql.slow_log, where its rows stay" in notes("table")
    assert "mysql.general_log, where its rows stay" in notes("general")


def test_what_stays_behind() -> None:
    """Off before: harmless; on: held off; Percona Server's control: kept; general log: nothing stays."""
    assert "they write nothing then" in notes()
    on = notes(slow_query_log="ON")
    assert "own slow log (/var/log/own.log) is on" in on
    assert "stays off until they are gone" in on
    percona = notes(**{"slow_query_log": "ON", GLOBAL_CONTROL: ""})
    assert "stays 'all' until they are gone" in percona
    assert "connections are open" not in percona
    assert "3 connections are open" in on
    assert "long_query_time" not in notes("general")


def test_a_general_log_that_is_on() -> None:
    """A changed log_output moves it, too."""
    assert "general log is on" in notes("table", general_log="ON")
    assert "general log is on" not in notes("file", general_log="ON")
