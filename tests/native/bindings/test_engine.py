# SPDX-License-Identifier: Apache-2.0
"""The engine's Python face with DuckDB on both backends; no server needed: refused connects are accounted as well."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.engine import Engine, EngineOptions, State
from querytape.native.bindings.null_server import NullServer

pytestmark = pytest.mark.slow

SESSIONS = """
    SELECT i AS session, 0::BIGINT AS open_due_ns, 3::BIGINT AS events, NULL::VARCHAR AS db,
           true AS opened_ahead, NULL::INTEGER AS account, NULL::BIGINT AS client_flags, NULL::VARCHAR AS charset,
           NULL::INTEGER AS collation_id, NULL::VARCHAR AS names
    FROM range(1, 6) t(i)
"""
EVENTS = """
    SELECT 1 + i % 5 AS session, 1 + i // 5 AS seq, i * 1000 AS due_ns, 0::BIGINT AS span_ns, 1::INTEGER AS command,
           CASE WHEN i % 2 = 0 THEN 0 END::INTEGER AS class, 0::BIGINT AS actions, 0::BIGINT AS flags,
           NULL::INTEGER AS account, CASE WHEN i % 3 = 0 THEN 'shop' END AS db,
           NULL::BIGINT AS stmt, 'SELECT 1'::BLOB AS statement, NULL::BLOB AS params,
           NULL::BIGINT AS clock_us, NULL::BIGINT AS insert_id, NULL::VARCHAR AS insert_ids,
           NULL::VARCHAR AS waits, NULL::VARCHAR AS digest
    FROM range(15) t(i)
"""


@pytest.fixture
def closed_port() -> int:
    """A port on which no server listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def connect(large: bool = True) -> duckdb.DuckDBPyConnection:
    """Return a connection whose streams are as the engine wants them."""
    connection = duckdb.connect()
    connection.execute(f"SET arrow_large_buffer_size = {str(large).lower()}")
    return connection


@contextmanager
def following(**more: int) -> Iterator[Engine]:
    """Give an engine that follows a capture, against a server that answers at once; its sessions are there."""
    with NullServer() as server:
        options = EngineOptions(user="u", host="127.0.0.1", port=server.port, follows=True, **more)  # type: ignore[arg-type]
        with Engine(options) as engine:
            yield engine


def test_every_fed_event_comes_back_as_an_outcome(closed_port: int) -> None:
    """A plan from DuckDB goes in, outcomes and sessions come out, nothing is missing."""
    plan, run = connect(), duckdb.connect()
    with Engine(EngineOptions(user="nobody", host="127.0.0.1", port=closed_port, pace="none")) as engine:
        engine.sessions(plan.sql(SESSIONS))
        engine.start()

        def feed() -> None:
            try:
                engine.feed(plan.sql(EVENTS))
            finally:
                engine.feed_end()

        feeder = threading.Thread(target=feed)
        feeder.start()
        found = []
        while True:
            done = engine.stats().state is State.DONE
            outcomes = engine.outcomes(50_000_000)
            found += run.execute("SELECT session, seq, clone, status, reason, errno FROM outcomes").fetchall()
            outcomes.close()
            if done:
                break
        feeder.join()
        assert sorted(found) == [
            (session, seq, 0, "not_sent", "connect_failed", None) for session in range(1, 6) for seq in range(1, 4)
        ]
        stats = engine.stats()
        assert (stats.fed, stats.executed, stats.not_sent, stats.sessions_failed) == (15, 0, 15, 5)
        results = engine.session_results()
        rows = run.execute("SELECT session, opened_ahead, connected_ns, executed, errno FROM results").fetchall()
        assert rows == [(session, True, None, 0, 2002) for session in range(1, 6)]
        results.close()


def test_small_buffers_are_refused_with_what_to_do(closed_port: int) -> None:
    """Where DuckDB gives 32-bit offsets the message names the setting."""
    with (
        Engine(EngineOptions(user="nobody", host="127.0.0.1", port=closed_port)) as engine,
        pytest.raises(NativeFault, match="arrow_large_buffer_size"),
    ):
        engine.sessions(connect(large=False).sql(SESSIONS))


def test_moments_are_checked(closed_port: int) -> None:
    """Results before the end, and a target that is two targets, are refused."""
    with Engine(EngineOptions(user="nobody", host="127.0.0.1", port=closed_port)) as engine:
        with pytest.raises(NativeFault, match="started"):
            engine.feed_end()
        with pytest.raises(NativeFault, match="only after the run"):
            engine.session_results().__arrow_c_stream__()
    with pytest.raises(NativeFault, match="exactly one of the options host and socket"):
        Engine(EngineOptions(user="nobody"))


def test_a_closed_engine_says_so(closed_port: int) -> None:
    """Calls after close are errors of the caller, not crashes; stop and close may come twice."""
    engine = Engine(EngineOptions(user="nobody", host="127.0.0.1", port=closed_port))
    engine.start()
    engine.stop()
    engine.close()
    engine.close()
    engine.stop(2)
    with pytest.raises(ValueError, match="closed"):
        engine.stats()


def test_sessions_come_while_it_runs() -> None:
    """Following: sessions are added and end with their quit; a silent one is disconnected, and back for its next event."""
    plan, run = connect(), duckdb.connect()
    more = SESSIONS.replace("range(1, 6)", "range(1, 1101)")
    with following(rest_ns=100_000_000) as engine:
        engine.sessions(plan.sql(SESSIONS))
        engine.start()
        engine.feed(plan.sql(EVENTS))
        while engine.stats().sessions_rested < 5:
            time.sleep(0.02)
        engine.sessions(plan.sql(more))  # five of them are there; all together need two pieces
        quits = EVENTS.replace("1 + i // 5 AS seq", "4 + i // 5 AS seq").replace(
            "1::INTEGER AS command", "12::INTEGER AS command"
        )
        engine.feed(plan.sql(quits.replace("range(15)", "range(5)")))
        while engine.stats().executed < 20:
            time.sleep(0.02)
        engine.feed(plan.sql(quits))  # nothing comes behind a quit
        engine.feed_end()
        found: list[tuple[int, int, str]] = []
        while engine.stats().state is not State.DONE or not found:
            outcomes = engine.outcomes(50_000_000)
            found += run.execute("SELECT session, seq, status FROM outcomes").fetchall()
            outcomes.close()
        assert sorted(found) == [(session, seq, "executed") for session in range(1, 6) for seq in range(1, 5)]
        stats = engine.stats()
        assert stats.sessions_reopened >= 5  # twice where the machine took its time
        assert stats.sessions_opened == 1100
        assert stats.sessions_rested >= 5  # those without events as well, where they have the time


def test_a_silence_lasts_as_long_as_was_asked_for() -> None:
    """Following: where the target has room, sessions stay connected for all of it, not for the few looks it takes."""
    plan = connect()
    with following(rest_ns=3_600_000_000_000) as engine:
        engine.sessions(plan.sql(SESSIONS))
        engine.start()
        engine.feed(plan.sql(EVENTS))
        while engine.stats().executed < 15:
            time.sleep(0.02)
        time.sleep(3.5)  # several looks
        assert engine.stats().sessions_rested == 0


def test_silent_sessions_make_room() -> None:
    """Following: with more open than the target has room for, a short silence is enough; without, it is not."""
    plan = connect()
    many = SESSIONS.replace("range(1, 6)", "range(1, 61)")
    with following(rest_ns=3_600_000_000_000, rest_open=20) as engine:
        engine.sessions(plan.sql(many))
        engine.start()
        engine.feed(plan.sql(EVENTS))
        while (stats := engine.stats()).sessions_opened < 60 or stats.sessions_open >= 20:
            time.sleep(0.02)
        assert stats.sessions_rested > 40
        assert stats.sessions_open >= 10  # from half of it on they may be silent for an hour


def test_what_follows_has_a_pace(closed_port: int) -> None:
    """Without a pace there is nothing to follow: refused."""
    with pytest.raises(NativeFault, match="requires a pace"):
        Engine(EngineOptions(user="u", host="127.0.0.1", port=closed_port, follows=True, pace="none"))
