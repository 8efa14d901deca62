# SPDX-License-Identifier: Apache-2.0
"""General query logs: arrival times, connections and statements. A general log has no durations, errors or row counts."""

from itertools import product
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source, detect_source

from tests.helpers.reading import Read, read_all, read_quickly

MYSQL8 = """/usr/sbin/mysqld, Version: 8.0.31 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /s
Time                 Id Command    Argument
2026-11-20T15:21:05.000001Z\t    7 Connect\tapp@web1 on shop using TCP/IP
2026-11-20T15:21:05.000002Z\t    7 Query\tSELECT 'two
lines'
2026-11-20T15:21:05.000003Z\t    7 Init DB\tother
2026-11-20T15:21:05.000004Z\t    8 Query\tSELECT 2
2026-11-20T15:21:05.000005Z\t    7 Quit\t
"""
MARIADB = """/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:
Tcp port: 3306  Unix socket: /s
Time\t\t    Id Command\tArgument
261120 15:21:05\t     7 Query\tSELECT 1
\t\t     7 Query\tSELECT 2
"""


def read(tmp_path: Path, text: str, timezone_ns: int | None = None) -> Read:
    """Return all events and problems of a log."""
    path = tmp_path / "general.log"
    path.write_text(text)
    assert detect_source(str(path), SOURCES.values()).name == "general"
    return read_all(SOURCES["general"].open([str(path)], Settings(timezone_ns)))


@pytest.mark.parametrize("blanks", [1, 2, 4, 8])
@pytest.mark.parametrize("text", [MYSQL8, MARIADB + "\t\t  1234 Query\tSELECT 3\n"])
def test_general_log_with_blanks_for_tabs_is_read(tmp_path: Path, text: str, blanks: int) -> None:
    """A copied log may have blanks in place of tabs. Any number of blanks gives the same events."""

    def event_fields(log: Read) -> list[tuple[object, ...]]:
        return [(e["thread_id"], e["command"], e["db"], e["statement"], e["start_ns"]) for e in log.events]

    copied = read(tmp_path, text.replace("\t", " " * blanks))
    assert copied.kinds == []
    assert event_fields(copied) == event_fields(read(tmp_path, text))


def test_statement_line_may_look_like_a_row_with_blanks(tmp_path: Path) -> None:
    """If the rows of a log have tabs, a line that starts with blanks is part of a statement."""
    log = read(tmp_path, MARIADB + "\t\t     7 Query\tSELECT '\n      7 Query     SELECT 4\n'\n")
    assert [e["statement"] for e in log.events][2:] == [b"SELECT '\n      7 Query     SELECT 4\n'"]


def test_row_with_a_time_zone_is_converted_to_utc(tmp_path: Path) -> None:
    """The offset of a zone east of UTC is subtracted from the local time."""
    zones = ("Z", "+02:00", "-03:00")
    at = [read(tmp_path, MYSQL8.replace("Z\t", f"{zone}\t")).events[0]["start_ns"] for zone in zones]
    assert [(ns - at[0]) // 3_600_000_000_000 for ns in at] == [0, -2, 3]


def test_general_log_tape_has_no_durations(tmp_path: Path) -> None:
    path = tmp_path / "general.log"
    path.write_text(MYSQL8)
    info = capture_source(SOURCES["general"], [str(path)], tmp_path / "t.tape", Settings())
    assert info["counts"] == {"events": 5, "sessions": 2, "digests": 1, "problems": 0}
    assert "duration_ns" not in info["known_columns"]


def test_unparsed_lines_are_counted(tmp_path: Path) -> None:
    """Consecutive unparsed lines are one problem, and their bytes are counted. Lines that the server itself writes are
    not counted.
    """
    garbage = "no row\nnor this\n"
    text = f"{MYSQL8}{MARIADB.splitlines()[0]}\n{garbage}\n{garbage}{MYSQL8}"
    path = tmp_path / "general.log"
    path.write_text(text)
    log = read_all(SOURCES["general"].open([str(path)], Settings(None)))
    assert [(row["line"], row["kind"]) for row in log.problems] == [(11, "not_understood"), (14, "not_understood")]
    assert log.not_understood == 2 * len(garbage)
    assert len(log.events) == 10


@pytest.mark.sampled
@pytest.mark.parametrize("using", ["", " using TCP/IP", " using Socket", " using SSL/TLS"])
@pytest.mark.parametrize("host", ["web1", "10.0.0.7", ""])
@pytest.mark.parametrize("user", ["app", "", "a@b", "on"])
def test_connect_rows_are_read_for_any_account(tmp_path: Path, user: str, host: str, using: str) -> None:
    """User, host and schema may be empty or have any length. Older servers do not log the type of the connection."""
    for account, anonymous in product((f"{user}@{host}",), ("", " as anonymous", " as other")):
        for db in ("", "d", "shop", "using", "usings", "shopping", "my shop", "a_very_long_name_of_a_schema"):
            words = f"{account}{anonymous} on {db}{using}"
            text = f"2026-11-22T07:00:00.000000Z\t    7 Connect\t{words}\n"
            (tmp_path / "general.log").write_text(f"{MYSQL8.splitlines(keepends=True)[0]}{text}")
            (event,) = read_quickly(SOURCES["general"].open([str(tmp_path / "general.log")], Settings(None))).events
            known = (event["user"] or "", event["host"] or "", event["db"] or "")
            assert known == (user, host, db), words
