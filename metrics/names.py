# SPDX-License-Identifier: Apache-2.0
"""Names every metric, once: its kind, labels and help. docs/metrics.md and the Grafana board are held to this table.

Label values are few and known: classes, causes, error numbers, sides. None is a statement, digest, schema, user, host.
"""

from dataclasses import dataclass

from ..schemas.names import COUNTERS

COUNTER, GAUGE, HISTOGRAM, INFO = "counter", "gauge", "histogram", "info"


@dataclass(frozen=True)
class Name:
    """A metric. `name` has no _total, _bucket or _info: the formats add those."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The name as a query has it."""
        return self.name + {COUNTER: "_total", INFO: "_info", HISTOGRAM: "_bucket"}.get(self.kind, "")


BUILD = (Name("querytape_build", INFO, "The version of querytape.", ("version",)),)
REPLAY = (
    Name("querytape_replay_running", GAUGE, "1 from the run's zero to its last answer, 0 before and after."),
    Name("querytape_replay_planned_events", GAUGE, "Events that are to be sent."),
    Name(
        "querytape_replay_statements",
        COUNTER,
        "Events that were sent and have their answer or error, by class: read, write or other.",
        ("class",),
    ),
    Name(
        "querytape_replay_errors",
        COUNTER,
        "Events that failed, by the error's number; other: numbers after the first 256.",
        ("number",),
    ),
    Name("querytape_replay_waiting_events", GAUGE, "Events in queues: due later, overdue, or being answered."),
    Name("querytape_replay_queue_bytes", GAUGE, "Memory of waiting events (--queue-memory bounds it)."),
    Name("querytape_replay_schedule_position_seconds", GAUGE, "Time since the run's zero; absent before it."),
    Name(
        "querytape_replay_schedule_end_seconds",
        GAUGE,
        "When the last event that was fed is due, from the run's zero, at the speed of the plan.",
    ),
    Name(
        "querytape_replay_service_seconds",
        HISTOGRAM,
        "From sending to the end of the answer, by class: read, write or other.",
        ("class",),
    ),
    Name(
        "querytape_replay_lateness_seconds",
        HISTOGRAM,
        "Sent less due, of each event that was sent; nothing at --pace none.",
    ),
    Name(
        "querytape_replay_delay_seconds",
        HISTOGRAM,
        "The parts of the lateness by cause, of the events that each cause held back (tool: of all): session,"
        " order, connect, feeder or tool. Their sums add up to that of the lateness.",
        ("cause",),
    ),
    Name("querytape_replay_open_sessions", GAUGE, "Sessions that are connected now."),
    *(
        Name(f"querytape_replay_{counter.metric}", COUNTER, counter.help)
        for counter in COUNTERS.values()
        if counter.metric is not None
    ),
    Name("querytape_replay_order_wait_seconds", COUNTER, "Time of all waits for other sessions' commits."),
    Name("querytape_replay_engine_cpu_seconds", COUNTER, "CPU time of the replay engine's own threads."),
)
TARGET = (
    Name(
        "querytape_target_events",
        COUNTER,
        "Counters of SHOW GLOBAL STATUS of the target, as --sample reads them, by MySQL's own names.",
        ("variable",),
    ),
    Name(
        "querytape_target_state",
        GAUGE,
        "Values of SHOW GLOBAL STATUS of the target that go up and down, by MySQL's own names.",
        ("variable",),
    ),
)
CAPTURE = (
    Name("querytape_capture_running", GAUGE, "1 while the source is read, 0 after its last part."),
    Name("querytape_capture_events", COUNTER, "Events that were read."),
    Name("querytape_capture_sessions", COUNTER, "Sessions that were seen."),
    Name("querytape_capture_problems", COUNTER, "Places that were not understood, and seconds with lost packets."),
    Name("querytape_capture_not_understood_bytes", COUNTER, "Bytes that no event was made of."),
    Name("querytape_capture_read_bytes", COUNTER, "Bytes that were read, as the files have them."),
    Name("querytape_capture_input_bytes", GAUGE, "Bytes that there are to read; absent if the input has no end."),
    Name("querytape_capture_last_event_timestamp_seconds", GAUGE, "Time of the newest event."),
    Name("querytape_capture_received_packets", COUNTER, "Packets that the kernel gave; live captures alone."),
    Name(
        "querytape_capture_dropped_packets",
        COUNTER,
        "Packets that were lost, by who lost them: kernel, interface or ring; live captures alone.",
        ("by",),
    ),
    Name(
        "querytape_capture_coverage_ratio",
        GAUGE,
        "Of what the server executed, how much is in the log, 0 to 1: capture server, once the tape is made.",
    ),
)
NAMES = (*BUILD, *REPLAY, *TARGET, *CAPTURE)
BY_NAME = {each.name: each for each in NAMES}
