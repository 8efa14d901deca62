# SPDX-License-Identifier: Apache-2.0
"""Multiplies a tape: clones of each session at the same time, and the whole tape several times in a row."""

from dataclasses import dataclass
from typing import Any

from ...common.errors import OptionError

MAX_CLONES = 10_000


@dataclass(frozen=True)
class Amplification:
    """`amplify` sessions for each one of the tape, the further ones up to `shift_ns` later; `loop` times the tape.

    Clone number l * amplify + a is copy a of round l.
    """

    amplify: int = 1
    shift_ns: int = 1_000_000_000
    loop: int = 1

    def __post_init__(self) -> None:
        if self.amplify < 1 or self.loop < 1 or self.total > MAX_CLONES:
            raise OptionError(f"--amplify and --loop: expected 1 or more each, at most {MAX_CLONES:,} together")

    @property
    def total(self) -> int:
        """How often each event is sent."""
        return self.amplify * self.loop

    def shift_sql(self, round_ns: int) -> str:
        """Return how much later a clone is due, in terms of `session` and `clone`; the same each time."""
        spread = (
            f"('0x' || substr(md5(session::VARCHAR || '/' || clone::VARCHAR), 1, 12))::BIGINT % {max(self.shift_ns, 1)}"
        )
        shift = f"CASE WHEN clone % {self.amplify} = 0 THEN 0 ELSE {spread} END"
        return f"({shift} + clone // {self.amplify} * {round_ns}::BIGINT)"

    def as_json(self) -> dict[str, Any]:
        """Return what run.json keeps of it."""
        return {"amplify": self.amplify, "amplify_shift_ns": self.shift_ns, "loop": self.loop}
