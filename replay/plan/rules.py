# SPDX-License-Identifier: Apache-2.0
"""Define the rules of a plan (which events may be sent, when, how often) and the plan itself."""

from collections import Counter
from collections.abc import Mapping, Set
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
from .table_uses import TableUse
from .windows import BASE_MEMORY, Measured

NARROW = ("session", "seq", "start_ns", "duration_ns", "command", "class", "actions", "flags", "db", "stmt", "errno")


@dataclass(frozen=True)
class Rules:
    """All inputs of a plan, except the tape.

    - `allowed`: kinds of dangerous statements (schemas.DANGERS) that are sent.
    - `lead_ns`: how long sessions are opened before their first event, if the tape does not show their connect.
    - `commit_order`: sessions wait for each other's commits.
    - `max_concurrent_sessions`: how many sessions run at once; 0 means as on the tape.
    - `split`: reads may go to a second target.
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
                "max_concurrent_sessions requires --pace none, and cannot be combined with --order commit or --amplify"
            )
        if self.selection.resume and self.amplification.total > 1:
            raise OptionError("--resume: a run with --amplify or --loop cannot be resumed")
        if self.commit_order and self.amplification.total > 1:
            raise InputError(
                "--order commit cannot be combined with --amplify or --loop, because the tape has no order for"
                " copies of a session"
            )


@dataclass
class Plan:
    """A planned tape. Times are in nanoseconds: `zero_ns` since the epoch, all others since the zero time of the run.

    - `events`: events of the tape. `planned` and `reasons` count each copy of an event.
    - `round_ns`: duration of one round of the tape.
    - `collations`: the target's collations by id, as arguments of SET NAMES.
    - `collations_unknown`: login collations that the target lacks: id, character set, number of sessions.
    - `gaps`: silent stretches that were cut: start time, and the total time cut up to this start.
    - `measured`: the pieces of each file that was read.
    - `without_id`: number of INSERTs without an id, by digest. The key None: INSERTs in texts of several statements.
    - `ids_unknown`: number of INSERTs for which the target will generate an id.
    - `now_uncertain`: number of statements whose clock may be wrong by a second.
    - `steps_known`: whether the first id of an INSERT determines its later ids.
    - `catalog`: the target's tables.
    - `prepares_xa`: whether the tape has XA PREPARE.
    - `resumed_info`: run.json of the interrupted run whose events are sent, if there is one.
    - `created_schemas`: the schemas that the tape creates, in lower case. Empty if no DDL is sent.
    - `order_notes`: assumptions of the commit order that the tape does not confirm.
    - `table_uses`: the tables of the sent events. None if nobody needs them.
    - `piece`: number of the piece of a followed tape; 0 is the piece at the start.
    - `planner`: the database that made the plan, if it is kept for the feed.
    - `max_rows`: the largest number of events in a window. None means that only the size limits a window.
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
    table_uses: list[TableUse] | None = None
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    without_id: Counter[str | None] = field(default_factory=Counter)
    ids_unknown: int = 0
    steps_known: bool = True
    prepares_xa: bool = False
    resumed_info: Mapping[str, Any] | None = None
    created_schemas: Set[str] = frozenset()
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
        """Return an SQL table expression of all events in the plan's files."""
        return self.tape.events_of([duck_path(file) for file in self.files])

    @property
    def memory_bytes(self) -> int:
        """The memory that a database needs to read the measured files. Large events need more."""
        copies = self.rules.amplification.amplify
        return max((one.memory(copies) for one in self.measured.values()), default=BASE_MEMORY)

    @property
    def repaired(self) -> Path:
        """Events of sessions whose times ran backwards, with corrected times.

        The file exists if there are such events.
        """
        return self.spill / "repaired.parquet"

    @property
    def excluded_statements(self) -> Path:
        """Prepared statements whose PREPARE is not sent, with the reason.

        The file exists if there are such statements.
        """
        return self.spill / "excluded_statements.parquet"

    @property
    def excluded_events(self) -> Path:
        """Single events that are not sent: KILLs without their victim, writes without an answer.

        The file exists if there are such events.
        """
        return self.spill / "excluded_events.parquet"

    @property
    def transactions(self) -> Path:
        """The tape's transactions, if the rules need them."""
        return self.spill / "transactions.parquet"

    @property
    def companions(self) -> Path:
        """Commands that are selected together with their EXECUTE (companions.sql).

        The file exists if there are such commands.
        """
        return self.spill / "companions.parquet"

    @property
    def victims(self) -> Path:
        """Statements that are treated as deadlock victims (victims.sql).

        For XA victims, the file also contains the statements that are sent instead. It exists if there are victims.
        """
        return self.spill / "victims.parquet"

    @property
    def kills(self) -> Path:
        """The connection that each KILL names, if KILLs may be sent. The file exists if there are KILLs."""
        return self.spill / "kills.parquet"

    @property
    def resumed(self) -> Path:
        """The event from which each session of an interrupted run continues."""
        return self.spill / "resumed.parquet"

    @property
    def picks(self) -> Path:
        """The events that an earlier run or report marks for sending again: session, seq."""
        return self.spill / "picks.parquet"

    @property
    def picked_sessions(self) -> Path:
        """The last event of each session that is marked for sending again: session, last_seq."""
        return self.spill / "picked_sessions.parquet"

    @property
    def order(self) -> Path:
        """The commits that each event waits for, if the rules order commits (commit_order.py)."""
        return self.spill / "order.parquet"

    @property
    def sorted_feed(self) -> Path:
        """All fed events sorted by due time. Exists if this order differs from the order of the tape."""
        return self.spill / "feed.parquet"

    @property
    def session_list(self) -> Path:
        """The sessions for the engine."""
        return self.spill / "sessions.parquet"

    def as_json(self) -> dict[str, Any]:
        """Return `plan` of run.json."""
        return {
            "planned": self.planned,
            "sessions": self.sessions,
            "peak_sessions": self.peak_sessions,
            "ids_unknown": self.ids_unknown,
            "now_uncertain": self.now_uncertain,
            "cut_idle_ns": self.gaps[-1][1] if self.gaps else 0,
            "order_notes": self.order_notes,
        }
