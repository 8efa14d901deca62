# SPDX-License-Identifier: Apache-2.0
"""Whole replays against a private MariaDB."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.errors import InputError, QuerytapeError, RefusedError, TargetError
from querytape.replay import ReplayOptions, RunSummary, Target, Watcher, parse_target, replay
from querytape.replay.plan import feed_stream
from querytape.replay.sandbox import Server
from querytape.schemas import columns, open_folder

from tests.tapes import MS, SECOND, T0, flag_bits, make_tape

pytestmark = pytest.mark.mariadb

# Bytes that break careless tools: quotes, a line's end, latin1, NUL, a comment's end, UTF-8.
NASTY = b'it\'s "q" \\ \n\r\t \xe9\xff \x00 */ -- \xf0\x9f\x8e\x9e'


@pytest.fixture
def shop(mariadb: Server) -> Iterator[Server]:
    """The shared MariaDB with an empty schema `shop`."""
    mariadb.execute("CREATE OR REPLACE DATABASE shop")
    mariadb.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    mariadb.execute("CREATE TABLE shop.bytes (b LONGBLOB)")
    yield mariadb
    mariadb.execute("DROP DATABASE shop")


@pytest.fixture
def any_shop(server: Server) -> Iterator[Server]:
    """Each kind of shared server in turn, with an empty schema `shop`."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    yield server
    server.execute("DROP DATABASE shop")


def options(server: Server, output: Path, **more: Any) -> ReplayOptions:
    """Return options for a private server that may be written to."""
    target = parse_target(server.url("shop"), environ={})
    return ReplayOptions(
        target, output, **{"allow_writes": True, "target_is_disposable": True, "lead_ns": 100 * MS, **more}
    )


def noted(session: int, seq: int) -> str:
    """Return a statement that notes its own place in the table `log`."""
    return f"INSERT INTO log (conn, session, seq) VALUES (CONNECTION_ID(), {session}, {seq})"


def outcomes(run: Path, wanted: str = "session, seq, status, reason") -> list[tuple[Any, ...]]:
    """Return columns of every outcome, by session and seq."""
    source = open_folder("run", run).source("outcomes")
    return query(f"SELECT {wanted} FROM {source} ORDER BY session, seq")


def query(sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a DuckDB query."""
    with duckdb.connect() as con:
        return con.execute(sql).fetchall()


def books(summary: RunSummary) -> tuple[int, int, int, int]:
    """Return executed, filtered, skipped, not sent; the accounting must balance."""
    accounting = summary.info["accounting"]
    assert accounting["balanced"]
    assert accounting["tape_events"] == len(outcomes(summary.path))
    return accounting["executed"], accounting["filtered"], accounting["skipped"], accounting["not_sent"]


@pytest.mark.mysql
def test_every_event_once_in_order_on_its_own_connection(any_shop: Server, tmp_path: Path) -> None:
    """Seven sessions of 23 events each: 161 statements arrive, each session's in order and on one connection."""
    events = [
        {"session": s, "statement": noted(s, n), "class": "write", "db": "shop", "start_ns": T0 + n * 3 * MS}
        for n in range(1, 24)
        for s in range(1, 8)
    ]
    tape = make_tape(tmp_path / "t.tape", events, parts=3)
    summary = replay(tape, options(any_shop, tmp_path / "t.run"))
    assert books(summary) == (161, 0, 0, 0)
    assert summary.complete
    rows = any_shop.execute("SELECT session, conn, GROUP_CONCAT(seq ORDER BY id) FROM shop.log GROUP BY session, conn")
    assert len(rows) == 7
    assert len({row[1] for row in rows}) == 7
    assert {row[2] for row in rows} == {",".join(str(n) for n in range(1, 24))}
    assert summary.info["sessions"] == {
        "opened": 7, "opened_ahead": 7, "failed": 0, "lost": 0, "in_transaction_at_end": 0,
    }  # fmt: skip


def test_a_run_has_what_the_contract_says(shop: Server, tmp_path: Path) -> None:
    """Columns, times and JSON keys of a run are those of the contract, and only its owner can read them."""
    tape = make_tape(
        tmp_path / "t.tape", [{"statement": f"SELECT {n}", "start_ns": T0 + n * 50 * MS} for n in range(23)]
    )
    summary = replay(tape, options(shop, tmp_path / "t.run", speed=Fraction(1, 2), canaries=1))
    run = open_folder("run", tmp_path / "t.run")
    for table in ("outcomes", "sessions", "ticks"):
        found = query(f"DESCRIBE FROM {run.source(table)}")
        assert tuple((name, type_) for name, type_, *_ in found) == columns("run", table)
    wanted = "due_ns, sent_ns, first_ns, done_ns, free_ns, fed_ns, rows_sent, errno"
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
    """Quotes, line ends, latin1 bytes and NUL reach the server as they are on the tape."""
    literal = NASTY.replace(b"\\", b"\\\\").replace(b"'", b"''")
    statement = b"INSERT INTO bytes VALUES (_binary '" + literal + b"') -- end\n"
    tape = make_tape(tmp_path / "t.tape", [{"statement": statement, "class": "write", "db": "shop"}])
    assert books(replay(tape, options(shop, tmp_path / "t.run"))) == (1, 0, 0, 0)
    assert shop.execute("SELECT HEX(b) FROM shop.bytes") == ((NASTY.hex().upper(),),)


@pytest.mark.mysql
def test_reads_only(any_shop: Server, tmp_path: Path) -> None:
    """Without --allow-writes writes are filtered, and the server refuses one that is disguised as a read."""
    any_shop.execute("SET GLOBAL log_bin_trust_function_creators = ON")
    any_shop.execute("CREATE FUNCTION shop.sneaky() RETURNS INT BEGIN INSERT INTO log (seq) VALUES (1); RETURN 1; END")
    events: list[dict[str, Any]] = [
        {"statement": "SELECT 1"},
        {"statement": noted(1, 2), "class": "write", "db": "shop"},
        {"statement": "SELECT sneaky()", "db": "shop"},
        {"command": "reset_connection"},
        {"statement": "SELECT shop.sneaky()"},
        {"statement": "DROP TABLE log", "class": "ddl", "db": "shop"},
        {"statement": "KILL 1", "class": "admin", "flags": flag_bits(danger="kill")},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(any_shop, tmp_path / "t.run", allow_writes=False, target_is_disposable=False))
    assert books(summary) == (4, 2, 1, 0)
    assert summary.errors == {1792: 2}
    assert any_shop.execute("SELECT COUNT(*) FROM shop.log") == ((0,),)
    assert summary.info["parameters"]["init"] == "SET SESSION TRANSACTION READ ONLY"


def test_errors_are_kept(shop: Server, tmp_path: Path) -> None:
    """A statement that fails keeps errno and text, and its session goes on."""
    events = [{"statement": "SELECT * FROM nowhere", "db": "shop"}, {"statement": "SELECT 1 UNION SELECT 2"}]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(shop, tmp_path / "t.run"))
    assert books(summary) == (2, 0, 0, 0)
    assert summary.complete
    assert summary.errors == {1146: 1}
    found = outcomes(summary.path, "errno, error, rows_sent")
    assert found[0][0] == 1146
    assert "nowhere" in found[0][1]
    assert found[1] == (0, None, 2)


def test_quit_comes_first(shop: Server, tmp_path: Path) -> None:
    """A session whose first event is its quit is opened and closed; the others do not notice."""
    events: list[dict[str, Any]] = [
        {"session": 1, "command": "quit"},
        {"session": 2, "statement": "SELECT 1"},
        {"session": 2, "command": "quit"},
    ]
    summary = replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "t.run"))
    assert books(summary) == (3, 0, 0, 0)
    assert summary.complete


@pytest.mark.parametrize("speed", [Fraction(2), Fraction(1, 2), None], ids=["2", "0.5", "max"])
def test_speed(shop: Server, tmp_path: Path, speed: Fraction | None) -> None:
    """The last event of a second is due after half a second, after two, or as soon as it can be."""
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * 100 * MS} for n in range(11)]
    summary = replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "t.run", speed=speed))
    assert books(summary) == (11, 0, 0, 0)
    due = [row[0] for row in outcomes(summary.path, "due_ns")]
    assert due == [None if speed is None else int(n * 100 * MS / speed) for n in range(11)]
    elapsed = summary.info["elapsed_ns"]
    assert elapsed >= due[-1] if speed else elapsed < 500 * MS


def test_many_windows(shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tape of many overlapping parts, walked in small windows, is replayed whole."""
    monkeypatch.setattr("querytape.replay.windows.windows.__defaults__", (100, 1 << 30))
    select = (
        f"SELECT i % 11 + 1 AS session, i // 11 + 1 AS seq, 'query' AS command, {T0} + i * 100000 AS start_ns,"
        " 1000 AS precision_ns, encode('SELECT ' || i) AS statement, 'read' AS class, 'd' AS digest,"
        ' 0 AS file, i AS "offset", 0 AS flags FROM range(2003) r(i) ORDER BY i // 300 % 2, hash(i)'
    )
    tape = make_tape(tmp_path / "t.tape", select, parts=9)
    summary = replay(tape, options(shop, tmp_path / "t.run", queue_bytes=4096, slice_ns=50 * MS))
    assert books(summary) == (2003, 0, 0, 0)
    assert summary.complete


class Stopper(Watcher):
    """Sends a signal to this process at the first tick."""

    def __init__(self, times: int) -> None:
        self.times = times

    def tick(self, *args: Any) -> None:
        """Press Ctrl-C."""
        if self.times:
            self.times -= 1
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c(shop: Server, tmp_path: Path, times: int) -> None:
    """Ctrl-C once stops sending, twice cuts: both leave a partial run that balances."""
    events = [{"session": 1 + n % 5, "statement": f"SELECT {n}", "start_ns": T0 + n * 100 * MS} for n in range(300)]
    events.append({"session": 9, "statement": "SELECT SLEEP(20)"})
    tape = make_tape(tmp_path / "t.tape", events)
    began = time.monotonic()
    summary = replay(tape, options(shop, tmp_path / "t.run", drain_ns=2 * SECOND), Stopper(times))
    assert time.monotonic() - began < 10
    executed, _, _, not_sent = books(summary)
    assert executed + not_sent == 301
    assert not_sent > 200
    assert not summary.complete
    assert "stopped by the user" in summary.info["partial"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    reasons = summary.info["accounting"]["reasons"]["not_sent"]
    assert set(reasons) == {"stopped"}


def test_target_dies(mariadb_factory: Callable[..., Server], tmp_path: Path) -> None:
    """A target that dies in the middle leaves a partial run that balances and says so."""
    server = mariadb_factory()
    server.execute("CREATE DATABASE shop")
    events = [{"session": 1 + n % 5, "statement": f"SELECT {n}", "start_ns": T0 + n * 20 * MS} for n in range(150)]

    class Killer(Watcher):
        def tick(self, *args: Any) -> None:
            if server.running:
                server.kill()

    summary = replay(make_tape(tmp_path / "t.tape", events), options(server, tmp_path / "t.run"), Killer())
    executed, _, _, not_sent = books(summary)
    assert 20 < executed < 120
    assert executed + not_sent == 150
    assert summary.info["partial"].startswith("the target was lost: 5 sessions ended")
    assert summary.info["sessions"]["lost"] == 5


def test_target_refuses_connections(shop: Server, tmp_path: Path) -> None:
    """A target that is not there, or does not let us in, is said before anything is made."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    for target in (Target("root", "127.0.0.1", "127.0.0.1", 1), replace(options(shop, tmp_path).target, user="nobody")):
        with pytest.raises(TargetError, match="can't connect to"):
            replay(tape, ReplayOptions(target, tmp_path / "t.run"))
        assert not (tmp_path / "t.run").exists()


def test_refusals_leave_nothing(shop: Server, tmp_path: Path) -> None:
    """What the pre-flight refuses sends nothing and leaves no folder; an existing folder is never touched."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with pytest.raises(RefusedError, match="--target-is-disposable"):
        replay(tape, options(shop, tmp_path / "t.run", target_is_disposable=False))
    assert not (tmp_path / "t.run").exists()
    with pytest.raises(InputError, match="already exists"):
        replay(tape, options(shop, tmp_path))
    with pytest.raises(InputError, match="no such tape"):
        replay(tmp_path / "none.tape", options(shop, tmp_path / "t.run"))


def test_broken_tape(shop: Server, tmp_path: Path) -> None:
    """A tape with a damaged part is an error that names it, and leaves no run."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(10)], parts=2)
    part = tape / "events" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(InputError, match="the tape can't be read"):
        replay(tape, options(shop, tmp_path / "t.run"))
    assert not (tmp_path / "t.run").exists()


def test_tape_vanishes(shop: Server, tmp_path: Path) -> None:
    """A tape that is taken away while it is replayed ends the replay with a sentence; the run stays unfinished."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(10)], parts=2)
    part = tape / "events" / "part-00001.parquet"

    class Thief(Watcher):
        def planned(self, plan: Any) -> None:
            part.rename(part.with_suffix(".gone"))

    with pytest.raises(QuerytapeError, match="can't be read any more"):
        replay(tape, options(shop, tmp_path / "t.run"), Thief())
    assert not open_folder("run", tmp_path / "t.run").finished


def test_plan_breaks_off(shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that can't be read in the middle ends the run as partial, with books that balance."""
    monkeypatch.setattr("querytape.replay.windows.windows.__defaults__", (4, 1 << 30))
    real, calls = feed_stream, iter(range(100))

    def breaking(*args: Any) -> Any:
        if next(calls) == 2:
            raise duckdb.IOException("IO Error: bad page")
        return real(*args)

    monkeypatch.setattr("querytape.replay.runner.feed_stream", breaking)
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(20)], parts=5)
    summary = replay(tape, options(shop, tmp_path / "t.run"))
    executed, _, _, not_sent = books(summary)
    assert executed + not_sent == 20
    assert not_sent >= 12
    assert summary.info["partial"].startswith("the tape could not be read to its end (IO Error: bad page)")


def test_drain(shop: Server, tmp_path: Path) -> None:
    """A statement that does not end is cut off at the end of the drain, counted, and told."""
    events = [{"session": 1, "statement": "SELECT SLEEP(30)"}, {"session": 1, "statement": "SELECT 1"}]
    events.append({"session": 2, "statement": "BEGIN", "class": "transaction"})
    tape = make_tape(tmp_path / "t.tape", events)
    began = time.monotonic()
    summary = replay(tape, options(shop, tmp_path / "t.run", drain_ns=SECOND))
    assert time.monotonic() - began < 8
    assert books(summary) == (2, 0, 0, 1)
    assert summary.info["drain"]["cut"] == 1
    assert summary.info["partial"].startswith(
        "1 event cut off without an answer at the end of --drain, 1 event not sent"
    )
    assert summary.info["accounting"]["reasons"] == {"not_sent": {"drain_cut": 1}}
    assert summary.info["sessions"]["in_transaction_at_end"] == 1


def test_disk_is_full(shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where outcomes can't be written the replay ends at once with a sentence; the run stays unfinished."""
    tape = make_tape(
        tmp_path / "t.tape", [{"statement": f"SELECT {n}", "start_ns": T0 + n * SECOND} for n in range(60)]
    )

    def full(*args: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("querytape.replay.runner.write_parquet", full)
    began = time.monotonic()
    with pytest.raises(QuerytapeError, match=r"the outcomes can't be written: .*No space left"):
        replay(tape, options(shop, tmp_path / "t.run"))
    assert time.monotonic() - began < 10
    assert not open_folder("run", tmp_path / "t.run").finished


def test_no_session_opens(shop: Server, tmp_path: Path) -> None:
    """A target that lets nobody in after the pre-flight leaves a partial run with the server's own words."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}", "session": n % 3 + 1} for n in range(12)])
    shop.execute("CREATE USER shut@'%'")
    shop.execute("GRANT ALL ON *.* TO shut@'%'")

    class Closer(Watcher):
        def planned(self, plan: Any) -> None:
            shop.execute("ALTER USER shut@'%' ACCOUNT LOCK")

    given = options(shop, tmp_path / "t.run")
    try:
        summary = replay(tape, replace(given, target=replace(given.target, user="shut")), Closer())
    finally:
        shop.execute("DROP USER shut@'%'")
    assert books(summary) == (0, 0, 0, 12)
    assert "4151" in summary.info["partial"]
    assert summary.info["sessions"]["failed"] == 3


def test_stop_before_the_start(shop: Server, tmp_path: Path) -> None:
    """Ctrl-C while sessions are being opened ends at once; nothing was sent, and it balances."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "session": n} for n in range(1, 60)])

    class Early(Watcher):
        def opening(self, *args: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    summary = replay(tape, options(shop, tmp_path / "t.run", connect_rate=4), Early())
    assert time.monotonic() - began < 8
    assert books(summary) == (0, 0, 0, 59)
    assert "stopped by the user" in summary.info["partial"]


KILLED = """
import sys
from pathlib import Path
from querytape.replay import ReplayOptions, Watcher, parse_target, replay
replay(Path(sys.argv[1]), ReplayOptions(parse_target(sys.argv[2]), Path(sys.argv[3]), slice_ns=500_000_000))
"""


def test_kill_9_leaves_a_run(shop: Server, tmp_path: Path) -> None:
    """A replayer killed outright leaves a run that opens, unfinished, with what was written so far."""
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * 20 * MS} for n in range(3000)]
    events.append({"statement": "INSERT", "class": "write"})
    tape = make_tape(tmp_path / "t.tape", events)
    run = tmp_path / "t.run"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tape), shop.url("shop"), str(run)])
    deadline = time.monotonic() + 30
    while len(list(run.glob("outcomes/part-run-*.parquet"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    child.kill()
    child.wait()
    opened = open_folder("run", run)
    assert not opened.finished
    assert len([row for row in outcomes(run) if row[2] == "executed"]) > 20
    assert [row[3] for row in outcomes(run) if row[2] == "filtered"] == ["write"]
    assert query(f"SELECT count(*) FROM {opened.source('ticks')}")[0][0] >= 1
    assert json.loads((run / "run.json").read_text())["tape"]["events"] == 3001
