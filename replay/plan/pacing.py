# SPDX-License-Identifier: Apache-2.0
"""Compute the due time of an event, as a pure function in integer nanoseconds and as equivalent SQL.

A speed is an exact fraction: 1.5 is 3/2. Half speed doubles every offset. This module reads no clock. An amplified tape
has clones of each session at the same time, or is sent several times in a row.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...common.errors import OptionError
from ...schemas.names import PaceKind

# Limit for numerator and denominator of a speed. Products with 64-bit offsets then fit DuckDB's HUGEINT.
MAX_TERM = 10**9
MAX_NS = 2**63 - 1
MAX_CLONES = 10_000


@dataclass(frozen=True)
class Pace:
    """The rule that converts times of the tape to times of the replay. Times are in nanoseconds.

    - `schedule`: every event at its time (open loop).
    - `think`: wait as long after the previous answer as on the tape (closed loop).
    - `none`: as fast as sessions allow.
    - `connect_speed`: scales the start times of sessions. None means `speed`.
    - `think_speed`: scales the times inside sessions. None means `speed`.
    - `max_idle_ns`: stretches without any active session are cut to this length.
    - `ramp_ns`: the speed rises from 0 to its full value in this time.
    """

    kind: PaceKind = "schedule"
    speed: Fraction = Fraction(1)
    connect_speed: Fraction | None = None
    think_speed: Fraction | None = None
    max_idle_ns: int | None = None
    ramp_ns: int = 0

    @classmethod
    def of(cls, speed: Fraction | None) -> "Pace":
        """Return a schedule at one speed. None gives the pace `none`."""
        return cls("none") if speed is None else cls(speed=speed)

    @property
    def paced(self) -> bool:
        """Whether events have due times."""
        return self.kind != "none"

    @property
    def scales_separately(self) -> bool:
        """Whether connects and events inside sessions have different speed factors."""
        return (self.connect_speed or self.speed) != (self.think_speed or self.speed)

    def due_sql(self, zero_ns: int) -> str:
        """Return an SQL expression for the due time, relative to the zero time of the run.

        The expression uses `start_ns` and the session's `base_ns`.
        """
        think = self.think_speed or self.speed
        if self.scales_separately:
            begin = f"greatest(base_ns - {zero_ns}::BIGINT, 0)"
            inside = "greatest(start_ns - base_ns, 0)"
            due = f"({due_sql(begin, self.connect_speed or self.speed)} + {due_sql(inside, think)})"
        else:
            due = due_sql(f"greatest(start_ns - {zero_ns}::BIGINT, 0)", think)
        if not self.ramp_ns:
            return due
        # The speed grows linearly during the ramp of length R. After t < R, t^2 / 2R of the plan is done. After the
        # ramp, all due times are R/2 later.
        half = self.ramp_ns // 2
        return (
            f"list_transform([{due}], lambda x: CASE WHEN x < {half} THEN sqrt(2.0 * {self.ramp_ns} * x)::BIGINT"
            f" ELSE x + {half} END)[1]"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the pace as fields of run.json."""
        return {
            "pace": self.kind,
            "speed": speed_text(self.speed) if self.paced else "max",
            "connect_speed": speed_text(self.connect_speed) if self.connect_speed else None,
            "think_speed": speed_text(self.think_speed) if self.think_speed else None,
            "max_idle_ns": self.max_idle_ns,
            "ramp_ns": self.ramp_ns,
        }


def parse_speed(text: str) -> Fraction:
    """Return a speed as an exact fraction (`1`, `0.5`, `3/2`). Raises OptionError."""
    try:
        speed = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"--speed: expected a number such as 1, 0.5 or 3/2, found {text!r}") from None
    if speed <= 0 or max(speed.numerator, speed.denominator) > MAX_TERM:
        raise OptionError(f"--speed: expected a number above 0 with at most nine digits, found {text!r}")
    return speed


def speed_text(speed: Fraction) -> str:
    """Return a speed in its usual notation: `1`, `0.5`, `1/3`."""
    decimal = f"{float(speed):g}"
    return decimal if Fraction(decimal) == speed else str(speed)


def due_ns(offset_ns: int, speed: Fraction) -> int:
    """Return the due time of an event `offset_ns` (>= 0) after the tape's first event, rounded down.

    Raises OverflowError if the result exceeds 2^63 - 1 ns (292 years).
    """
    if offset_ns < 0:
        raise ValueError(f"offset_ns: expected 0 or more, found {offset_ns}")
    due = offset_ns * speed.denominator // speed.numerator
    if due > MAX_NS:
        raise OverflowError(f"an event would be due after {due} ns, which exceeds a 64-bit clock")
    return due


def due_sql(offset: str, speed: Fraction) -> str:
    """Return an SQL expression that computes `due_ns`. DuckDB raises an error on overflow."""
    return f"CAST(({offset})::HUGEINT * {speed.denominator} // {speed.numerator} AS BIGINT)"


@dataclass(frozen=True)
class Amplification:
    """Copies of a tape: `amplify` copies of each session, and `loop` rounds of the tape.

    The copies start up to `shift_ns` later. Clone number l * amplify + a is copy a of round l.
    """

    amplify: int = 1
    shift_ns: int = 1_000_000_000
    loop: int = 1

    def __post_init__(self) -> None:
        if self.amplify < 1 or self.loop < 1 or self.total > MAX_CLONES:
            raise OptionError(
                f"--amplify and --loop: expected at least 1 each, and a product of at most {MAX_CLONES:,}"
            )

    @property
    def total(self) -> int:
        """How many times each event is sent."""
        return self.amplify * self.loop

    def shift_sql(self, round_ns: int) -> str:
        """Return an SQL expression for the delay of a clone.

        The expression uses `session` and `clone`. The delay is the same on each replay.
        """
        spread = (
            f"('0x' || substr(md5(session::VARCHAR || '/' || clone::VARCHAR), 1, 12))::BIGINT % {max(self.shift_ns, 1)}"
        )
        shift = f"CASE WHEN clone % {self.amplify} = 0 THEN 0 ELSE {spread} END"
        return f"({shift} + clone // {self.amplify} * {round_ns}::BIGINT)"

    def as_json(self) -> dict[str, Any]:
        """Return the amplification as fields of run.json."""
        return {"amplify": self.amplify, "amplify_shift_ns": self.shift_ns, "loop": self.loop}
