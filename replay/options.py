# SPDX-License-Identifier: Apache-2.0
"""Holds the options of one replay. Times in nanoseconds."""

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
    """Everything that can be set; schemas/names.toml explains what the engine takes as it is.

    `output`: the run's folder, which must not exist. `reads_to`: a second target, with the same data, that answers
    reads outside transactions. `commit_order`: sessions wait for each other's commits, as on the tape.
    `stop_after_ns`: nothing is sent after this time of the run. `start_at_ns`: when, since 1970, the first event is
    due; None = as soon as all is ready. `init`: statements that every connection begins with. `slice_ns`: how often
    outcomes are written. `sample_ns`: how often the target's counters are kept; 0 = never. `summaries`: keep what
    Percona Toolkit says. `query_plans`: keep EXPLAIN of the costliest statements. `schema_facts`: keep what the tape's
    schemas are on the target. `host_metrics`: the target's machine as ssh://user@host, where it is another; its
    counters are kept as well.
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
        """What the engine takes as it is, by its names."""
        return {setting.name: getattr(self, setting.name) for setting in fields(EngineSettings)}

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
