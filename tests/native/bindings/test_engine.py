# SPDX-License-Identifier: Apache-2.0
"""The Python interface of the engine with DuckDB on both ends. No server is needed, because refused connections are
also accounted for.
"""

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
    """Return a port on which no server listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def connect(large: bool = True) -> duckdb.DuckDBPyConnection:
    """Return a connection that produces streams in the format of the engine."""
    connection = duckdb.connect()
    connection.execute(f"SET arrow_large_buffer_size = {str(large).lower()}")
    return connection


@contextmanager
def following(**more: int) -> Iterator[Engine]:
    """Yield an engine that follows a capture. Its target is a null server that replies at once."""
    with NullServer() as server:
        options = EngineOptions(user="u", host="127.0.0.1", port=server.port, follows=True, **more)  # type: ignore[arg-type]
        with Engine(options) as engine:
            yield engine


def test_every_fed_event_comes_back_as_an_outcome(closed_port: int) -> None:
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


def test_small_arrow_buffers_are_refused_with_a_hint(closed_port: int) -> None:
    """If DuckDB produces 32-bit offsets, the error message names the DuckDB setting to change."""
    with (
        Engine(EngineOptions(user="nobody", host="127.0.0.1", port=closed_port)) as engine,
        pytest.raises(NativeFault, match="arrow_large_buffer_size"),
    ):
        engine.sessions(connect(large=False).sql(SESSIONS))


def test_calls_at_the_wrong_time_are_refused(closed_port: int) -> None:
    """Session results are not available before the end of the run. A target needs either a host or a socket."""
    with Engine(EngineOptions(user="nobody", host="127.0.0.1", port=closed_port)) as engine:
        with pytest.raises(NativeFault, match="started"):
            engine.feed_end()
        with pytest.raises(NativeFault, match="only after the run"):
            engine.session_results().__arrow_c_stream__()
    with pytest.raises(NativeFault, match="exactly one of the options host and socket"):
        Engine(EngineOptions(user="nobody"))


def test_closed_engine_raises_value_error(closed_port: int) -> None:
    """A closed engine may be stopped and closed again."""
    engine = Engine(EngineOptions(user="nobody", host="127.0.0.1", port=closed_port))
    engine.start()
    engine.stop()
    engine.close()
    engine.close()
    engine.stop(2)
    with pytest.raises(ValueError, match="closed"):
        engine.stats()


def test_following_engine_accepts_new_sessions() -> None:
    """Sessions may be added during the run.

    A session ends at its disconnect on the tape. An idle session is disconnected and reconnects for its next event.
    """
    plan, run = connect(), duckdb.connect()
    more = SESSIONS.replace("range(1, 6)", "range(1, 1101)")
    with following(rest_ns=100_000_000) as engine:
        engine.sessions(plan.sql(SESSIONS))
        engine.start()
        engine.feed(plan.sql(EVENTS))
        while engine.stats().sessions_rested < 5:
            time.sleep(0.02)
        engine.sessions(plan.sql(more))  # five of the sessions exist already; the list needs two batches
        quits = EVENTS.replace("1 + i // 5 AS seq", "4 + i // 5 AS seq").replace(
            "1::INTEGER AS command", "12::INTEGER AS command"
        )
        engine.feed(plan.sql(quits.replace("range(15)", "range(5)")))
        while engine.stats().executed < 20:
            time.sleep(0.02)
        engine.feed(plan.sql(quits))  # no event is sent after a disconnect
        engine.feed_end()
        found: list[tuple[int, int, str]] = []
        while engine.stats().state is not State.DONE or not found:
            outcomes = engine.outcomes(50_000_000)
            found += run.execute("SELECT session, seq, status FROM outcomes").fetchall()
            outcomes.close()
        assert sorted(found) == [(session, seq, "executed") for session in range(1, 6) for seq in range(1, 5)]
        stats = engine.stats()
        assert stats.sessions_reopened >= 5  # a session may reopen twice if the machine is slow
        assert stats.sessions_opened == 1100
        assert stats.sessions_rested >= 5  # on a slow machine, this includes sessions without events


def test_idle_session_stays_connected_for_the_configured_time() -> None:
    """An idle session of a following engine stays connected if the target has room for more connections. Repeated idle
    checks do not shorten the configured time.
    """
    plan = connect()
    with following(rest_ns=3_600_000_000_000) as engine:
        engine.sessions(plan.sql(SESSIONS))
        engine.start()
        engine.feed(plan.sql(EVENTS))
        while engine.stats().executed < 15:
            time.sleep(0.02)
        time.sleep(3.5)  # longer than several idle checks
        assert engine.stats().sessions_rested == 0


def test_idle_sessions_disconnect_when_too_many_are_open() -> None:
    """A short idle time is enough to disconnect a session if too many connections are open.

    If the number of open connections is below the limit, a session with the same idle time stays connected.
    """
    plan = connect()
    many = SESSIONS.replace("range(1, 6)", "range(1, 61)")
    with following(rest_ns=3_600_000_000_000, rest_open=20) as engine:
        engine.sessions(plan.sql(many))
        engine.start()
        engine.feed(plan.sql(EVENTS))
        while (stats := engine.stats()).sessions_opened < 60 or stats.sessions_open >= 20:
            time.sleep(0.02)
        assert stats.sessions_rested > 40
        assert stats.sessions_open >= 10  # up to half of the limit may stay idle for an hour


def test_following_without_a_pace_is_refused(closed_port: int) -> None:
    with pytest.raises(NativeFault, match="requires a pace"):
        Engine(EngineOptions(user="u", host="127.0.0.1", port=closed_port, follows=True, pace="none"))
