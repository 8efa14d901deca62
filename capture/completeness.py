# SPDX-License-Identifier: Apache-2.0
"""Find signs that a tape lacks a part of the workload: log thresholds and long silences."""

import duckdb

from ..common.duck import load_sql
from ..common.units import plural, utc_time
from .source import TapeWarning

# A shorter minimum duration can also come from a slow machine.
MIN_THRESHOLD_NS = 5_000_000
MIN_EVENTS = 20
# In a complete log, the number of examined rows is smaller. For example, a key lookup examines one or two rows.
MIN_EXAMINED = 10


def completeness(con: duckdb.DuckDBPyConnection) -> list[TapeWarning]:
    """Return warnings if the events in view `events` show that the workload is incomplete."""
    events, shortest, least_examined, readers, _, gap, gap_from, gaps = con.execute(
        load_sql(__package__, "completeness.sql")
    ).fetchall()[0]
    warnings = []
    if events >= MIN_EVENTS and shortest is not None and shortest >= MIN_THRESHOLD_NS:
        text = (
            f"no statement is shorter than {shortest / 1e9:.6f} s. The server probably ran with long_query_time="
            f"{threshold(shortest / 1e9)}, so faster statements are missing"
        )
        warnings.append({"kind": "long_query_time", "text": text})
    if readers >= MIN_EVENTS and least_examined is not None and least_examined >= MIN_EXAMINED:
        text = (
            f"no statement examined fewer than {least_examined} rows. The server probably ran with"
            f" min_examined_row_limit={least_examined}, so statements that examine fewer rows are missing"
        )
        warnings.append({"kind": "min_examined_row_limit", "text": text})
    if gaps:
        text = (
            f"the tape has {plural(gaps, 'unusually long pause')} between events. The longest pause lasts"
            f" {gap / 1e9:.0f} s from"
            f" {utc_time(gap_from)} UTC. A log file may be missing"
        )
        warnings.append({"kind": "hole", "text": text})
    return warnings


def threshold(shortest_s: float) -> str:
    """Return a round number of seconds that is at most the shortest duration and close to it.

    A person who sets a threshold is likely to choose a round number.
    """
    step = 10.0
    while step > shortest_s:
        step /= 10
    for factor in (5, 2, 1):
        if factor * step <= shortest_s:
            return f"{factor * step:g}"
    return f"{step:g}"
