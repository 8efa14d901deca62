# SPDX-License-Identifier: Apache-2.0
"""Divide what the servers counted during the runs by the writes that were sent."""

from collections import Counter
from collections.abc import Mapping, Sequence

import duckdb

from ...schemas import Folder

MIN_WRITES = 20  # fewer of them tell nothing of one


def write_counters(
    con: duckdb.DuckDBPyConnection, sides: Mapping[str, Sequence[Folder]]
) -> dict[str, dict[str, float]]:
    """Return {a or b: {counter: how much it grew for each write}}, all rounds together.

    A side is left out where its runs have no counters, or too few writes. A round is left out where the server was
    started anew.
    """
    found: dict[str, dict[str, float]] = {}
    for letter, rounds in sides.items():
        grown: Counter[str] = Counter()
        names: set[str] | None = None
        writes = 0
        for run in rounds:
            kept = run.info.get("server_counters") or {}
            before, after = kept.get("before") or {}, kept.get("after") or {}
            if not before or not after or any(after[name] < before[name] for name in before.keys() & after.keys()):
                continue
            both = before.keys() & after.keys() - {"uptime"}
            names = both if names is None else names & both
            grown.update({name: after[name] - before[name] for name in both})
            writes += _writes(con, run)
        if writes >= MIN_WRITES:
            found[letter] = {name: grown[name] / writes for name in sorted(names or ())}
    return found


def _writes(con: duckdb.DuckDBPyConnection, run: Folder) -> int:
    ((writes,),) = con.execute(f"SELECT coalesce(sum(writes), 0) FROM {run.source('ticks')}").fetchall()
    return int(writes)
