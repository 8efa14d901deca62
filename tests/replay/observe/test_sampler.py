# SPDX-License-Identifier: Apache-2.0
"""Tests of the counters of the target and its machine, which are sampled during a run."""

import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self

import pytest
from pymysql.err import MySQLError
from querytape.common.errors import TargetError
from querytape.replay import parse_target, replay
from querytape.replay.observe.sampler import (
    OF_QUERY_CACHE,
    OF_WRITES,
    Sampler,
    cache_counters,
    question,
    server_counters,
)
from querytape.servers.sandbox import Server

from tests.helpers.growing_log import wait_until
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import accounting, options, query

from ...helpers.cursors import MadeTarget


@pytest.mark.sampled
@pytest.mark.server
def test_samples_of_the_target_are_kept(any_shop: Server, tmp_path: Path) -> None:
    """Sample times are multiples of a tenth of a second. Com_select grows with the sent events. Unchanged values are
    not stored again.
    """
    events = [{"statement": "SELECT COUNT(*) FROM log", "db": "shop", "start_ns": T0 + n * 20 * MS} for n in range(200)]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(any_shop, tmp_path / "a.run", sample_ns=100 * MS))
    assert accounting(summary)[0] == 200
    assert summary.info["sampling_problem"] is None
    samples = f"read_parquet('{summary.path}/samples/*.parquet')"
    ticks = [row[0] for row in query(f"SELECT DISTINCT real_ns FROM {samples} ORDER BY 1")]
    assert len(ticks) > 3
    assert sorted(at % (100 * MS) for at in ticks)[len(ticks) // 4] < 60 * MS  # a busy machine often wakes late
    (first, last) = query(
        f"SELECT min(value), max(value) FROM {samples} WHERE source = 'status' AND name = 'Com_select'"
    )[0]
    assert last - first > 20
    repeated = query(
        f"SELECT count(*) FROM (SELECT value = lag(value) OVER (PARTITION BY source, name ORDER BY real_ns) AS same"
        f" FROM {samples}) WHERE same"
    )
    assert repeated == [(0,)]
    sources = {row[0] for row in query(f"SELECT DISTINCT source FROM {samples}")}
    assert sources == {"status", "processlist", "host", "sampler"}
    texts = query(f"SELECT name, text FROM read_parquet('{summary.path}/texts/*.parquet')")
    assert texts[0][0] == "innodb_status"
    assert "INNODB MONITOR OUTPUT" in texts[0][1]


@pytest.mark.server
def test_lost_sampler_connection_is_reported_in_the_run(shop: Server, tmp_path: Path) -> None:
    """One connection asks and kills, so that the list contains no connection of this test that ends meanwhile."""
    sampler = Sampler(tmp_path, parse_target(shop.url(), environ={}), 50 * MS, ())
    with closing(shop.connect()) as con, con.cursor() as cursor:
        cursor.execute("SHOW PROCESSLIST")
        before = {row[0] for row in cursor.fetchall()}
        sampler.start()
        wait_until(lambda: bool(sampler.newest()), "the first sample")
        until = time.monotonic() + 20
        while sampler.problem is None and time.monotonic() < until:
            cursor.execute("SHOW PROCESSLIST")
            for number, _, _, _, command, *_ in cursor.fetchall():
                if number not in before and command == "Sleep":
                    with suppress(MySQLError):  # the connection has already ended
                        cursor.execute(f"KILL {number}")
    sampler.stop()
    assert sampler.problem is not None
    assert sampler.problem.startswith("sampling stopped after")


@pytest.mark.server
def test_disabled_sampling_makes_no_connection(shop: Server, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    summary = replay(tape, options(shop, tmp_path / "a.run", sample_ns=0))
    assert not (summary.path / "samples").exists()
    assert summary.info["sampling_problem"] is None


class Gone(MadeTarget):
    """A target that refuses every connection."""

    def connect(self, timeout_s: int = 0) -> Any:
        """Refuse the connection."""
        raise TargetError("gone")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (MadeTarget((("Uptime", "5"), ("Innodb_log_waits", "x"))), {"uptime": 5}),
        (MadeTarget(()), None),
        (Gone(), None),
    ],
)
def test_write_counters_are_numbers_by_name(made: Any, expected: dict[str, int] | None) -> None:
    """The function returns None if the server has no counters or cannot be reached."""
    assert server_counters(made, 5) == expected
    assert made.asked == ([] if isinstance(made, Gone) else [question(OF_WRITES)])


def test_real_servers_have_the_write_counters(any_shop: Server) -> None:
    """MySQL and MariaDB both count binary log writes, syncs and lock waits. A write increases the counters."""
    target = parse_target(any_shop.url(), environ={})
    before = server_counters(target, 5) or {}
    ((kept,),) = any_shop.execute("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")
    any_shop.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    any_shop.execute("INSERT INTO shop.log (conn) VALUES (1)")
    any_shop.execute(f"SET GLOBAL innodb_flush_log_at_trx_commit = {kept}")
    after = server_counters(target, 5) or {}
    assert {"binlog_cache_use", "innodb_data_fsyncs", "innodb_row_lock_waits", "uptime"} <= before.keys()
    assert after["innodb_data_fsyncs"] > before["innodb_data_fsyncs"]


class Cached(MadeTarget):
    """A target that answers with `rows`. If it has no rows, it refuses the connection."""

    def connect(self, timeout_s: int = 0) -> Self:
        """Return the target itself as the connection, or refuse."""
        if self.rows is None:
            raise TargetError("gone")
        return self


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((("Qcache_hits", "5"), ("Com_select", "7")), {"qcache_hits": 5, "com_select": 7}),
        ((("Qcache_hits", "x"), ("Com_select", "7")), None),
        ((("Com_select", "7"),), None),
        ((), None),
        (None, None),
    ],
)
def test_query_cache_counters_are_numbers_by_name(rows: Any, expected: dict[str, int] | None) -> None:
    """The function returns None if the server has no query cache, sends no number or cannot be reached."""
    server: Any = Cached(rows)
    assert cache_counters(server, 5) == expected
    assert server.asked == ([] if rows is None else [question(OF_QUERY_CACHE)])
