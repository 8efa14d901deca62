# SPDX-License-Identifier: Apache-2.0
"""From slow logs to events. The name of a sample file describes its case. Each table row lists the expected events."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture_source, detect_source
from querytape.native.bindings.parsers import open_slowlog
from querytape.schemas import FLAGS

from tests.helpers.logs import write_mariadb
from tests.helpers.reading import read_all

LOGS = Path(__file__).parent / "logs"
SECOND = 1_000_000_000
SLOWLOG = SOURCES["slowlog"]


def events(*paths: Path, timezone_ns: int | None = None) -> list[dict[str, Any]]:
    """Return every event of the given logs as a dict, in reader order."""
    return read_all(open_slowlog(paths, timezone_ns)).events


def problems(*paths: Path) -> list[tuple[int, str]]:
    """Return (line, kind) for every problem of the given logs."""
    return [(row["line"], row["kind"]) for row in read_all(open_slowlog(paths)).problems]


CASES: dict[str, list[tuple[int, int, str, str | None, bytes | None]]] = {
    # columns: session, seq, command, db, statement
    "mysql80_extra_admin_commands.log": [
        (1, 1, "query", "shop", b"SELECT * FROM carts WHERE id=42"),
        (1, 2, "query", "shop", b"SELECT * FROM nowhere"),
        (1, 3, "quit", "shop", None),
        (2, 1, "query", "shop", b"SELECT 'the same thread id, another session'"),
    ],
    "mysql57_use_rule_and_restart.log": [
        (1, 1, "query", "a", b"use a"),
        (2, 1, "query", "a", b"SELECT 'still a: the use line holds for the whole log'"),
        (1, 2, "query", "b", b"SET timestamp=1000000000"),
        (3, 1, "query", None, b"SELECT 'after the restart: a new session, no schema known'"),
    ],
    "mariadb1011_header_inside_literal.log": [
        (
            1,
            1,
            "query",
            "shop",
            b"INSERT INTO logs(t) VALUES ('a line;\n# Time: 240610  8:13:21\n"
            b"# User@Host: fake[fake] @ localhost [127.0.0.1]\n# Thread_id: 30  Schema: shop  QC_hit: No\n"
            b"# Query_time: 9.000000  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
            b"SET timestamp=1718000001;\nSELECT 1;\nand its end')",
        ),
        (1, 2, "query", "shop", b"SELECT 'after'"),
    ],
    "mariadb_latin1_nul_and_unbalanced_quote.log": [
        (1, 1, "query", "shop", b"SELECT 'it\\'s', 'caf\xe9', '\x00',\n  \"two\n;lines\""),
        (1, 2, "query", "shop", b"SELECT 'never closed"),
        (1, 3, "query", "shop", b"SELECT 3"),
    ],
    "mariadb_cut_inside_statement.log": [
        (1, 1, "query", "shop", b"SELECT 1"),
        (1, 2, "query", "shop", b"UPDATE carts SET paid=1 WHERE"),
    ],
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_user_header_without_a_host_is_read(name: str, tmp_path: Path) -> None:
    """Some copied logs, and some managed servers, write `# User: app[app] @ [10.0.0.7]`. The events are the same as
    with a host name.
    """
    path = tmp_path / name
    path.write_bytes((LOGS / name).read_bytes().replace(b"# User@Host: ", b"# User: "))

    def event_fields(log: Path) -> list[tuple[Any, ...]]:
        return [(e["session"], e["user"], e["host"], e["statement"]) for e in events(log) if e["statement"]]

    literal = name == "mariadb1011_header_inside_literal.log"  # this log also has the same text in a literal
    assert [t[: 3 if literal else 4] for t in event_fields(path)] == [
        t[: 3 if literal else 4] for t in event_fields(LOGS / name)
    ]
    assert detect_source(str(path), SOURCES.values()) is SLOWLOG


PROBLEMS = {  # (line, kind of problem)
    "mariadb1011_header_inside_literal.log": [(4, "ambiguous_boundary")],
    "mariadb_latin1_nul_and_unbalanced_quote.log": [(9, "unbalanced_quote")],
    "mariadb_cut_inside_statement.log": [(7, "truncated_statement")],
}


@pytest.mark.parametrize("path", sorted(LOGS.iterdir()), ids=lambda path: path.stem)
def test_events_and_problems_of_each_sample(path: Path) -> None:
    """The test compares sessions, order, commands, schemas and statement bytes with the log. Each problem has its line."""
    found = [(e["session"], e["seq"], e["command"], e["db"], e["statement"]) for e in events(path)]
    assert found == CASES[path.name]
    assert problems(path) == PROBLEMS.get(path.name, [])


@pytest.mark.parametrize("blanks", [b" ", b"\t", b"   ", b"\r", b" \r"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_trailing_blanks_change_nothing(name: str, blanks: bytes, tmp_path: Path) -> None:
    """Editors and terminals add blanks to the ends of lines. The blanks do not change where headers and statements end."""
    path = tmp_path / name
    path.write_bytes((LOGS / name).read_bytes().replace(b"\n", blanks + b"\n"))

    def event_fields(log: Path, added: bytes) -> list[tuple[Any, ...]]:
        fields = ("session", "seq", "command", "db", "start_ns", "duration_ns", "user", "host", "flags")
        found = [e | {"statement": (e["statement"] or b"").replace(added + b"\n", b"\n")} for e in events(log)]
        return [(e["statement"], *(e[field] for field in fields)) for e in found]

    assert event_fields(path, blanks) == event_fields(LOGS / name, b"")
    assert problems(path) == problems(LOGS / name)


@pytest.mark.parametrize("busy", [0.1, 1.0, 1.5])
@pytest.mark.parametrize("seed", range(4))
def test_events_in_one_second_end_in_log_order(busy: float, seed: int, tmp_path: Path) -> None:
    """The log has whole seconds. Within a second, all events end at different times, in the order of the log. Events of
    one session do not overlap. The sessions are busy for a part of each second or for all of it. In a faulty log, they
    are busy for more than a second.
    """
    chance = random.Random(seed)
    now, history = dict.fromkeys(range(8), 0.0), []
    while (session := min(now, key=now.__getitem__)) is not None and now[session] < 3:
        took = chance.choice((0.0, chance.expovariate(500), chance.expovariate(20)))
        now[session] += took + (1 - min(busy, 1)) / busy * chance.expovariate(50)
        history.append((now[session], session, took * max(busy, 1)))
    rows = [(1718000000 + int(end), session, took, "SELECT 1") for end, session, took in sorted(history)]
    found = sorted(events(write_mariadb(tmp_path / "s.log", rows)), key=lambda e: e["offset"])
    ends = [e["start_ns"] + e["duration_ns"] for e in found]
    assert all(one < next_one for one, next_one in itertools.pairwise(ends))
    last: dict[int, int] = {}
    for event, end in zip(found, ends, strict=True):
        assert event["start_ns"] >= last.get(event["session"], 0)
        assert event["flags"] & FLAGS["time_inferred"]
        assert event["precision_ns"] == SECOND
        last[event["session"]] = end
    assert all(row[0] * SECOND <= end < (row[0] + 1) * SECOND + len(rows) for end, row in zip(ends, rows, strict=True))


def test_session_timestamp_is_not_the_clock(tmp_path: Path) -> None:
    """An event that follows its own SET timestamp gets a time between those of its neighbours. The timestamp may be in
    the past or the future.
    """
    rows = [(1718000000, 1, 0.001, "SELECT 1"), (1000000000, 2, 0.001, "SELECT 2"), (1718000001, 1, 0.001, "SELECT 3")]
    rows += [(1900000000, 2, 0.001, "SELECT 4"), (1718000002, 1, 0.001, "SELECT 5")]
    found = events(write_mariadb(tmp_path / "s.log", rows))
    assert [e["start_ns"] // SECOND for e in found] == [1718000000, 1718000000, 1718000001, 1718000001, 1718000002]
    guessed = [bool(e["flags"] & FLAGS["clock_guessed"]) for e in found]
    assert guessed == [False, True, False, True, False]


def test_rotated_logs_give_one_ordered_tape(tmp_path: Path) -> None:
    """The files are sorted by time, not by name. A session continues after the header of the next file."""
    header = "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:\nTcp port: 1  Unix socket: /s\n"
    header += "Time\t\t    Id Command\tArgument\n"
    second = write_mariadb(tmp_path / "slow.log", [(1718000100, 9, 0.001, "SELECT 'second'")])
    second.write_text(header + second.read_text())
    first = write_mariadb(tmp_path / "slow.log.1", [(1718000000, 9, 0.001, "SELECT 'first'")])
    info = capture_source(SLOWLOG, [str(second), str(first)], tmp_path / "t.tape", Settings())
    assert [Path(entry["path"]).name for entry in info["files"]] == ["slow.log.1", "slow.log"]
    assert info["counts"]["sessions"] == 1
    assert info["counts"]["events"] == 2


@pytest.mark.parametrize(("time", "shown"), [("", ""), ("noon ", "noon"), ("240610 25:00:00 ", "240610 25:00:00")])
def test_invalid_time_is_a_problem_that_shows_the_time(tmp_path: Path, time: str, shown: str) -> None:
    """Old servers wrote more text after the time, on the same line. An event is read even if its time is invalid."""
    path = tmp_path / "time.log"
    path.write_text(
        f"# Time: {time}# User@Host: a[b] @ localhost []  Id: 4\n# Query_time: 0.1  Lock_time: 0.0\n"
        "SET timestamp=1718000000;\nSELECT 1;\n"
    )
    found = read_all(open_slowlog([path]))
    assert [(e["user"], e["thread_id"], e["statement"]) for e in found.events] == [("b", 4, b"SELECT 1")]
    assert [row["detail"].split("found ")[1] for row in found.problems] == [f'"{shown}"']


def test_commands_without_rows_have_no_row_counts(tmp_path: Path) -> None:
    """For a command without rows, the server prints the row counts of the previous statement. Only commands that fetch
    rows keep their counts.
    """
    entry = (
        "# Time: 2026-11-22T07:00:00.000000Z\n# User@Host: app[app] @  [10.0.0.1]  Id:     8\n"
        "# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 7  Rows_examined: 9\nSET timestamp=1795330800;\n"
    )
    texts = ("SELECT 1", *(f"# administrator command: {c}" for c in ("Ping", "Quit", "Prepare", "Close stmt", "Fetch")))
    log = tmp_path / "slow.log"
    log.write_text("".join(f"{entry}{text};\n" for text in texts))
    assert [(row["command"], row["rows_sent"], row["rows_examined"]) for row in events(log)] == [
        ("query", 7, 9),
        ("ping", None, None),
        ("quit", None, None),
        ("prepare", None, None),
        ("close_stmt", None, None),
        ("fetch", 7, 9),
    ]


BEFORE = [
    *("/* c */ ", "/* it's */ ", "-- it's\n", "--\tit's\n", "# it's\n", "/*! 'x' */ ", "/*M! 'x' */ ", "`a'b` ", '"it\'s" ', "'it''s' "),
    *("'it\\'s' ", "a--b, ", "a - -b, ", "/**/ ", "/* * / */ ", "a/b, ", "a*b, ", "a-b, ", "'' ", '"" ', '"\\"" ', "/* ' */ /* \" */ "),
]  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
def test_log_entry_inside_a_literal_stays_text(before: str, tmp_path: Path) -> None:
    """Inside the literal, quotes and comments may come before the log entry. The log entry and the rest of the literal
    are text.
    """
    whole = (LOGS / "mariadb1011_header_inside_literal.log").read_text()
    (tmp_path / "slow.log").write_text(whole.replace("VALUES ('a line", f"VALUES ({before}'a line"))
    wanted = [(row[4] or b"").decode() for row in CASES["mariadb1011_header_inside_literal.log"]]
    wanted[0] = wanted[0].replace("VALUES ('a line", f"VALUES ({before}'a line")
    assert [row["statement"].decode() for row in events(tmp_path / "slow.log")] == wanted


@pytest.mark.parametrize(
    ("thread", "user", "goes_on"),
    [
        (7, "app", True),
        (7, "other", False),
        (8, "app", False),
        (8, "other", False),
        (5, "app", True),
        (99, "app", True),
    ],
)
def test_next_file_without_a_restart_continues_sessions(thread: int, user: str, goes_on: bool, tmp_path: Path) -> None:
    """The next file begins with an id of an open session or with a newer id. An id with a different account, or the id
    of an ended session, proves a restart.
    """
    banner = "/usr/sbin/mysqld, Version: 8.0.31 (MySQL). started with:\nTcp port: 3306  Unix socket: /s\n"
    banner += "Time                 Id Command    Argument\n"

    def entry(second: int, name: str, number: int, text: str) -> str:
        return (
            f"# Time: 2026-11-22T07:00:{second:02d}.000000Z\n# User@Host: {name}[{name}] @  [10.0.0.1]  Id: {number:5d}\n"
            "# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 7  Rows_examined: 9\n"
            f"SET timestamp={1795330800 + second};\n{text};\n"
        )

    files = [tmp_path / "a.log", tmp_path / "b.log"]
    before = entry(1, "app", 9, "SELECT 1") + entry(2, "app", 7, "SELECT 2") + entry(3, "app", 8, "SELECT 3")
    files[0].write_text(banner + before + entry(4, "app", 8, "# administrator command: Quit"))
    files[1].write_text(banner + entry(11, user, thread, "SELECT 4") + entry(12, "app", 9, "SELECT 5"))
    of_nine = [row["session"] for row in events(*files) if row["thread_id"] == 9]
    assert (of_nine[0] == of_nine[1]) is goes_on


LONG = "log_slow_max_query_length"
LIMITS: list[tuple[dict[str, str], dict[str, Any], list[str]]] = [  # server variables, capture settings, warnings
    ({}, {}, []),
    ({"max_allowed_packet": "16777216"}, {}, []),
    ({"max_allowed_packet": "16777216", LONG: "16777216"}, {}, []),
    ({"max_allowed_packet": "16777216", LONG: "18446744073709551615"}, {}, []),
    ({"max_allowed_packet": "16777216", LONG: "16777215"}, {}, ["long_left_out"]),
    ({LONG: "0"}, {}, ["long_left_out"]),
    ({LONG: "1000"}, {"changed": (LONG,)}, []),
]


@pytest.mark.parametrize(("variables", "extra", "expected"), LIMITS)
def test_omitted_long_statements_give_a_warning(
    variables: dict[str, str], extra: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    """There is a warning if the server does not log long statements that it accepts. There is none if the capture
    changed the limit.
    """
    settings = Settings(server={"variables": variables}, extra=extra)
    log = str(LOGS / "mysql80_extra_admin_commands.log")
    info = capture_source(SLOWLOG, [log], tmp_path / "t.tape", settings)
    assert [warning["kind"] for warning in info["warnings"]] == expected


@pytest.mark.parametrize(
    ("version", "noted"),
    [("13.1.2-MariaDB", 1), ("14.0.1-MariaDB-log", 1), ("13.0.1-MariaDB", 0), ("26.7.0 (MySQL)", 0)],
)
def test_possible_omission_of_long_statements_is_mentioned(version: str, noted: int, tmp_path: Path) -> None:
    """For MariaDB 13.1 and later, the summary mentions the server variable and --source. It gives no warning."""
    log = (LOGS / "mysql80_extra_admin_commands.log").read_text()
    (tmp_path / "a.log").write_text(log.replace("8.0.36 (MySQL Community Server - GPL)", version))
    info = capture_source(SLOWLOG, [str(tmp_path / "a.log")], tmp_path / "t.tape", Settings())
    assert len([note for note in info.get("notes", []) if LONG in note]) == noted
    assert info["warnings"] == []
