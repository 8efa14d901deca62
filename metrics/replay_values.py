# SPDX-License-Identifier: Apache-2.0
"""Says what a run has come to: the engine's counters and histograms, and the target's own counters."""

from collections.abc import Iterator

from ..native.bindings.engine import EngineStats, State
from ..replay.observe.live import LiveRun, Moment
from ..schemas.names import COUNTERS
from .collector import Value

# Of SHOW GLOBAL STATUS: what grows, and what goes up and down. What a server does not have is left out.
TARGET_COUNTERS = (
    "Aborted_clients", "Aborted_connects", "Bytes_received", "Bytes_sent", "Com_commit", "Com_delete", "Com_insert",
    "Com_rollback", "Com_select", "Com_update", "Connections", "Created_tmp_disk_tables", "Created_tmp_tables",
    "Handler_read_key", "Handler_read_next", "Handler_read_rnd_next", "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads", "Innodb_buffer_pool_wait_free", "Innodb_data_fsyncs", "Innodb_data_reads",
    "Innodb_data_writes", "Innodb_log_waits", "Innodb_os_log_written", "Innodb_row_lock_time", "Innodb_row_lock_waits",
    "Innodb_rows_read", "Opened_tables", "Qcache_hits", "Queries", "Questions", "Select_full_join", "Select_scan",
    "Slow_queries", "Sort_merge_passes", "Table_locks_waited",
)  # fmt: skip
TARGET_GAUGES = (
    "Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_pages_free", "Innodb_row_lock_current_waits", "Open_tables",
    "Prepared_stmt_count", "Threads_connected", "Threads_running",
)  # fmt: skip
# Metrics that are not a counter of the engine, by another name.
GAUGES = {"queue_bytes": "queued_bytes", "open_sessions": "sessions_open"}


def run_values(live: LiveRun) -> Iterator[Value]:
    """Yield what a run says of itself now."""
    moment = live.read()
    yield from (_of("planned_events", moment.planned), *_of_stats(moment.stats), *_of_meters(moment))
    status = {name: value for (source, name), value in moment.samples.items() if source == "status"}
    for metric, names in (("querytape_target_events", TARGET_COUNTERS), ("querytape_target_state", TARGET_GAUGES)):
        yield from (Value(metric, status[name], (name,)) for name in names if name in status)


def _of(name: str, value: float, *labels: str) -> Value:
    return Value(f"querytape_replay_{name}", value, labels)


def _of_stats(stats: EngineStats) -> Iterator[Value]:
    for name, counter in COUNTERS.items():
        if counter.metric is not None:
            yield _of(counter.metric, getattr(stats, name))
    for metric, name in GAUGES.items():
        yield _of(metric, getattr(stats, name))
    kinds = {"read": stats.reads, "write": stats.writes, "other": stats.others}
    yield from (_of("statements", n, kind) for kind, n in kinds.items())
    begun = stats.zero_real_ns != 0
    yield _of("running", float(begun and stats.state != State.DONE))
    yield _of("waiting_events", max(stats.fed - stats.executed - stats.not_sent, 0))
    yield _of("order_wait_seconds", stats.order_wait_ns / 1e9)
    yield _of("engine_cpu_seconds", stats.engine_cpu_ns / 1e9)
    if begun:
        yield _of("schedule_position_seconds", stats.now_ns / 1e9)


def _of_meters(moment: Moment) -> Iterator[Value]:
    meters = moment.meters
    yield from (_of("errors", n, str(number)) for number, n in sorted(meters.errors.items()))
    if meters.errors_elsewhere:
        yield _of("errors", meters.errors_elsewhere, "other")
    yield from (Value("querytape_replay_service_seconds", meter, (kind,)) for kind, meter in meters.service.items())
    if moment.paced:
        yield _of("schedule_end_seconds", meters.last_due_ns / 1e9)
        yield Value("querytape_replay_lateness_seconds", meters.late)
        yield from (Value("querytape_replay_delay_seconds", meter, (cause,)) for cause, meter in meters.delay.items())
