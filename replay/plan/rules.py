# SPDX-License-Identifier: Apache-2.0
"""Defines the rules of a plan (what may be sent, when, how often) and the plan itself."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import duck_path
from ...common.errors import InputError, OptionError
from ...schemas import DANGERS, Folder
from .catalog import Catalog
from .overrides import Overrides
from .pacing import Amplification, Pace
from .selection import Selection
from .windows import BASE_MEMORY, Measured

NARROW = ("session", "seq", "start_ns", "duration_ns", "command", "class", "actions", "flags", "db", "stmt", "errno")


@dataclass(frozen=True)
class Rules:
    """Everything that the plan depends on.

    `allowed`: kinds of dangerous statements (schemas.DANGERS) that are sent. `lead_ns`: sessions whose connect the tape
    did not see are opened this long before their first event. `commit_order`: sessions wait for each other's commits.
    `max_concurrent_sessions`: so many sessions at a time, one after the other; 0 = as on the tape.
    `split`: reads may go to a second target.
    """

    pace: Pace = field(default_factory=Pace)
    allow_writes: bool = False
    allowed: frozenset[str] = frozenset()
    lead_ns: int = 2_000_000_000
    selection: Selection = field(default_factory=Selection)
    amplification: Amplification = field(default_factory=Amplification)
    overrides: Overrides = field(default_factory=Overrides)
    commit_order: bool = False
    max_concurrent_sessions: int = 0
    split: bool = False

    def __post_init__(self) -> None:
        unknown = sorted(self.allowed - (DANGERS.keys() - {"none"}))
        if unknown:
            known = ", ".join(name for name in DANGERS if name != "none")
            raise OptionError(f"--allow-statement {unknown[0]}: expected one of {known}")
        if self.max_concurrent_sessions and (self.pace.paced or self.amplification.amplify > 1 or self.commit_order):
            raise InputError(
                "a limit of concurrent sessions requires --pace none, without --order commit and --amplify"
            )
        if self.selection.resume and self.amplification.total > 1:
            raise OptionError("--resume: a run with --amplify or --loop cannot be resumed")
        if self.commit_order and self.amplification.total > 1:
            raise InputError(
                "--order commit cannot be combined with --amplify or --loop, because copies of a session have no"
                " order on the tape"
            )


@dataclass
class Plan:
    """A planned tape. Times in nanoseconds: `zero_ns` since the epoch, the others from the run's zero.

    `events` are the tape's; `planned` and `reasons` count each of its copies. `round_ns`: how long the tape takes once.
    `collations`: what SET NAMES takes for those that the target knows, by id.
    `collations_unknown`: those of logins that the target does not know: id, character set, sessions.
    `gaps`: from when on the tape's time is put back by how much, for silent stretches that are cut. `measured`: the
    pieces of each file that was walked. `without_id`: INSERTs without an id, by digest (None: in texts of several
    statements); `ids_unknown`: those that the target will generate one for; `now_uncertain`: statements whose clock may
    be off by a second. `steps_known`: an INSERT's later ids follow from its first. `catalog`: the target's tables.
    `prepares_xa`: the tape has XA PREPARE.
    `order_notes`: what the order of commits rests on, where the tape does not know it.
    `piece`: which piece of a tape under way this is, 0 = what it had at the start. `planner`: the database that made
    the plan, where it is kept for the feed. `max_rows`: the most events in a window; None = chosen by their size.
    """

    tape: Folder
    rules: Rules
    spill: Path
    zero_ns: int = 0
    last_due_ns: int = 0
    round_ns: int = 0
    events: int = 0
    planned: int = 0
    sessions: int = 0
    peak_sessions: int = 0
    disordered: int = 0
    order_tables: int = 0
    piece: int = 0
    order_notes: list[str] = field(default_factory=list)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    without_id: Counter[str | None] = field(default_factory=Counter)
    ids_unknown: int = 0
    steps_known: bool = True
    prepares_xa: bool = False
    now_uncertain: int = 0
    schemas: dict[str, int] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    collations: Mapping[int, str] = field(default_factory=dict)
    collations_unknown: list[tuple[int, str | None, int]] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    files: tuple[Path, ...] = ()
    measured: dict[Path, Measured] = field(default_factory=dict)
    planner: duckdb.DuckDBPyConnection | None = None
    catalog: Catalog = field(default_factory=Catalog)
    max_rows: int | None = None

    def source(self) -> str:
        """Return an SQL table expression of all events of its files."""
        return self.tape.events_of([duck_path(file) for file in self.files])

    @property
    def memory_bytes(self) -> int:
        """What a database needs to walk the measured files: more where an event is large."""
        copies = self.rules.amplification.amplify
        return max((one.memory(copies) for one in self.measured.values()), default=BASE_MEMORY)

    @property
    def repaired(self) -> Path:
        """Events of sessions whose times ran backwards, with times that do not. Exists where there are any."""
        return self.spill / "repaired.parquet"

    @property
    def excluded_statements(self) -> Path:
        """Prepared statements whose PREPARE is not sent, and why. Exists where there are any."""
        return self.spill / "excluded_statements.parquet"

    @property
    def excluded_events(self) -> Path:
        """Single events that are not sent: KILLs without their victim, writes without an answer. Exists if any are."""
        return self.spill / "excluded_events.parquet"

    @property
    def transactions(self) -> Path:
        """The tape's transactions, where the rules need them."""
        return self.spill / "transactions.parquet"

    @property
    def companions(self) -> Path:
        """Commands that are selected with the EXECUTE they go with (companions.sql). Exists where there are any."""
        return self.spill / "companions.parquet"

    @property
    def victims(self) -> Path:
        """Statements that are taken for a deadlock's victims (victims.sql), and what is sent instead of those in XA.

        Exists where there are any.
        """
        return self.spill / "victims.parquet"

    @property
    def kills(self) -> Path:
        """Which connection each KILL names, where they may be sent. Exists where there are any."""
        return self.spill / "kills.parquet"

    @property
    def resumed(self) -> Path:
        """From which event each session of an interrupted run continues."""
        return self.spill / "resumed.parquet"

    @property
    def picks(self) -> Path:
        """Which events an earlier run or report says are worth sending again: session, seq."""
        return self.spill / "picks.parquet"

    @property
    def picked_sessions(self) -> Path:
        """The last of them in each session: session, last_seq."""
        return self.spill / "picked_sessions.parquet"

    @property
    def order(self) -> Path:
        """Which commits each event waits for, where the rules order them (commit_order.py)."""
        return self.spill / "order.parquet"

    @property
    def sorted_feed(self) -> Path:
        """All that is fed, by due time, where that differs from the tape's order."""
        return self.spill / "feed.parquet"

    @property
    def session_list(self) -> Path:
        """The sessions for the engine."""
        return self.spill / "sessions.parquet"

    def as_json(self) -> dict[str, Any]:
        """Return run.json's `plan`."""
        return {
            "planned": self.planned,
            "sessions": self.sessions,
            "peak_sessions": self.peak_sessions,
            "ids_unknown": self.ids_unknown,
            "now_uncertain": self.now_uncertain,
            "cut_idle_ns": self.gaps[-1][1] if self.gaps else 0,
            "order_notes": self.order_notes,
        }
