# SPDX-License-Identifier: Apache-2.0
"""Names every metric, once: its kind, labels and help. docs/metrics.md and the Grafana board are held to this table.

Label values are few and known: classes, causes, error numbers, sides. None is a statement, digest, schema, user, host.
"""

from dataclasses import dataclass

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
    Name("querytape_replay_fed_events", COUNTER, "Events that were given to their sessions, which wait until due."),
    Name(
        "querytape_replay_statements",
        COUNTER,
        "Events that were sent and have their answer or error, by class: read, write or other.",
        ("class",),
    ),
    Name("querytape_replay_not_sent_events", COUNTER, "Events that were given to their sessions and not sent."),
    Name(
        "querytape_replay_errors",
        COUNTER,
        "Events that failed, by the error's number; other: further numbers behind 256 different ones.",
        ("number",),
    ),
    Name("querytape_replay_injected_commands", COUNTER, "Commands that were sent besides the tape's own."),
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
    Name("querytape_replay_sessions_opened", COUNTER, "Sessions that were connected; each counts once."),
    Name("querytape_replay_sessions_failed", COUNTER, "Sessions that could not be connected."),
    Name("querytape_replay_sessions_lost", COUNTER, "Connections that were lost."),
    Name("querytape_replay_sessions_reopened", COUNTER, "Connections that were opened again (--on-lost reopen)."),
    Name("querytape_replay_sessions_rested", COUNTER, "Connections closed because of silence (--follow)."),
    Name("querytape_replay_statement_timeouts", COUNTER, "Statements killed after --statement-timeout."),
    Name("querytape_replay_overload_waits", COUNTER, "How often the queue was full while events were overdue."),
    Name("querytape_replay_overload_dropped_events", COUNTER, "Events dropped for that (--overload drop)."),
    Name("querytape_replay_drain_cut_events", COUNTER, "Events cut off without an answer at the end of --drain."),
    Name("querytape_replay_not_permitted_events", COUNTER, "Events whose text does more than may be sent."),
    Name("querytape_replay_order_waits", COUNTER, "Events that waited for other sessions' commits."),
    Name("querytape_replay_order_broken", COUNTER, "Such waits that --order-bound ended."),
    Name("querytape_replay_order_wait_seconds", COUNTER, "All such waits together."),
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
    Name("querytape_capture_input_bytes", GAUGE, "Bytes that there are to read; absent where there is no end."),
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
