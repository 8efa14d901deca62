# SPDX-License-Identifier: Apache-2.0
"""Lines that other programs write into a log. These lines are reported and never become part of an event."""

import random
import re
from pathlib import Path

import pytest
from querytape.native.bindings.parsers import open_slowlog
from querytape.schemas import FLAGS

from tests.helpers.reading import read_all

from .test_open_quotes import KINDS, Log, read_log

TIMED = [
    "2026-03-04T09:15:04.000000Z 39 [Note] [MY-013730] [Server] 'wait_timeout' period was exceeded for `app`@`10.1.2.3`",
    "2026-03-04T09:15:04.000000+02:00 0 [Warning] [MY-010055] [Server] page_cleaner: took 4000ms;",
    "2026-03-04  9:15:04 39 [Note] Aborted connection 39 to db: 'shop'",
    "2026-03-04 09:15:04 12345 [ERROR] InnoDB: it can't be opened",
    "260304  9:15:04 [Warning] Access denied for user 'app'@'10.1.2.3' (using password: YES)",
    "2026-03-04T09:15:04.000000Z mysqld_safe Starting mysqld daemon with databases from /var/lib/mysql",
    "==> /var/lib/mysql/error.log <==",
    "==> standard input <==",
]
UNDATED = [
    '{ "prio" : 0, "err_code" : 10931, "msg" : "ready for connections", "time" : "2026-03-04T09:15:04.000000Z" }',
    "Version: '8.0.31'  socket: '/run/mysqld/mysqld.sock'  port: 3306  MySQL Community Server - GPL.",
    "WSREP: Member 0.0 (node1) synced with group.",
    "09:15:03 UTC - mysqld got signal 11 ;",
    "InnoDB: Doing recovery: scanned up to log sequence number 1600000",
    "[2026-03-04 09:15:04] INFO the exporter listens",
    "2026/03/04 09:15:04 main.go:17: the exporter listens",
    "I0304 09:15:04.123456       1 main.go:10] the sidecar is ready",
    "Mar  4 09:15:04 db1 cron[12]: the job is done",
    '{"level":"info","ts":"2026-03-04T09:15:04Z","msg":"the sidecar is ready"}',
]
# SQL lines that look like other programs' messages, but belong to a statement.
LINES_OF_SQL = [
    "[1]", "Mar - 4", "I0304 - 9", "2026/03/04", "'{\"level\": 1}'", "{d '2026-03-04'}", "{ts '2026-03-04 09:15:04'}",
    "Mar /* 4 09:15:04 */", "{\"level\" 1}", "InnoDB", "May, 4", "2026/03/04 09", "-- [2026-03-04 09:15:04]",
]  # fmt: skip
UNTIMED = ["", "Got an error: no such host", "# the job that turns the log over", "Fatal: 3 > 2", "I/O is slow"]
STATEMENTS = [
    "SELECT 1",
    "INSERT INTO t VALUES ('it''s', \"x\")",
    "SELECT a,\n  b\nFROM t -- of a; and of b",
    "UPDATE t SET a = 'line;\nnext' WHERE id = 3",
    "INSERT INTO notes VALUES ('==> a.log <==\n2026-03-04T09:15:04.000000Z 39 [Note] written down;\nand its end')",
    "SELECT 1 /* 2026-03-04 09:15:04 1 [Note] x\n2026-03-04 09:15:04 1 [Note] y */",
    "INSERT INTO days VALUES\n(1, '2026-03-04'),\n(2026, '2026-03-05')",
    "CREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\n  SELECT 2;\nEND",
]


def mixed(kind: str, chance: random.Random, lines: list[str]) -> tuple[str, list[str], list[str]]:
    """Return a log with foreign lines, the log's statements, and the foreign lines that are not blank. The foreign
    lines are between the records.
    """
    log = Log(kind, chance)
    wrote, others = [], []
    for _ in range(chance.randrange(3, 40)):
        log.add(statement := chance.choice(STATEMENTS))
        wrote.append(statement)
        is_clear = kind != "slow" or not re.search("PROCEDURE|--", statement)  # ambiguous bodies have their own test
        if chance.random() < 0.3 and is_clear:
            chunk = [chance.choice(lines) for _ in range(chance.randrange(1, 4))]
            if kind != "slow":
                chunk.insert(0, chance.choice(TIMED + UNDATED))
            log.text += "".join(f"{line}\n" for line in chunk)
            log.written = -1  # the next event begins with a time line
            others += [line for line in chunk if line]
    return log.text, wrote, others


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_foreign_lines_between_records_are_counted(kind: str, seed: int, tmp_path: Path) -> None:
    """All events equal the sent statements. Each byte of the foreign lines is counted."""
    text, wrote, others = mixed(kind, random.Random(seed), TIMED if seed % 2 else TIMED + UNTIMED)
    found, read = read_log(kind, text, tmp_path)
    torn = [bool(event["flags"] & FLAGS["truncated"]) for event in read.events]
    assert found == wrote
    assert read.not_understood == sum(len(line) + 1 for line in others)
    assert ("not_understood" in read.kinds) == bool(others)
    if kind == "slow" or seed % 2:
        assert not any(torn)
    assert read.kinds.count("truncated_statement") == sum(torn)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_foreign_lines_inside_records_are_reported(kind: str, seed: int, tmp_path: Path) -> None:
    """A record that contains a foreign line is reported. No event contains the foreign line, and no other event
    changes.
    """
    chance = random.Random(seed)
    log, marks = Log(kind, chance), []
    for number in range(20):
        before = len(log.text)
        log.add(f"SELECT {number},\n  a\nFROM t")
        if chance.random() < 0.3:
            at = chance.choice([n + 1 for n in range(before, len(log.text) - 1) if log.text[n] == "\n"])
            log.text = f"{log.text[:at]}{chance.choice(TIMED)}\n{log.text[at:]}"
            marks.append(number)
            log.written = -1
    found, read = read_log(kind, log.text, tmp_path)
    whole = {e["statement"].decode() for e in read.events if not e["flags"] & FLAGS["truncated"] and e["statement"]}
    untouched = {f"SELECT {number},\n  a\nFROM t" for number in range(20) if number not in marks}
    assert whole - {f"SELECT {number},\n  a\nFROM t" for number in marks} == untouched
    assert not any(line in statement for statement in found for line in TIMED)
    assert ("not_understood" in read.kinds) == bool(marks)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", LINES_OF_SQL)
def test_sql_line_that_looks_foreign_is_kept(line: str, kind: str, tmp_path: Path) -> None:
    """SQL lines stay in their statement. A foreign line inside a literal stays in the literal."""
    log = Log(kind, random.Random(1))
    literals = ["INSERT INTO n VALUES ('\n{}\n')".format(other.replace("'", "''")) for other in UNDATED + TIMED]
    sent = [f"SELECT a,\n{line}\nFROM t", *literals, "SELECT 2"]
    for statement in sent:
        log.add(statement)
    found, read = read_log(kind, log.text, tmp_path)
    assert found == sent
    assert (read.not_understood, read.kinds) == (0, [])


PREFIXES = [
    "web-1  | ",
    "db ",
    "2026-03-04T09:15:04.5Z stdout F ",
    "\x1b[36mdb-0\x1b[0m | ",
    "[pod/mysql-0/log] ",
    "<14>x: ",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_log_with_wrapped_records_at_its_end(kind: str, seed: int, tmp_path: Path) -> None:
    """The records at the end of the log have a prefix. Events before them equal the sent statements. All lines with a
    prefix are counted, and none joins the last event.
    """
    chance = random.Random(seed)
    log, plain, prefix = Log(kind, chance), [], PREFIXES[seed % len(PREFIXES)]
    for _ in range(chance.randrange(1, 30)):
        log.add(statement := chance.choice(STATEMENTS[:-1]))
        plain.append(statement)
    before, log.text = log.text, ""
    for number in range(chance.randrange(1, 9)):
        log.written = -1 if kind == "general" else log.written
        log.add(f"SELECT {number}")
    wrapped = "".join(f"{prefix}{line}\n" for line in log.text.splitlines())
    found, read = read_log(kind, before + wrapped, tmp_path)
    assert found == plain
    assert read.not_understood == len(wrapped)
    assert {"wrapped_record", "not_understood"} & set(read.kinds)


@pytest.mark.parametrize("kind", KINDS)
def test_literal_may_contain_a_wrapped_log(kind: str, tmp_path: Path) -> None:
    log = Log(kind, random.Random(1))
    log.add("SELECT 0")
    told = "\n".join(f"db | {line}" for line in log.text.splitlines()).replace(
        "SELECT", "# Query_time: 1  Lock_time: 0"
    )
    for statement in (
        kept := [f"INSERT INTO notes VALUES ('\n{told}\n')", "SELECT 1 -- db | # Query_time: 1  Lock_time: 0"]
    ):
        log.add(statement)
    found, read = read_log(kind, log.text, tmp_path)
    assert found == ["SELECT 0", *kept]
    assert read.not_understood == 0
    assert not set(read.kinds)


@pytest.mark.parametrize("kind", KINDS)
def test_log_in_one_long_line_is_read_in_linear_time(kind: str, tmp_path: Path) -> None:
    """One statement contains a log with all its entries on one line. The reader checks each mark of an entry once and
    does not scan the line again.
    """
    log = Log(kind, random.Random(1))
    marks = "# Query_time: 1.0  Lock_time: 0.0\\n2026-03-04T09:15:02Z\t    8 Query\tSELECT 1\\n"
    log.add(long := f"INSERT INTO logs VALUES ('{marks * 100_000}')")
    log.add("SELECT 1")
    found, read = read_log(kind, log.text, tmp_path)
    assert (found, read.kinds) == ([long, "SELECT 1"], [])


HEADER = (
    "# User@Host: app[app] @ localhost []\n# Thread_id: 7  Schema: shop  QC_hit: No\n# Query_time: 0.1  Lock_time: 0\n"
)
BANNER = "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:\n"


@pytest.mark.parametrize("mark", ["Time", "User@Host", "User", "Thread_id", "Schema", "Client"])
def test_wrapped_header_is_not_part_of_the_previous_statement(mark: str, tmp_path: Path) -> None:
    """The previous statement ends before the first line of the wrapped header."""
    plain = f"{HEADER}SET timestamp=1718000000;\nSELECT 1;\n"
    wrapped = [f"# {mark}: app", "# Query_time: 0.1  Lock_time: 0", "SET timestamp=1718000001;", "SELECT 2;"]
    (tmp_path / "log").write_text(plain + "".join(f"web-1  | {line}\n" for line in wrapped))
    read = read_all(open_slowlog([tmp_path / "log"]))
    assert [event["statement"].decode() for event in read.events] == ["SELECT 1"]
    assert read.not_understood == (tmp_path / "log").stat().st_size - len(plain)


@pytest.mark.parametrize("ending", [HEADER + "SET timestamp=1718000000;\nSELECT 9;\n", BANNER, ""])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("SELECT 1;\nnot ours\n", [("SELECT 1", False)]),
        ("SELECT 1;\n\n\n", [("SELECT 1", False)]),
        ("SELECT 'a;\nb';\nnot ours\n", [("SELECT 'a;\nb'", False)]),
        ("SELECT 1 /* a;\nb */;\nnot ours\n", [("SELECT 1 /* a;\nb */", False)]),
        ("SELECT 1\n", [("SELECT 1", True)]),
        ("SELECT 1 -- a;\nnot ours\n", [("SELECT 1 -- a;\nnot ours", True)]),
        (
            "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN\n  SET @a = 1;\nnot ours\n",
            [("CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN\n  SET @a = 1;\nnot ours", True)],
        ),
        (
            "BEGIN NOT ATOMIC\n  SELECT 1;\n  SELECT 2;\nEND\n",
            [("BEGIN NOT ATOMIC\n  SELECT 1;\n  SELECT 2;\nEND", True)],
        ),
    ],
)
def test_semicolon_ends_a_statement_body(body: str, told: list[tuple[str, bool]], ending: str, tmp_path: Path) -> None:
    """Semicolons in literals and comments do not end the body. If a body may contain several statements, its end is
    uncertain.
    """
    (tmp_path / "log").write_text(f"{HEADER}SET timestamp=1718000000;\n{body}{ending}")
    read = read_all(open_slowlog([tmp_path / "log"]))
    found = [(e["statement"].decode().rstrip(), bool(e["flags"] & FLAGS["truncated"])) for e in read.events]
    assert found == told + [("SELECT 9", False)] * ending.startswith("#")
    assert ("not_understood" in read.kinds) == ("not ours" in body and not told[0][1])


def test_literal_with_many_headers_is_read_in_linear_time(tmp_path: Path) -> None:
    """A statement that stores a log in a table contains many headers. Each of its lines is checked once."""
    stored = (HEADER.replace("'", "") + "SET timestamp=1718000000;\nSELECT 9\n") * 2_000
    (tmp_path / "log").write_text(f"{HEADER}SET timestamp=1718000000;\nINSERT INTO t VALUES ('\n{stored}');\n" + HEADER)
    read = read_all(open_slowlog([tmp_path / "log"]))
    assert [len(event["statement"]) for event in read.events if event["statement"]] == [
        len("INSERT INTO t VALUES ('\n" + stored + "')")
    ]
