# SPDX-License-Identifier: Apache-2.0
"""Define every metric once: its kind, labels, help, and the function that reads its value from a run or capture.

Tests compare docs/metrics.md and the Grafana dashboard with this table. Label values come from small fixed sets:
classes, causes, error numbers, sides. A label never contains a statement, digest, schema, user or host.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..native.bindings.engine import State
from ..native.bindings.meters import Meter
from ..schemas.names import COUNTERS

if TYPE_CHECKING:
    from ..capture.live import CaptureMoment, LiveCapture
    from ..replay.observe.live import LiveRun, Moment

COUNTER, GAUGE, HISTOGRAM, INFO = "counter", "gauge", "histogram", "info"
Found = float | Meter | Mapping[str, float] | Mapping[str, Meter] | None

# Counters and gauges of SHOW GLOBAL STATUS. Variables that are missing on a server are omitted.
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
DROPPED_BY = ("kernel", "interface", "ring")


@dataclass(frozen=True)
class Name:
    """A metric. `name` has no suffix _total, _bucket or _info, because the output format adds the suffix.

    `read` returns the current value, one value per label value, or None if there is no value.
    """

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()
    read: Callable[[Any], Found] = lambda moment: None

    @property
    def shown(self) -> str:
        """The metric name in queries."""
        return self.name + {COUNTER: "_total", INFO: "_info", HISTOGRAM: "_bucket"}.get(self.kind, "")


@dataclass(frozen=True)
class Value:
    """One value of a metric. `labels`: the values of the metric's own labels, in order."""

    name: str
    value: float | Meter
    labels: tuple[str, ...] = ()


def _replay(name: str, kind: str, text: str, read: "Callable[[Moment], Found]", *labels: str) -> Name:
    return Name(f"querytape_replay_{name}", kind, text, labels, read)


def _capture(name: str, kind: str, text: str, read: "Callable[[CaptureMoment], Found]", *labels: str) -> Name:
    return Name(f"querytape_capture_{name}", kind, text, labels, read)


def _status(names: Iterable[str]) -> "Callable[[Moment], Found]":
    """Return a function that reads these variables of SHOW GLOBAL STATUS."""

    def read(moment: "Moment") -> Found:
        status = {name: value for (source, name), value in moment.samples.items() if source == "status"}
        return {name: status[name] for name in names if name in status}

    return read


def _errors(moment: "Moment") -> Found:
    meters = moment.meters
    found: dict[str, float] = {str(number): n for number, n in sorted(meters.errors.items())}
    return found | ({"other": meters.errors_elsewhere} if meters.errors_elsewhere else {})


def _dropped(moment: "CaptureMoment") -> Found:
    said = moment.described
    return {by: said[f"dropped_by_{by}"] for by in DROPPED_BY} if "packets_received" in said else None


BUILD = Name("querytape_build", INFO, "The version of querytape.", ("version",))
REPLAY = (
    _replay(
        "running",
        GAUGE,
        "1 from the start of the run to its last reply, 0 at other times.",
        lambda m: float(m.stats.zero_real_ns != 0 and m.stats.state != State.DONE),
    ),
    _replay("planned_events", GAUGE, "Planned events.", lambda m: m.planned),
    _replay(
        "statements",
        COUNTER,
        "Completed events, including failed events, by class (read, write, other).",
        lambda m: {"read": m.stats.reads, "write": m.stats.writes, "other": m.stats.others},
        "class",
    ),
    _replay(
        "errors",
        COUNTER,
        "Failed events by error number. After 256 different numbers, new numbers count as other.",
        _errors,
        "number",
    ),
    _replay(
        "waiting_events",
        GAUGE,
        "Events in queues: not due yet, overdue, or waiting for the reply.",
        lambda m: max(m.stats.fed - m.stats.executed - m.stats.not_sent, 0),
    ),
    _replay(
        "queue_bytes", GAUGE, "Memory of waiting events, limited by --queue-memory.", lambda m: m.stats.queued_bytes
    ),
    _replay(
        "schedule_position_seconds",
        GAUGE,
        "Time since the start of the run. Absent before the start.",
        lambda m: m.stats.now_ns / 1e9 if m.stats.zero_real_ns else None,
    ),
    _replay(
        "schedule_end_seconds",
        GAUGE,
        "Due time of the last queued event, from the start of the run, at the planned speed.",
        lambda m: m.meters.last_due_ns / 1e9 if m.paced else None,
    ),
    _replay(
        "service_seconds",
        HISTOGRAM,
        "Service time, from sending to the end of the reply, by class (read, write, other).",
        lambda m: m.meters.service,
        "class",
    ),
    _replay(
        "lateness_seconds",
        HISTOGRAM,
        "Lateness of sent events: send time minus due time. Empty with --pace none.",
        lambda m: m.meters.late if m.paced else None,
    ),
    _replay(
        "delay_seconds",
        HISTOGRAM,
        "Lateness by cause: session, order, connect, feeder or tool. Each cause counts the events that it delayed"
        " (tool: all events). The sums add up to the sum of the lateness.",
        lambda m: m.meters.delay if m.paced else None,
        "cause",
    ),
    _replay("open_sessions", GAUGE, "Connected sessions.", lambda m: m.stats.sessions_open),
    *(
        _replay(counter.metric, COUNTER, counter.help, attrgetter(f"stats.{name}"))
        for name, counter in COUNTERS.items()
        if counter.metric is not None
    ),
    _replay(
        "order_wait_seconds",
        COUNTER,
        "Total time of waits for commits of other sessions.",
        lambda m: m.stats.order_wait_ns / 1e9,
    ),
    _replay(
        "engine_cpu_seconds",
        COUNTER,
        "CPU time of the replay engine's own threads.",
        lambda m: m.stats.engine_cpu_ns / 1e9,
    ),
)
TARGET = (
    Name(
        "querytape_target_events",
        COUNTER,
        "Counters in SHOW GLOBAL STATUS of the target, by MySQL name, read by --sample.",
        ("variable",),
        _status(TARGET_COUNTERS),
    ),
    Name(
        "querytape_target_state",
        GAUGE,
        "Gauges in SHOW GLOBAL STATUS of the target, by MySQL name, read by --sample.",
        ("variable",),
        _status(TARGET_GAUGES),
    ),
)
COVERAGE = Name(
    "querytape_capture_coverage_ratio",
    GAUGE,
    "Share of the executed statements that the log contains, 0 to 1. The command capture server sets this metric when"
    " the tape is complete.",
)
CAPTURE = (
    _capture(
        "running",
        GAUGE,
        "1 while the capture reads its source, 0 after the end.",
        lambda m: float(not m.stats.finished),
    ),
    _capture("events", COUNTER, "Captured events.", lambda m: m.stats.events),
    _capture("sessions", COUNTER, "Captured sessions.", lambda m: m.stats.sessions),
    _capture(
        "problems",
        COUNTER,
        "Unparsed places of the input, plus seconds with lost packets.",
        lambda m: m.stats.problems,
    ),
    _capture("not_understood_bytes", COUNTER, "Unparsed bytes of the input.", lambda m: m.stats.not_understood),
    _capture(
        "read_bytes", COUNTER, "Bytes read from the input files, before decompression.", lambda m: m.stats.bytes_read
    ),
    _capture("input_bytes", GAUGE, "Size of the input in bytes. Absent for endless input.", lambda m: m.total),
    _capture(
        "last_event_timestamp_seconds",
        GAUGE,
        "Time of the newest event.",
        lambda m: None if m.stats.last_ns is None else m.stats.last_ns / 1e9,
    ),
    _capture(
        "received_packets",
        COUNTER,
        "Packets that the kernel delivered to a live capture.",
        lambda m: m.described.get("packets_received"),
    ),
    _capture(
        "dropped_packets",
        COUNTER,
        "Lost packets of a live capture, by place of the loss (kernel, interface, ring).",
        _dropped,
        "by",
    ),
    COVERAGE,
)
NAMES = (BUILD, *REPLAY, *TARGET, *CAPTURE)


def run_values(live: "LiveRun") -> Iterator[Value]:
    """Yield the current values of a run and of its target."""
    return _values((*REPLAY, *TARGET), live.read())


def capture_values(live: "LiveCapture") -> Iterator[Value]:
    """Yield the current values of a capture."""
    return _values(CAPTURE, live.read())


def _values(names: Iterable[Name], moment: "Moment | CaptureMoment") -> Iterator[Value]:
    for name in names:
        found = name.read(moment)
        if isinstance(found, Mapping):
            yield from (Value(name.name, value, (label,)) for label, value in found.items())
        elif found is not None:
            yield Value(name.name, found)


def coverage_value(share: float) -> Value:
    """Return the coverage metric: the fraction of the executed statements that the log contains."""
    return Value(COVERAGE.name, share)
