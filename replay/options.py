# SPDX-License-Identifier: Apache-2.0
"""The options of one replay and what it came to. Times in nanoseconds."""

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..servers.target import Target
from .pacing import speed_text
from .plan import Rules
from .preflight import Permissions

READ_ONLY = "SET SESSION TRANSACTION READ ONLY"


@dataclass(frozen=True)
class ReplayOptions:
    """Everything that can be set. `speed` is an exact factor, None = as fast as it goes.

    `lead_ns`: sessions whose connect the tape did not see are opened this long before their first event.
    `queue_bytes`: memory of events that wait to be sent. `slice_ns`: how often outcomes are written.
    """

    target: Target
    output: Path
    speed: Fraction | None = Fraction(1)
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

    def rules(self) -> Rules:
        """Return what concerns the plan. Raises InputError for an unknown name in `allow_statements`."""
        return Rules(self.speed, self.allow_writes, self.allow_statements, self.lead_ns)

    def permissions(self) -> Permissions:
        """Return what concerns the pre-flight."""
        return Permissions(self.target_is_disposable, self.partial_ok)

    @property
    def init(self) -> str | None:
        """Return the statement that every connection begins with."""
        return None if self.allow_writes else READ_ONLY

    def as_json(self) -> dict[str, Any]:
        """Return run.json's `parameters`."""
        return {
            "speed": speed_text(self.speed),
            "charset": self.charset,
            "drain_ns": self.drain_ns,
            "lead_ns": self.lead_ns,
            "connect_rate": self.connect_rate,
            "connect_timeout_s": self.connect_timeout_s,
            "queue_bytes": self.queue_bytes,
            "canaries": self.canaries,
            "allow_writes": self.allow_writes,
            "target_is_disposable": self.target_is_disposable,
            "allow_statements": sorted(self.allow_statements),
            "partial_ok": self.partial_ok,
            "init": self.init,
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
