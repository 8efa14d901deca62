# SPDX-License-Identifier: Apache-2.0
"""Options of one replay. Times are in nanoseconds."""

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..schemas.names import EngineSettings
from ..servers.target import Target
from .plan.overrides import STEPS, Overrides
from .plan.pacing import Amplification, Pace
from .plan.rules import Rules
from .plan.selection import Selection

READ_ONLY = "SET SESSION TRANSACTION READ ONLY"


@dataclass(frozen=True)
class ReplayOptions(EngineSettings):
    """All options of a replay. Options that the engine uses directly are inherited. schemas/names.toml explains them.

    - `output`: the run's folder, which must not exist.
    - `reads_to`: a second target with the same data, which gets the reads outside transactions.
    - `commit_order`: sessions wait for each other's commits, as on the tape.
    - `stop_after_ns`: no events are sent after this time of the run.
    - `start_at_ns`: when the first event is due, since 1970; None means as soon as possible.
    - `init`: statements at the start of every connection.
    - `slice_ns`: interval between two writes of outcomes.
    - `sample_ns`: interval between two samples of the target's counters; 0 means never.
    - `summaries`: keep the reports of Percona Toolkit.
    - `query_plans`: keep EXPLAIN of the costliest statements.
    - `schema_facts`: keep properties of the tape's schemas on the target.
    - `host_metrics`: the target's machine as ssh://user@host, if it is remote. Its counters are also sampled.
    """

    target: Target
    output: Path
    reads_to: Target | None = None
    pace: Pace = field(default_factory=Pace)
    selection: Selection = field(default_factory=Selection)
    amplification: Amplification = field(default_factory=Amplification)
    overrides: Overrides = field(default_factory=Overrides)
    commit_order: bool = False
    stop_after_ns: int | None = None
    start_at_ns: int | None = None
    init: tuple[str, ...] = ()
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

    @property
    def engine_settings(self) -> dict[str, Any]:
        """The options that the engine uses directly, by their names in the engine."""
        return {setting.name: getattr(self, setting.name) for setting in fields(EngineSettings)}

    def rules(self) -> Rules:
        """Return the options that affect the plan. Raises InputError for an unknown name in `allow_statements`."""
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

    @property
    def first_statements(self) -> str | None:
        """Return the statements at the start of every connection, one per line.

        Without writes, the first statement makes the session read-only.
        """
        parts = [*(() if self.allow_writes else (READ_ONLY,)), *(" ".join(text.split("\n")) for text in self.init)]
        return "\n".join(parts) or None

    def with_steps(self, source: tuple[int, int] | None, target: tuple[int, int] | None) -> "ReplayOptions":
        """Return options with which sessions generate ids with the source's steps. Used if the target's steps differ.

        `source`, `target`: auto_increment_increment and auto_increment_offset of each server. None means unknown.
        """
        if not self.overrides.ids or source is None or source == target:
            return self
        steps = ", ".join(f"SESSION {name} = {value}" for name, value in zip(STEPS, source, strict=True))
        return replace(self, init=(f"SET {steps}", *self.init))

    def as_json(self) -> dict[str, Any]:
        """Return `parameters` of run.json."""
        return {
            **self.pace.as_json(),
            "selection": self.selection.as_json(),
            **self.amplification.as_json(),
            **self.overrides.as_json(),
            **self.engine_settings,
            "order": "commit" if self.commit_order else "time",
            "stop_after_ns": self.stop_after_ns,
            "start_at_ns": self.start_at_ns,
            "sample_ns": self.sample_ns,
            "host_metrics": self.host_metrics,
            "allow_writes": self.allow_writes,
            "target_is_disposable": self.target_is_disposable,
            "allow_statements": sorted(self.allow_statements),
            "partial_ok": self.partial_ok,
            "init": self.first_statements,
            "reads_to": self.reads_to.name if self.reads_to else None,
        }
