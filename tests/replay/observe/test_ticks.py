# SPDX-License-Identifier: Apache-2.0
"""Tests of ticks: differences of the engine's counters, written in parts and merged at the end."""

from dataclasses import replace
from pathlib import Path

import duckdb
from querytape.native.bindings.engine import EndedBy, EngineStats, State
from querytape.replay.observe.ticks import TickLog
from querytape.schemas import columns


def stats(**values: int) -> EngineStats:
    """Return counters that are all 0 except the given values."""
    names = EngineStats.__dataclass_fields__
    zero = EngineStats(**{**dict.fromkeys(names, 0), "state": State.RUNNING, "ended_by": EndedBy.NOTHING})  # type: ignore[arg-type]
    return replace(zero, **values)  # type: ignore[arg-type]


def test_ticks_are_differences_of_counters(tmp_path: Path) -> None:
    """The number of open sessions is not a difference but the current value."""
    log = TickLog(tmp_path / "ticks")
    log.take(stats(executed=10, not_sent=1, reads=7, sessions_open=3))
    tick = log.take(stats(executed=15, not_sent=3, reads=9, sessions_open=2, now_ns=5))
    assert (tick.done, tick.reads, tick.sessions_open, tick.at_ns) == (7, 2, 2, 5)
    assert len(log.clock_pairs) == 2


def test_tick_parts_become_one_file(tmp_path: Path) -> None:
    """The file has the documented columns, and the folder of parts is removed."""
    log = TickLog(tmp_path / "ticks")
    with duckdb.connect() as con:
        for now in (1, 2):
            log.take(stats(now_ns=now))
            log.flush(con)
        log.take(stats(now_ns=3))
        log.gather(con)
        table = con.execute(f"DESCRIBE FROM '{tmp_path}/ticks.parquet'").fetchall()
        assert tuple(row[:2] for row in table) == columns("run", "ticks")
        assert con.execute(f"SELECT at_ns FROM '{tmp_path}/ticks.parquet'").fetchall() == [(1,), (2,), (3,)]
    assert not (tmp_path / "ticks").exists()
