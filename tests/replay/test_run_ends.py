# SPDX-License-Identifier: Apache-2.0
"""Tests of replays that end early: Ctrl-C, lost targets, damaged tapes, full disks, kill -9."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.common.errors import QuerytapeError
from querytape.replay import Finding, Watcher, replay
from querytape.replay.observe.ticks import Tick
from querytape.replay.plan.database import feed_stream
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, SECOND, T0, make_tape
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options, outcomes, query

pytestmark = pytest.mark.server
SOON_S = 60  # much less than the normal wait, but much more than a busy machine needs


class Stopper(Watcher):
    """A watcher that sends SIGINT to this process at its first ticks."""

    def __init__(self, times: int) -> None:
        self.times = times

    def tick(self, *args: Any) -> None:
        if self.times:
            self.times -= 1
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("times", mostly_long([1, 2], 1))
def test_ctrl_c_leaves_a_partial_run(shop: Server, tmp_path: Path, times: int) -> None:
    """The first Ctrl-C stops sending. The second Ctrl-C closes the connections. The accounting balances in both cases."""
    events = [{"session": 1 + n % 5, "statement": f"SELECT {n}", "start_ns": T0 + n * 100 * MS} for n in range(300)]
    events.append({"session": 9, "statement": "SELECT SLEEP(120)"})
    tape = make_tape(tmp_path / "t.tape", events)
    began = time.monotonic()
    summary = replay(tape, options(shop, tmp_path / "t.run", drain_ns=2 * SECOND), Stopper(times))
    assert time.monotonic() - began < SOON_S
    executed, _, _, not_sent = accounting(summary)
    assert executed + not_sent == 301
    assert not_sent > 200
    assert not summary.complete
    assert "stopped by the user" in summary.info["partial"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    reasons = summary.info["accounting"]["reasons"]["not_sent"]
    assert set(reasons) == {"stopped"}


@pytest.mark.parametrize("limit_ns", [300 * MS, 1500 * MS])
def test_time_limit_is_not_rounded_to_seconds(shop: Server, tmp_path: Path, limit_ns: int) -> None:
    events = [{"session": 1 + n % 5, "statement": f"SELECT {n}", "start_ns": T0 + n * 20 * MS} for n in range(300)]
    summary = replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "t.run", stop_after_ns=limit_ns))
    executed, _, _, not_sent = accounting(summary)
    assert executed + not_sent == 300
    assert set(summary.info["accounting"]["reasons"]["not_sent"]) == {"stopped"}
    last = query(f"SELECT max(due_ns) FROM '{summary.path}/outcomes/*.parquet' WHERE sent_ns IS NOT NULL")[0][0]
    assert limit_ns - 300 * MS < last < limit_ns + 300 * MS


def test_killed_target_leaves_a_partial_run(mariadb_factory: Callable[..., Server], tmp_path: Path) -> None:
    """The accounting balances, and the summary names the lost target."""
    server = mariadb_factory()
    server.execute("CREATE DATABASE shop")
    last = [{"session": 1 + n, "statement": "SELECT SLEEP(300)", "start_ns": T0 + SECOND} for n in range(5)]
    events = [{"session": 1 + n % 5, "statement": f"SELECT {n}", "start_ns": T0 + n * 5 * MS} for n in range(100)]
    events += [*last, *({**event, "start_ns": T0 + 2 * SECOND} for event in last)]  # so that only the loss ends the run

    class Killer(Watcher):
        def tick(self, tick: Tick, done: int, *args: Any) -> None:
            if server.running and done >= 20:
                server.kill()

    summary = replay(make_tape(tmp_path / "t.tape", events), options(server, tmp_path / "t.run"), Killer())
    executed, _, _, not_sent = accounting(summary)
    assert executed >= 20
    assert not_sent >= 5
    assert executed + not_sent == 110
    assert summary.info["partial"].startswith("the target was lost: 5 sessions ended")
    assert summary.info["sessions"]["lost"] == 5


def test_removed_tape_ends_the_replay_with_an_error(shop: Server, tmp_path: Path) -> None:
    """The run stays unfinished."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(10)], parts=2)
    part = tape / "events" / "part-00001.parquet"

    class Thief(Watcher):
        def planned(self, plan: Any) -> None:
            part.rename(part.with_suffix(".gone"))

    with pytest.raises(QuerytapeError, match="is damaged or unreadable"):
        replay(tape, options(shop, tmp_path / "t.run"), Thief())
    assert not open_folder("run", tmp_path / "t.run").finished


def test_unreadable_statement_leaves_a_partial_run(
    shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The accounting of the run balances."""
    monkeypatch.setattr("querytape.replay.plan.database.WINDOW_ROWS", 4)
    real, calls = feed_stream, iter(range(100))

    def breaking(*args: Any) -> Any:
        if next(calls) == 2:
            raise duckdb.IOException("IO Error: bad page")
        return real(*args)

    monkeypatch.setattr("querytape.replay.plan.database.feed_stream", breaking)
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(20)], parts=5)
    summary = replay(tape, options(shop, tmp_path / "t.run"))
    executed, _, _, not_sent = accounting(summary)
    assert executed + not_sent == 20
    assert not_sent >= 12
    assert summary.info["partial"].startswith("the tape could not be read to its end (a file is damaged or unreadable")


def test_endless_statement_is_stopped_at_the_end_of_the_drain(shop: Server, tmp_path: Path) -> None:
    """The summary shows the number of stopped statements."""
    events = [{"session": 1, "statement": "SELECT SLEEP(120)"}, {"session": 1, "statement": "SELECT 1"}]
    events.append({"session": 2, "statement": "BEGIN", "class": "transaction"})
    tape = make_tape(tmp_path / "t.tape", events)
    began = time.monotonic()
    summary = replay(tape, options(shop, tmp_path / "t.run", drain_ns=5 * SECOND))
    assert time.monotonic() - began < SOON_S
    assert accounting(summary) == (2, 0, 0, 1)
    assert summary.info["drain"]["cut"] == 1
    assert summary.info["partial"].startswith("no answer to 1 event before the end of --drain: 1 event not sent")
    assert summary.info["accounting"]["reasons"] == {"not_sent": {"drain_timeout": 1}}
    assert summary.info["sessions"]["in_transaction_at_end"] == 1


def test_full_disk_ends_the_replay_with_an_error(shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay ends as soon as the outcomes cannot be written. The run stays unfinished."""
    tape = make_tape(
        tmp_path / "t.tape", [{"statement": f"SELECT {n}", "start_ns": T0 + n * SECOND} for n in range(60)]
    )

    def full(*args: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("querytape.replay.run.write_parquet", full)
    began = time.monotonic()
    with pytest.raises(QuerytapeError, match=r"cannot write the outcomes: .*No space left"):
        replay(tape, options(shop, tmp_path / "t.run"))
    assert time.monotonic() - began < SOON_S
    assert not open_folder("run", tmp_path / "t.run").finished


def test_run_without_any_open_session_is_partial(shop: Server, tmp_path: Path) -> None:
    """The target refuses all logins after the pre-flight check. The summary contains the error of the server."""
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
    assert accounting(summary) == (0, 0, 0, 12)
    assert "4151" in summary.info["partial"]
    assert summary.info["sessions"]["failed"] == 3


@pytest.mark.parametrize("most", [1, 2, 3])
def test_error_of_sessions_that_cannot_connect_is_shown_at_once(shop: Server, tmp_path: Path, most: int) -> None:
    """The target accepts only some sessions. The user sees the error of the server before the first tick."""
    events = [{"session": 1 + n % 6, "statement": f"SELECT {n}", "start_ns": T0 + n * 30 * MS} for n in range(60)]
    shop.execute(f"CREATE USER few@'%' WITH MAX_USER_CONNECTIONS {most}")
    shop.execute("GRANT ALL ON *.* TO few@'%'")
    told: list[str] = []

    class Reader(Watcher):
        def finding(self, finding: Finding) -> None:
            told.append(finding.text)

        def tick(self, *args: Any) -> None:
            told.append("tick")

    given = options(shop, tmp_path / "t.run")
    try:
        summary = replay(
            make_tape(tmp_path / "t.tape", events),
            replace(given, target=replace(given.target, user="few")),
            Reader(),
        )
    finally:
        shop.execute("DROP USER few@'%'")
    assert summary.info["sessions"]["failed"] >= 6 - most
    (shown,) = (text for text in told if text.startswith("a session could not connect: "))
    assert told.index(shown) < told.index("tick")
    error = shown.partition(": ")[2]
    assert error.startswith("1226 User 'few' has exceeded the 'max_user_connections' resource")
    assert summary.info["partial"].endswith(f" not sent; the first error was {error}")


def test_ctrl_c_while_sessions_open_sends_nothing(shop: Server, tmp_path: Path) -> None:
    """Ctrl-C arrives while sessions are being opened. The accounting balances."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "session": n} for n in range(1, 600)])

    class Early(Watcher):
        def opening(self, *args: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    summary = replay(tape, options(shop, tmp_path / "t.run", connect_rate=4), Early())
    assert time.monotonic() - began < SOON_S
    assert accounting(summary) == (0, 0, 0, 599)
    assert "stopped by the user" in summary.info["partial"]


KILLED = """
import sys
from pathlib import Path
from querytape.replay import ReplayOptions, parse_target, replay
replay(Path(sys.argv[1]), ReplayOptions(parse_target(sys.argv[2]), Path(sys.argv[3]), slice_ns=500_000_000))
"""


@pytest.mark.long
def test_kill_9_leaves_a_readable_run(shop: Server, tmp_path: Path) -> None:
    """The run is unfinished and contains the outcomes that were written before the kill."""
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
