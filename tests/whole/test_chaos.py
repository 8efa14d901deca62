# SPDX-License-Identifier: Apache-2.0
"""Replays against a failing target. Each replay ends in time, its accounting balances, and its summary names the cause."""

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.replay import Plan, RunSummary, Tick, Watcher, parse_target, replay
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, SECOND, T0, make_tape
from tests.helpers.whole import accounting, options, outcomes, query

from ..conftest import ServerFactory

pytestmark = pytest.mark.long

SESSIONS, EVENTS = 20, 60
BOUND_S = 120


@pytest.fixture
def target(mariadb_factory: ServerFactory) -> Server:
    """Start a server with a table. Only one test uses the server."""
    server = mariadb_factory()
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    return server


def tape_of(tmp_path: Path, seconds: int = 6) -> Path:
    """Write a tape of 20 sessions that mostly read and sometimes write."""
    step = seconds * SECOND // EVENTS
    events = [
        {
            "session": session,
            "start_ns": T0 + n * step + session * MS,
            "statement": f"INSERT INTO t (v) VALUES ({n})" if n % 5 == 0 else "SELECT COUNT(*) FROM t",
            "class": "write" if n % 5 == 0 else "read",
            "db": "shop",
        }
        for n in range(EVENTS)
        for session in range(1, SESSIONS + 1)
    ]
    return make_tape(tmp_path / "t.tape", events)


class During(Watcher):
    """Runs an action at a given time after the first event was due. The time does not depend on the duration of the
    replay's start.
    """

    def __init__(self, after_s: float, act: Callable[[], Any]) -> None:
        self._after_s = after_s
        self._act = act
        self._timer: threading.Timer | None = None

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Start the timer at the first tick after time zero of the replay."""
        if self._timer is None and tick.at_ns >= 0:
            self._timer = threading.Timer(max(0, self._after_s - tick.at_ns / SECOND), self._act)
            self._timer.start()

    def join(self) -> None:
        assert self._timer is not None
        self._timer.join()


def run(server: Server, tmp_path: Path, after_s: float, act: Callable[[], Any], **more: Any) -> RunSummary:
    """Replay a tape while an action runs. The replay must end within BOUND_S seconds with a balanced accounting."""
    tape = tape_of(tmp_path)
    began = time.monotonic()
    during = During(after_s, act)
    summary = replay(tape, options(server, tmp_path / "a.run", drain_ns=5 * SECOND, **more), during)
    during.join()
    assert time.monotonic() - began < BOUND_S
    executed, filtered, skipped, not_sent = accounting(summary)
    assert executed + not_sent == SESSIONS * EVENTS
    assert (filtered, skipped) == (0, 0)
    return summary


def test_replay_continues_after_the_target_restarts(target: Server, tmp_path: Path) -> None:
    """Statements that are due during the restart are not sent. After the restart, all sessions open again."""

    over = threading.Event()

    def restart() -> None:
        target.stop()
        time.sleep(1.5)
        target.start()
        over.wait(60)  # the server process ends together with the thread that started it

    tape = tape_of(tmp_path, seconds=15)
    given = options(target, tmp_path / "a.run", drain_ns=5 * SECOND, on_lost="reopen")
    socket = parse_target(f"mysql://root@/shop?socket={target.socket}", environ={})
    began = time.monotonic()
    during = During(2, restart)
    summary = replay(tape, dataclasses.replace(given, target=socket), during)
    over.set()
    during.join()
    assert time.monotonic() - began < BOUND_S
    executed, _, _, not_sent = accounting(summary)
    assert executed + not_sent == SESSIONS * EVENTS
    assert summary.info["accounting"]["sessions_reopened"] == SESSIONS
    last = query(f"SELECT count(*) FROM '{tmp_path}/a.run/outcomes/*.parquet' WHERE seq = {EVENTS} AND errno = 0")
    assert last == [(SESSIONS,)]


def test_pause_of_the_target_delays_statements_but_loses_none(target: Server, tmp_path: Path) -> None:
    """SIGSTOP pauses the target for 5 seconds. The summary attributes the lateness to slow answers of the target."""

    def pause() -> None:
        os.kill(target.pid, signal.SIGSTOP)
        time.sleep(5)
        os.kill(target.pid, signal.SIGCONT)

    summary = run(target, tmp_path, 1.5, pause)
    assert summary.info["partial"] is None
    assert accounting(summary)[0] == SESSIONS * EVENTS
    late = [row[0] for row in outcomes(summary.path, "sent_ns - due_ns")]
    busy = [row[0] for row in outcomes(summary.path, "greatest(0, free_ns - due_ns)")]
    assert max(late) > 3 * SECOND
    assert max(busy) > 3 * SECOND


class Crowd(Watcher):
    """Opens connections after the pre-flight checks, so that some sessions of the replay get no connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.taken: list[Any] = []

    def planned(self, plan: Plan) -> None:
        """Occupy all connections of the target except ten."""
        self.taken = [self._server.connect() for _ in range(40 - 10)]


def test_sessions_over_the_connection_limit_are_counted(target: Server, tmp_path: Path) -> None:
    """Sessions that got a connection continue. Sessions that got none are counted with their error."""
    target.execute("SET GLOBAL max_connections = 40")
    crowd = Crowd(target)
    given = options(target, tmp_path / "a.run", drain_ns=5 * SECOND, sample_ns=0)
    summary = replay(tape_of(tmp_path), given, crowd)
    for connection in crowd.taken:
        connection.close()
    failed = summary.info["sessions"]["failed"]
    assert 5 <= failed < SESSIONS
    assert accounting(summary) == ((SESSIONS - failed) * EVENTS, 0, 0, failed * EVENTS)
    assert summary.info["accounting"]["reasons"]["not_sent"] == {"connect_failed": failed * EVENTS}
    assert {row[0] for row in query(f"SELECT errno FROM '{summary.path}/sessions.parquet'")} == {0, 1040}


def test_all_statements_are_sent_after_a_table_is_dropped(target: Server, tmp_path: Path) -> None:
    summary = run(target, tmp_path, 2, lambda: target.execute("DROP TABLE shop.t"))
    assert accounting(summary)[0] == SESSIONS * EVENTS
    assert summary.info["partial"] is None
    assert set(summary.errors) == {1146}
    assert 0 < summary.errors[1146] < SESSIONS * EVENTS


def test_wall_clock_step_does_not_move_due_times(
    target: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall clock jumps by one hour. The run records the wall clock and the monotonic clock."""
    real = time.time_ns
    stepped = threading.Event()
    monkeypatch.setattr(time, "time_ns", lambda: real() + (3600 * SECOND if stepped.is_set() else 0))

    class Clock(Watcher):
        def tick(self, tick: Tick, done: int, plan: Plan) -> None:
            if tick.at_ns > 2 * SECOND:
                stepped.set()

    summary = replay(tape_of(tmp_path), options(target, tmp_path / "a.run"), Clock())
    assert accounting(summary)[0] == SESSIONS * EVENTS
    steps = [
        b[1] - a[1] - (b[0] - a[0])
        for a, b in zip(summary.info["clock_pairs"], summary.info["clock_pairs"][1:], strict=False)
    ]
    assert max(steps) > 3000 * SECOND
    assert max(row[0] for row in outcomes(summary.path, "sent_ns - due_ns")) < SECOND
