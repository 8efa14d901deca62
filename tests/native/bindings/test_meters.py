# SPDX-License-Identifier: Apache-2.0
"""The Python interface of the engine's meters."""

import duckdb
from querytape.native._querytape import lib
from querytape.native.bindings.engine import Engine, EngineOptions
from querytape.native.bindings.meters import BOUNDS_NS, CAUSES, KINDS
from querytape.native.bindings.null_server import NullServer


def test_meter_names_match_the_c_enums() -> None:
    for prefix, names, end in (("QT_KIND", KINDS, lib.QT_KINDS), ("QT_LATE", CAUSES, lib.QT_CAUSES)):
        assert [getattr(lib, f"{prefix}_{name.upper()}") for name in names] == list(range(end))


def test_meters_are_zero_before_the_run() -> None:
    with_nothing = Engine(EngineOptions(host="127.0.0.1"))
    try:
        meters = with_nothing.meters()
        assert meters.errors == {}
        assert meters.errors_elsewhere == 0
        for meter in (meters.late, *meters.service.values(), *meters.delay.values()):
            assert meter.below == (0,) * len(BOUNDS_NS)
            assert meter.count == meter.sum_ns == 0
        assert with_nothing.peek().executed == 0
    finally:
        with_nothing.close()


def test_slowest_digests_are_sorted_by_total_time() -> None:
    """Each digest has its count, total time and longest response time."""
    sessions = "SELECT 1::BIGINT, 0::BIGINT, 60::BIGINT, NULL::VARCHAR, true, NULL::INTEGER, NULL::BIGINT,"
    sessions += " NULL::VARCHAR, NULL::INTEGER, NULL::VARCHAR"
    events = """SELECT 1::BIGINT, i, i, 0::BIGINT, 1::INTEGER, 0::INTEGER, 0::BIGINT, 0::BIGINT, NULL::INTEGER,
        NULL::VARCHAR, NULL::BIGINT, 'SELECT 1'::BLOB, NULL::BLOB, NULL::BIGINT, NULL::BIGINT, NULL::VARCHAR,
        NULL::VARCHAR, CASE WHEN i <= 40 THEN '00c0ffee00c0ffee' WHEN i <= 55 THEN 'fedcba9876543210' END
        FROM range(1, 61) t(i)"""
    with duckdb.connect() as plan, duckdb.connect() as run, NullServer(delay_ns=1_000_000) as server:
        plan.execute("SET arrow_large_buffer_size = true")
        with Engine(EngineOptions(host="127.0.0.1", port=server.port, pace="none")) as engine:
            engine.sessions(plan.sql(sessions))
            assert engine.slowest(5) == []
            engine.start()
            engine.feed(plan.sql(events))
            engine.feed_end()
            stream = engine.outcomes(60_000_000_000)
            run.register("outcomes", stream)
            rows = run.execute("SELECT seq <= 40, sum(done_ns - sent_ns), max(done_ns - sent_ns) FROM outcomes"
                               " WHERE seq <= 55 GROUP BY 1 ORDER BY 1 DESC").fetchall()  # fmt: skip
            found = engine.slowest(5)
            assert engine.slowest(1) == found[:1]
            assert engine.slowest(0) == []
    assert [(one.digest, one.count) for one in found] == [("00c0ffee00c0ffee", 40), ("fedcba9876543210", 15)]
    assert [(one.sum_ns, one.max_ns) for one in found] == [(total, longest) for _, total, longest in rows]
    assert [one.unsure_ns for one in found] == [0, 0]
