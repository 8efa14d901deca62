# SPDX-License-Identifier: Apache-2.0
"""Holds the options of one replay. Times in nanoseconds."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..servers.target import Target
from .plan.amplify import Amplification
from .plan.overrides import STEPS, Overrides
from .plan.pacing import Pace
from .plan.rules import Rules
from .plan.selection import Selection

READ_ONLY = "SET SESSION TRANSACTION READ ONLY"

Lost = Literal["end", "reopen", "stop"]
Overload = Literal["wait", "drop", "stop"]
LOST: dict[Lost, int] = {"end": 0, "reopen": 1, "stop": 2}  # enum qt_on_lost
OVERLOAD: dict[Overload, int] = {"wait": 0, "drop": 1, "stop": 2}  # enum qt_overload


@dataclass(frozen=True)
class Failures:
    """What the engine does about failures; the engine's options of the same names (native/querytape_engine.h).

    `on_lost`: a session whose connection is lost ends, is reopened at its next transaction, or ends the run.
    `statement_timeout_ns`: a statement that takes longer is killed on the target; 0 = never. `max_errors`: one error
    more ends the run; None = never. `overload`: what to do when the queue is full and events are overdue: wait, drop
    them, or end the run. `order_bound_ns`: a wait for another session's commit in which nothing has moved for so long
    is broken.
    """

    on_lost: Lost = "end"
    statement_timeout_ns: int = 0
    max_errors: int | None = None
    overload: Overload = "wait"
    order_bound_ns: int = 2_000_000_000


@dataclass(frozen=True)
class Permissions:
    """What the user allows the checks to let pass."""

    target_is_disposable: bool = False
    partial_ok: bool = False


@dataclass(frozen=True)
class ReplayOptions:
    """Everything that can be set.

    `output`: the run's folder, which must not exist. `reads_to`: a second target, with the same data, that answers
    reads outside transactions. `commit_order`: sessions wait for each other's commits, as on the tape.
    `max_concurrent_sessions`: so many sessions at a time, without a pace; 0 = as on the tape. `stop_after_ns`: nothing
    is sent after this time of the run. `verify`: keep checksums of result rows. `start_at_ns`: when, since 1970, the
    first event is due; None = as soon as all is ready. `init`: statements that every connection begins with.
    `drain_ns`: how long the last answers are waited for. `lead_ns`: sessions whose connect the tape did not see are
    opened this long before their first event. `queue_bytes`: memory of events that wait to be sent. `timer_probes`:
    threads that measure how late this machine wakes them. `slice_ns`: how often outcomes are written. `sample_ns`: how
    often the target's counters are kept; 0 = never. `summaries`: keep what Percona Toolkit says. `query_plans`: keep
    EXPLAIN of the costliest statements. `schema_facts`: keep what the tape's schemas are on the target. `host_metrics`:
    the target's machine as ssh://user@host, where it is another; its counters are kept as well.
    """

    target: Target
    output: Path
    reads_to: Target | None = None
    pace: Pace = field(default_factory=Pace)
    selection: Selection = field(default_factory=Selection)
    amplification: Amplification = field(default_factory=Amplification)
    overrides: Overrides = field(default_factory=Overrides)
    failures: Failures = field(default_factory=Failures)
    commit_order: bool = False
    max_concurrent_sessions: int = 0
    stop_after_ns: int | None = None
    verify: bool = False
    start_at_ns: int | None = None
    init: tuple[str, ...] = ()
    charset: str = "utf8mb4"
    drain_ns: int = 60_000_000_000
    lead_ns: int = 2_000_000_000
    connect_rate: int = 500
    connect_timeout_s: int = 20
    queue_bytes: int = 256 << 20
    timer_probes: int = 0
    allow_writes: bool = False
    target_is_disposable: bool = False
    allow_statements: frozenset[str] = frozenset()
    partial_ok: bool = False
    slice_ns: int = 3_000_000_000
    sample_ns: int = 1_000_000_000
    summaries: bool = False
    query_plans: bool = True
    schema_facts: bool = True
    host_metrics: str | None = None

    def rules(self) -> Rules:
        """Return what concerns the plan. Raises InputError for an unknown name in `allow_statements`."""
        return Rules(
            pace=self.pace,
            allow_writes=self.allow_writes,
            allowed=self.allow_statements,
            lead_ns=self.lead_ns,
            selection=self.selection,
            amplification=self.amplification,
            overrides=self.overrides,
            commit_order=self.commit_order,
            max_concurrent_sessions=self.max_concurrent_sessions,
            split=self.reads_to is not None,
        )

    def permissions(self) -> Permissions:
        """Return what concerns the pre-flight."""
        return Permissions(self.target_is_disposable, self.partial_ok)

    @property
    def first_statements(self) -> str | None:
        """Return what every connection begins with, a statement a line: reads only is told to the server first."""
        parts = [*(() if self.allow_writes else (READ_ONLY,)), *(" ".join(text.split("\n")) for text in self.init)]
        return "\n".join(parts) or None

    def with_steps(self, source: tuple[int, int] | None, target: tuple[int, int] | None) -> "ReplayOptions":
        """Return options whose sessions number the rows of an INSERT as the source does, where the target does not.

        `source`, `target`: increment and offset of each; None = not known.
        """
        if not self.overrides.ids or source is None or source == target:
            return self
        steps = ", ".join(f"SESSION {name} = {value}" for name, value in zip(STEPS, source, strict=True))
        return replace(self, init=(f"SET {steps}", *self.init))

    def as_json(self) -> dict[str, Any]:
        """Return run.json's `parameters`."""
        return {
            **self.pace.as_json(),
            "selection": self.selection.as_json(),
            **self.amplification.as_json(),
            **self.overrides.as_json(),
            **asdict(self.failures),
            "order": "commit" if self.commit_order else "time",
            "verify": self.verify,
            "max_concurrent_sessions": self.max_concurrent_sessions,
            "stop_after_ns": self.stop_after_ns,
            "start_at_ns": self.start_at_ns,
            "charset": self.charset,
            "drain_ns": self.drain_ns,
            "lead_ns": self.lead_ns,
            "connect_rate": self.connect_rate,
            "connect_timeout_s": self.connect_timeout_s,
            "queue_bytes": self.queue_bytes,
            "timer_probes": self.timer_probes,
            "sample_ns": self.sample_ns,
            "host_metrics": self.host_metrics,
            "allow_writes": self.allow_writes,
            "target_is_disposable": self.target_is_disposable,
            "allow_statements": sorted(self.allow_statements),
            "partial_ok": self.partial_ok,
            "init": self.first_statements,
            "reads_to": self.reads_to.name if self.reads_to else None,
        }
