# SPDX-License-Identifier: Apache-2.0
"""Tests of whole replays against a private MariaDB."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from querytape.cli.run_lines import summary_lines
from querytape.replay import replay
from querytape.replay.plan.pacing import Pace
from querytape.schemas import columns, open_folder
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, flag_bits, make_tape
from tests.helpers.whole import accounting, logging_insert, options, outcomes, query

pytestmark = pytest.mark.server

# Bytes that break careless tools: quotes, line breaks, latin1, NUL, the end of a comment, UTF-8.
NASTY = b'it\'s "q" \\ \n\r\t \xe9\xff \x00 */ -- \xf0\x9f\x8e\x9e'


@pytest.mark.sampled
@pytest.mark.server
def test_each_session_keeps_its_order_on_one_connection(any_shop: Server, tmp_path: Path) -> None:
    """Seven sessions with 23 events each send 161 statements."""
    events = [
        {"session": s, "statement": logging_insert(s, n), "class": "write", "db": "shop", "start_ns": T0 + n * 3 * MS}
        for n in range(1, 24)
        for s in range(1, 8)
    ]
    tape = make_tape(tmp_path / "t.tape", events, parts=3)
    summary = replay(tape, options(any_shop, tmp_path / "t.run"))
    assert accounting(summary) == (161, 0, 0, 0)
    assert summary.complete
    rows = any_shop.execute("SELECT session, conn, GROUP_CONCAT(seq ORDER BY id) FROM shop.log GROUP BY session, conn")
    assert len(rows) == 7
    assert len({row[1] for row in rows}) == 7
    assert {row[2] for row in rows} == {",".join(str(n) for n in range(1, 24))}
    assert summary.info["sessions"] == {
        "opened": 7, "opened_ahead": 7, "failed": 0, "lost": 0, "in_transaction_at_end": 0,
    }  # fmt: skip


def test_run_has_the_documented_format(shop: Server, tmp_path: Path) -> None:
    """The test checks columns, times and JSON keys. Only the owner can read the run."""
    tape = make_tape(
        tmp_path / "t.tape", [{"statement": f"SELECT {n}", "start_ns": T0 + n * 50 * MS} for n in range(23)]
    )
    summary = replay(tape, options(shop, tmp_path / "t.run", speed=Fraction(1, 2), timer_probes=1))
    run = open_folder("run", tmp_path / "t.run")
    for table in ("outcomes", "sessions", "ticks"):
        found = query(f"DESCRIBE FROM {run.source(table)}")
        assert tuple((name, type_) for name, type_, *_ in found) == columns("run", table)
    wanted = "due_ns, sent_ns, first_ns, done_ns, free_ns, queued_ns, rows_sent, errno"
    for n, (due, sent, first, done, free, fed, rows, errno) in enumerate(outcomes(run.path, wanted)):
        assert due == n * 100 * MS
        assert max(due, free, fed) <= sent <= first <= done
        assert (rows, errno) == (1, 0)
    documented = Path(__file__).parents[2] / "docs" / "format.md"
    section = documented.read_text(encoding="utf-8").split("## run.json")[1]
    for row in section.splitlines():
        if row.startswith("| `"):
            for key in row.split("|")[1].split(","):
                assert key.strip(" `") in summary.info
    assert run.finished
    assert run.info["parameters"]["speed"] == "0.5"
    assert run.info["elapsed_ns"] >= 2200 * MS
    assert len(run.info["clock_pairs"]) >= 2
    assert (run.path.stat().st_mode & 0o777, (run.path / "run.json").stat().st_mode & 0o777) == (0o700, 0o600)
    assert not (run.path / "spill").exists()


def test_statements_arrive_byte_for_byte(shop: Server, tmp_path: Path) -> None:
    literal = NASTY.replace(b"\\", b"\\\\").replace(b"'", b"''")
    statement = b"INSERT INTO bytes VALUES (_binary '" + literal + b"') -- end\n"
    tape = make_tape(tmp_path / "t.tape", [{"statement": statement, "class": "write", "db": "shop"}])
    assert accounting(replay(tape, options(shop, tmp_path / "t.run"))) == (1, 0, 0, 0)
    assert shop.execute("SELECT HEX(b) FROM shop.bytes") == ((NASTY.hex().upper(),),)


@pytest.mark.server
def test_reads_only_replay_writes_nothing(any_shop: Server, tmp_path: Path) -> None:
    """Writes are filtered without `--allow-writes`. The server refuses a write inside a function."""
    any_shop.execute("SET GLOBAL log_bin_trust_function_creators = ON")
    any_shop.execute("CREATE FUNCTION shop.sneaky() RETURNS INT BEGIN INSERT INTO log (seq) VALUES (1); RETURN 1; END")
    events: list[dict[str, Any]] = [
        {"statement": "SELECT 1"},
        {"statement": logging_insert(1, 2), "class": "write", "db": "shop"},
        {"statement": "SELECT sneaky()", "db": "shop"},
        {"command": "reset_connection"},
        {"statement": "SELECT shop.sneaky()"},
        {"statement": "DROP TABLE log", "class": "ddl", "db": "shop"},
        {"statement": "KILL 1", "class": "admin", "flags": flag_bits(danger="kill")},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(any_shop, tmp_path / "t.run", allow_writes=False, target_is_disposable=False))
    assert accounting(summary) == (4, 2, 1, 0)
    assert summary.errors == {1792: 2}
    assert any_shop.execute("SELECT COUNT(*) FROM shop.log") == ((0,),)
    assert summary.info["parameters"]["init"] == "SET SESSION TRANSACTION READ ONLY"


FORGED = [
    "SET GLOBAL max_connections = 77",
    "SELECT 1 INTO OUTFILE '/tmp/forged'",
    "SET SESSION TRANSACTION READ WRITE",
    "DELETE FROM shop.log",
    "RENAME TABLE shop.log TO shop.gone",
    "CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
    "/*!50000 DROP TABLE shop.log */",
    "PREPARE s FROM 'DELETE FROM shop.log'",
    "EXECUTE s",
    "SELECT '\\' INTO OUTFILE '/tmp/forged' -- '",
    "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'",
]


@pytest.mark.server
def test_forged_tape_does_no_harm(any_shop: Server, tmp_path: Path) -> None:
    """The tape classifies dangerous statements as reads. The engine checks each statement again, does not send it, and
    counts it in the summary.
    """
    any_shop.execute("INSERT INTO shop.log (session, seq) VALUES (1, 1)")
    before = any_shop.execute("SELECT @@GLOBAL.max_connections")
    flags = flag_bits()
    events: list[dict[str, Any]] = [{"statement": text, "class": "read", "flags": flags} for text in FORGED]
    events += [
        {"command": "prepare", "stmt": 1, "statement": "DELETE FROM shop.log", "class": "read", "flags": flags},
        {"command": "execute", "stmt": 1, "params": b"P\0\0\0\0\0\1\0\0\0", "class": "read", "flags": flags},
        {"statement": "SELECT COUNT(*) FROM shop.log"},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    run = options(any_shop, tmp_path / "t.run", allow_writes=False, target_is_disposable=False)
    summary = replay(tape, run)
    assert accounting(summary) == (2, 0, 0, len(FORGED) + 1)
    assert summary.errors == {}
    reasons = summary.info["accounting"]["reasons"]["not_sent"]
    assert reasons == {"not_permitted": len(FORGED), "not_prepared": 1}
    assert f"{len(FORGED)} statements were not sent" in summary_lines(summary)[1]
    assert any_shop.execute("SELECT COUNT(*) FROM shop.log") == ((1,),)
    assert any_shop.execute("SELECT @@GLOBAL.max_connections") == before


def test_failed_statement_keeps_its_error(shop: Server, tmp_path: Path) -> None:
    """The session continues after the error."""
    events = [{"statement": "SELECT * FROM nowhere", "db": "shop"}, {"statement": "SELECT 1 UNION SELECT 2"}]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(shop, tmp_path / "t.run"))
    assert accounting(summary) == (2, 0, 0, 0)
    assert summary.complete
    assert summary.errors == {1146: 1}
    found = outcomes(summary.path, "errno, error, rows_sent")
    assert found[0][0] == 1146
    assert "nowhere" in found[0][1]
    assert found[1] == (0, None, 2)


def test_quit_event_may_be_the_first_event_of_a_session(shop: Server, tmp_path: Path) -> None:
    """The session is opened and closed. Other sessions are not affected."""
    events: list[dict[str, Any]] = [
        {"session": 1, "command": "quit"},
        {"session": 2, "statement": "SELECT 1"},
        {"session": 2, "command": "quit"},
    ]
    summary = replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "t.run"))
    assert accounting(summary) == (3, 0, 0, 0)
    assert summary.complete


@pytest.mark.sampled
@pytest.mark.parametrize("speed", [Fraction(2), Fraction(1, 2), None], ids=["2", "0.5", "max"])
def test_speed_scales_the_due_times(shop: Server, tmp_path: Path, speed: Fraction | None) -> None:
    """A one-second tape is replayed at double speed, at half speed, and as fast as possible. At double speed its last
    event is due after 0.5 s, and at half speed after 2 s.
    """
    step_ns = 100 * MS if speed else 10_000 * MS
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * step_ns} for n in range(11)]
    summary = replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "t.run", speed=speed))
    assert accounting(summary) == (11, 0, 0, 0)
    due = [row[0] for row in outcomes(summary.path, "due_ns")]
    assert due == [None if speed is None else int(n * 100 * MS / speed) for n in range(11)]
    elapsed = summary.info["elapsed_ns"]
    assert elapsed >= due[-1] if speed else elapsed < (len(events) - 1) * step_ns


def test_tape_of_many_windows_is_replayed_completely(
    shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts of the tape overlap, and each window has about 100 rows."""
    monkeypatch.setattr("querytape.replay.plan.database.WINDOW_ROWS", 100)
    select = (
        f"SELECT i % 11 + 1 AS session, i // 11 + 1 AS seq, 'query' AS command, {T0} + i * 100000 AS start_ns,"
        " 1000 AS precision_ns, encode('SELECT ' || i) AS statement, 'read' AS class, 'd' AS digest,"
        ' 0 AS file, i AS "offset", 0 AS flags FROM range(2003) r(i) ORDER BY i // 300 % 2, hash(i)'
    )
    tape = make_tape(tmp_path / "t.tape", select, parts=9)
    summary = replay(tape, options(shop, tmp_path / "t.run", queue_bytes=4096, slice_ns=50 * MS))
    assert accounting(summary) == (2003, 0, 0, 0)
    assert summary.complete


@pytest.mark.long
def test_row_beyond_the_limit_ends_its_session(server_factory: Any, tmp_path: Path) -> None:
    """A statement of 80 MiB is sent. A row larger than the memory of a session ends the session, which counts as lost."""
    server = server_factory("mariadb", {"max_allowed_packet": "256M"})
    server.execute("CREATE DATABASE shop")
    large = b"SELECT LENGTH('" + b"x" * (80 << 20) + b"')"
    events: list[dict[str, Any]] = [{"session": 1, "statement": large}]
    events += [{"session": s, "statement": "SELECT REPEAT('x', 100 << 20)"} for s in range(2, 18)]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(server, tmp_path / "t.run", allow_writes=False, pace=Pace("none")))
    assert accounting(summary) == (17, 0, 0, 0)
    assert outcomes(summary.path, "session, errno, rows_sent")[0] == (1, 0, 1)
    assert summary.info["sessions"]["lost"] == 16
