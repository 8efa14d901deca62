# SPDX-License-Identifier: Apache-2.0
"""Output of mysqlbinlog: the session and start time of each statement, and the information that it lacks."""

from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.sources.binlog import missing
from querytape.common.errors import InputError

from tests.helpers.duck import database
from tests.helpers.reading import read_all

END = "/*!*/;\n"
START = f"DELIMITER {END[:-1]}\n"
KIND = SOURCES["binlog"]


def event(kind: str, body: str, at: str = "261120 15:21:05", more: str = "") -> str:
    """Return one event as mysqlbinlog prints it."""
    return f"# at 100\n#{at} server id 1  end_log_pos 200 CRC32 0x394c241a \t{kind}{more}\n{body}"


def query(sql: str, thread: int = 7, stamp: str = "1795188065", **more: Any) -> str:
    """Return a Query event."""
    told = f"\tthread_id={thread}\texec_time=0\terror_code={more.pop('error', 0)}"
    return event("Query", f"SET TIMESTAMP={stamp}{END}{sql}\n{END}", more=told, **more)


def read(path: Path, settings: Settings | None = None) -> tuple[list[tuple[Any, ...]], list[str], dict[str, Any]]:
    """Return the events, the kinds of problems, and the description. The columns of an event are thread, seq, db,
    statement, start_ns, precision_ns, insert_id and errno.
    """
    log = read_all(KIND.open([str(path)], settings or Settings()))
    names = ("thread_id", "seq", "db", "statement", "start_ns", "precision_ns", "insert_id", "errno")
    found = sorted(log.events, key=lambda e: (e["offset"], e["session"], e["seq"]))
    return [tuple(e[name] for name in names) for e in found], log.kinds, log.description


def written(tmp_path: Path, *events: str) -> Path:
    """Return a file with a header and the given events."""
    path = tmp_path / "binlog.sql"
    first = event("Start: binlog v 4, server v 8.0.31", "BINLOG '\nAAAA\n'" + END, more=" created 261120 15:21:04")
    path.write_bytes(("/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n" + START + first + "".join(events)).encode())
    return path


@pytest.mark.parametrize("gtid", [False, True])
def test_each_statement_has_the_thread_of_its_event(gtid: bool, tmp_path: Path) -> None:
    """Thread ids are 0 to 2^32 - 1. An event without a thread id gets the thread id of the previous event."""
    threads = [7, 0, 1, 0, 2**32 - 1, 10, 9, 0]
    parts: list[str] = []
    for number, thread in enumerate(threads):
        parts += [event("GTID", f"SET @@SESSION.GTID_NEXT= 'x:{number}'{END}")] * gtid
        parts += [
            query("BEGIN", thread),
            query(f"INSERT INTO t VALUES ({number})", thread),
            event("Xid = 1", f"COMMIT{END}"),
        ]
    found, problems, _ = read(written(tmp_path, *parts))
    assert problems == []
    assert [row[0] for row in found] == [thread for thread in threads for _ in range(3)]


@pytest.mark.parametrize("mark", ["/*!50718", "/*!", "/*M!100001"])
def test_set_transaction_next_to_a_gtid_is_not_an_event(mark: str, tmp_path: Path) -> None:
    """mysqlbinlog prints SET TRANSACTION in a comment with each GTID, but no client sent it. If a client sends a
    statement in such a comment, it is an event.
    """
    gtid = event("GTID", f"{mark} SET TRANSACTION ISOLATION LEVEL READ COMMITTED*/{END}")
    texts = ["BEGIN", "/*!40000 ALTER TABLE t DISABLE KEYS */", "INSERT INTO t VALUES (1)"]
    rows = [*(query(text, 7) for text in texts), event("Xid = 1", f"COMMIT{END}")]
    found, problems, _ = read(written(tmp_path, gtid, *rows))
    assert problems == []
    assert [row[3] for row in found] == [text.encode() for text in (*texts, "COMMIT")]


def test_row_events_take_their_annotated_statement(tmp_path: Path) -> None:
    """The statement comes from Rows_query (MySQL) or Annotate_rows (MariaDB). A warning counts the row events without a
    statement.
    """
    rows = event(
        "Write_rows: table id 28 flags: STMT_END_F", f"\nBINLOG '\nYWUAaxMB\n'{END}### INSERT INTO `t`\n### SET\n"
    )
    path = written(
        tmp_path,
        query("BEGIN"),
        event("Rows_query\n# INSERT INTO t\n# VALUES (1)\n", "# at 150\n"),
        rows,
        event("Xid = 1", f"COMMIT{END}"),
        event("GTID 0-1-6 trans", f"/*M!100001 SET @@session.gtid_seq_no=6*//*!*/;\nSTART TRANSACTION\n{END}"),
        event("Annotate_rows:\n", "#Q> UPDATE t\n#Q> SET a = 2\n"),
        rows,
        event("Xid = 2", f"COMMIT{END}"),
        query("BEGIN", thread=9),
        rows,
        event("Xid = 3", f"COMMIT{END}"),
    )
    found, problems, described = read(path)
    assert problems == []
    assert [(row[0], row[3]) for row in found] == [
        (7, b"BEGIN"),
        (7, b"INSERT INTO t\nVALUES (1)"),
        (7, b"COMMIT"),
        (None, b"START TRANSACTION"),
        (None, b"UPDATE t\nSET a = 2"),
        (None, b"COMMIT"),
        (9, b"BEGIN"),
        (9, b"COMMIT"),
    ]
    assert (described["row_events"], described["row_events_without_statement"]) == (3, 1)
    assert [warning["kind"] for warning in missing(described)] == ["writes_only", "row_events"]


def test_event_headers_are_in_local_time(tmp_path: Path) -> None:
    """The UTC offset comes from another event that has SET TIMESTAMP, or from --log-timezone."""
    path = written(
        tmp_path, query("BEGIN", at="261120 17:21:05"), event("Xid = 1", f"COMMIT{END}", at="261120 17:21:09")
    )
    found, _, _ = read(path)
    assert [row[4] // 10**9 for row in found] == [1795188065, 1795188069]
    path = written(tmp_path, event("Xid = 1", f"COMMIT{END}", at="261120 18:21:05"))
    found, _, _ = read(path, Settings(timezone_ns=3 * 3600 * 10**9))
    assert found[0][4] // 10**9 == 1795188065


SHAPE = "#261120 15:21:09 server id "
BAD_DATES = ("260020", "261320", "261100", "261132", "269920")


def time_of_header(path: Path, line: str) -> datetime | None:
    """Return the time of a statement that follows this line. Return None if the line is not an event header."""
    path.write_bytes(f"{START}{line}\nCOMMIT{END}".encode())
    found, problems, _ = read(path, Settings(timezone_ns=0))
    assert problems == ([] if found else ["foreign_file"])
    return datetime.fromtimestamp(found[0][4] // 10**9, UTC) if found else None


@pytest.mark.slow
def test_event_header_format_is_checked(tmp_path: Path) -> None:
    """Each character of an event header must be a digit or the expected separator. Month, day and century have limits.
    The first digit of the hour may be a blank.
    """
    path = tmp_path / "binlog.sql"
    for at, char in enumerate(SHAPE):
        others = "/:O " if char.isdigit() else "0xT" if char == " " else "0 ~"
        for other in others:
            expected = datetime(2026, 11, 20, 5, 21, 9, tzinfo=UTC) if (at, other) == (8, " ") else None
            assert time_of_header(path, SHAPE[:at] + other + SHAPE[at + 1 :]) == expected, (at, other)
    assert time_of_header(path, SHAPE[:-1]) is None
    for year, month, day in [(2026, 1, 1), (2026, 12, 31), (2069, 9, 30), (1970, 10, 1), (1999, 12, 31), (2000, 2, 29)]:
        expected = datetime(year, month, day, 23, 59, 58, tzinfo=UTC)
        assert time_of_header(path, f"#{expected:%y%m%d %H:%M:%S} server id 1  end_log_pos 200") == expected
    assert [time_of_header(path, f"#{date}{SHAPE[7:]}1") for date in BAD_DATES] == [None] * len(BAD_DATES)


def test_raw_binary_log_is_refused_with_instructions(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(b"\xfebin" + bytes(500))
    with pytest.raises(InputError, match="Run mysqlbinlog on the file"):
        capture_source(KIND, [str(path)], tmp_path / "t.tape", Settings())
    assert not (tmp_path / "t.tape").exists()


def test_tape_of_a_binary_log_warns_that_it_has_only_writes(tmp_path: Path) -> None:
    """The kind of the warning is writes_only, and the tape is partial."""
    info = capture_source(KIND, [str(written(tmp_path, query("DELETE FROM t")))], tmp_path / "t.tape", Settings())
    assert [warning["kind"] for warning in info["warnings"]] == ["writes_only"]
    assert info["counts"]["events"] == 1


def test_binary_log_and_packets_have_the_same_writes(samples: Path) -> None:
    """One workload was captured both as packets and as a binary log. The binary log has each thread's writes once and
    in order.
    """
    found, problems, _ = read(samples / "paired" / "md_paired.binlog.txt")
    assert problems == []
    texts = defaultdict(list)
    for row in found:
        if row[3] not in (b"START TRANSACTION", b"COMMIT", b"BEGIN"):
            texts[row[0]].append(row[3])
    packets = SOURCES["packets"].open([str(samples / "paired" / "md_paired.pcap")], Settings(extra={"port": (33306,)}))
    said = defaultdict(list)
    with database() as con:
        stream = packets.part(100_000, 1 << 26)
        con.register("s", stream)
        for thread, statement in con.execute(
            "SELECT thread_id, statement FROM s WHERE class = 'write' AND command = 'query' AND errno = 0"
            " AND rows_affected > 0 ORDER BY session, seq"
        ).fetchall():
            said[thread].append(bytes(statement))
        con.unregister("s")
        stream.close()
    packets.close()
    for thread in range(515, 523):
        ours = [text for text in said[thread] if not text.startswith(b"LOAD DATA")]
        assert [text for text in texts[thread] if text in ours] == ours, thread


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("7258118400", 7_258_118_400),
        ("7258118401", None),
        ("99999999999999999999", None),
        ("-1", None),
        ("", None),
        ("DEFAULT", None),
        ("1795188070.999999", 1_795_188_070),
    ],
)
def test_invalid_timestamp_uses_the_event_header(stamp: str, seconds: int | None, tmp_path: Path) -> None:
    """A timestamp is invalid if it is after the year 2200 or not a number."""
    path = written(
        tmp_path, query("INSERT INTO t VALUES (1)", stamp="1795188062"), query("INSERT INTO t VALUES (2)", stamp=stamp)
    )
    found, _, _ = read(path)
    at = [row[4] // 1_000_000_000 for row in found if b"(2)" in (row[3] or b"")]
    assert at == [1_795_188_065 if seconds is None else seconds]
