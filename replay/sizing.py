# SPDX-License-Identifier: Apache-2.0
"""Compare the load of a tape with the measured limits of a machine: how many such machines does its replay need?"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import open_database
from ..common.temporary import temporary_folder
from ..schemas import Folder
from .checks.machine import Machine
from .observe.run_warnings import RATE_SHARE


@dataclass(frozen=True)
class TapeLoad:
    """The largest load of a tape at its original speed.

    - `per_second`: most events that begin in one second.
    - `sessions`: most sessions at the same time.
    - `all_sessions`: number of sessions of the tape.
    """

    per_second: int
    sessions: int
    all_sessions: int


@dataclass(frozen=True)
class Sizing:
    """`drivers`: number of machines like the measured one.

    - `uses`: the load as a share of what one machine can do, by the name of the limit. The highest share is first.
    - `speed`: the highest speed at which one machine sends the events in time. None for a tape without events.
    """

    drivers: int
    uses: dict[str, float]
    speed: float | None


def tape_load(tape: Folder) -> TapeLoad:
    """Return the largest load of a tape or a set. Sessions are open from their first event to their last event."""
    with temporary_folder() as folder, open_database(Path(folder)) as con:
        sessions = tape.source("sessions")
        total = int(con.execute(f"SELECT count(*) FROM {sessions}").fetchall()[0][0])
        return TapeLoad(_per_second(con, tape.source("events")), _open(con, sessions), total)


def _per_second(con: duckdb.DuckDBPyConnection, events: str) -> int:
    query = f"SELECT max(n) FROM (SELECT count(*) AS n FROM {events} GROUP BY start_ns // 1000000000)"
    return int(con.execute(query).fetchall()[0][0] or 0)


def _open(con: duckdb.DuckDBPyConnection, sessions: str) -> int:
    query = (
        "SELECT max(open)::BIGINT FROM (SELECT sum(step) OVER (ORDER BY at_ns, step DESC ROWS UNBOUNDED PRECEDING)"
        f" AS open FROM (SELECT first_ns AS at_ns, 1 AS step FROM {sessions}"
        f" UNION ALL SELECT last_ns, -1 FROM {sessions}))"
    )
    return int(con.execute(query).fetchall()[0][0] or 0)


def sizing(load: TapeLoad, calibration: dict[str, Any]) -> Sizing:
    """Return how many machines the load needs.

    `calibration`: the result of `calibrate` on such a machine. A machine should send at most RATE_SHARE of the highest
    measured rate.
    """
    rate = RATE_SHARE * max(level["queries_per_second"] for level in calibration["levels"])
    uses = {"queries/s": load.per_second / rate}
    for name, limit in Machine(**calibration["limits"]).sessions().items():
        uses[name] = load.sessions / max(limit, 1)
    ranked = dict(sorted(uses.items(), key=lambda use: -use[1]))
    speed = rate / load.per_second if load.per_second else None
    return Sizing(max(math.ceil(max(uses.values())), 1), ranked, speed)
