# SPDX-License-Identifier: Apache-2.0
"""The options of one replay and what it came to. Times in nanoseconds."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..servers.target import Target
from .copies import Copies
from .forcing import Forcing
from .pacing import Pace
from .preflight import Permissions
from .rules import Rules
from .selection import Selection

READ_ONLY = "SET SESSION TRANSACTION READ ONLY"

Lost = Literal["end", "reopen", "stop"]
Overload = Literal["wait", "drop", "stop"]
LOST: dict[Lost, int] = {"end": 0, "reopen": 1, "stop": 2}  # enum qt_on_lost
OVERLOAD: dict[Overload, int] = {"wait": 0, "drop": 1, "stop": 2}  # enum qt_overload


@dataclass(frozen=True)
class Failures:
    """What is done when things go wrong.

    `on_lost`: a session whose connection is lost ends, is opened anew at its next transaction, or ends the run.
    `statement_timeout_ns`: then a statement is killed on the target; 0 = never. `max_errors`: the run ends with the
    error behind them; None = never. `overload`: the queue is full and events are overdue: wait, drop them, or end
    the run.
    `order_bound_ns`: a wait for another session's commit that nothing has moved for so long is broken.
    """

    on_lost: Lost = "end"
    statement_timeout_ns: int = 0
    max_errors: int | None = None
    overload: Overload = "wait"
    order_bound_ns: int = 2_000_000_000


@dataclass(frozen=True)
class ReplayOptions:
    """Everything that can be set.

    `lead_ns`: sessions whose connect the tape did not see are opened this long before their first event.
    `queue_bytes`: memory of events that wait to be sent. `slice_ns`: how often outcomes are written. `init`: statements
    that every connection begins with. `verify`: keep checksums of result rows.
    `at_once`: so many sessions at a time, without a pace; 0 = as on the tape. `stop_after_ns`: send nothing more then.
    `sample_ns`: how often the target's counters are kept; 0 = never. `start_at_ns`: when, since 1970, the
    first event is due; None = as soon as all is ready. `host_metrics`: the target's machine as ssh://user@host, where
    it is another; its counters are kept as well. `reads_to`: a second target, with the same data, that answers reads
    outside transactions.
    """

    target: Target
    output: Path
    reads_to: Target | None = None
    pace: Pace = field(default_factory=Pace)
    selection: Selection = field(default_factory=Selection)
    copies: Copies = field(default_factory=Copies)
    forcing: Forcing = field(default_factory=Forcing)
    failures: Failures = field(default_factory=Failures)
    commit_order: bool = False
    at_once: int = 0
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
    canaries: int = 0
    allow_writes: bool = False
    target_is_disposable: bool = False
    allow_statements: frozenset[str] = frozenset()
    partial_ok: bool = False
    slice_ns: int = 3_000_000_000
    sample_ns: int = 1_000_000_000
    summaries: bool = False
    plans: bool = True
    host_metrics: str | None = None

    def rules(self) -> Rules:
        """Return what concerns the plan. Raises InputError for an unknown name in `allow_statements`."""
        return Rules(
            self.pace,
            self.allow_writes,
            self.allow_statements,
            self.lead_ns,
            self.selection,
            self.copies,
            self.forcing,
            self.commit_order,
            self.at_once,
            self.reads_to is not None,
        )

    def permissions(self) -> Permissions:
        """Return what concerns the pre-flight."""
        return Permissions(self.target_is_disposable, self.partial_ok)

    @property
    def first_statements(self) -> str | None:
        """Return what every connection begins with, a statement a line: reads only is told to the server first."""
        parts = [*(() if self.allow_writes else (READ_ONLY,)), *(" ".join(text.split("\n")) for text in self.init)]
        return "\n".join(parts) or None

    def as_json(self) -> dict[str, Any]:
        """Return run.json's `parameters`."""
        return {
            **self.pace.as_json(),
            "selection": self.selection.as_json(),
            **self.copies.as_json(),
            **self.forcing.as_json(),
            **asdict(self.failures),
            "order": "commit" if self.commit_order else "time",
            "verify": self.verify,
            "at_once": self.at_once,
            "stop_after_ns": self.stop_after_ns,
            "start_at_ns": self.start_at_ns,
            "charset": self.charset,
            "drain_ns": self.drain_ns,
            "lead_ns": self.lead_ns,
            "connect_rate": self.connect_rate,
            "connect_timeout_s": self.connect_timeout_s,
            "queue_bytes": self.queue_bytes,
            "canaries": self.canaries,
            "sample_ns": self.sample_ns,
            "host_metrics": self.host_metrics,
            "allow_writes": self.allow_writes,
            "target_is_disposable": self.target_is_disposable,
            "allow_statements": sorted(self.allow_statements),
            "partial_ok": self.partial_ok,
            "init": self.first_statements,
            "reads_to": self.reads_to.name if self.reads_to else None,
        }


@dataclass(frozen=True)
class RunSummary:
    """A finished run: what run.json says, and the errors by number."""

    path: Path
    info: dict[str, Any]
    late_p50_ns: int | None = None
    late_p99_ns: int | None = None
    errors: dict[int, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether it ran to its end and the accounting balances."""
        return self.info["partial"] is None and bool(self.info["accounting"]["balanced"])
