# SPDX-License-Identifier: Apache-2.0
"""Decide in which blocks of time other programs disturbed one side more, from the rows of interference.sql.

What others took of the processors (and the hypervisor: stolen time) is compared block by block. A block in which they
took more beside B is left out of whatever says "slower"; one in which they took more beside A, of whatever says
"faster"; for "same" both are. The reverse is not: a slower server takes more of the processors itself, so that other
programs get less beside it, and that must not hide it.

Where no processor is left over, what others take is only what they get, and how much each statement waits is chance.
Then the processes that wait for a processor are compared as well, over a whole round; and where others took more than
half of a machine that was full (`crowded`), a change that all statements share may be theirs.

Where the target's process is not seen on one side (another machine without --host-metrics, a container), only stolen
time is known, and `seen` is false.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..rows import InterferenceRow
from .columns import BLOCKS, Flags

MAX_SHARE = 0.1  # of the processors: a greater difference of both sides disturbs a block
MIN_CPUS = 0.1
CROWD = 0.5  # of the processors, taken by others
NO_IDLE = 0.1  # of the processors: less than this is none
MORE_WAITING = 2.0  # processes
MAX_WAITING = 1.5  # times as many


@dataclass(frozen=True)
class Disturbance:
    """By place in time (shifts.py): `b_more`, `a_more`: other programs took more beside B, or beside A.

    `uneven`: either of them where that can't be the servers' own doing. `seen`: whether it can be told at all.
    `others`: what they took on average, in processors, by side; empty where that is not known. `queued`: how many
    processes asked for a processor on average, by side, in the rounds where their number tells; else empty.
    """

    b_more: Flags
    a_more: Flags
    uneven: Flags
    seen: bool
    others: dict[str, float] = field(default_factory=dict)
    cpus: int = 0
    blocks: int = 0  # that both sides have
    crowded: bool = False
    queued: dict[str, float] = field(default_factory=dict)

    @property
    def disturbed(self) -> bool:
        """Whether any block was."""
        return bool(self.b_more.any() or self.a_more.any())

    @property
    def tells(self) -> bool:
        """Whether a change that all statements share can be told from what other programs did."""
        return self.seen and not self.crowded

    @property
    def said(self) -> str:
        """What others took, in a few words; how many asked for it, where that is what tells."""
        if not self.others:
            return "the CPU use of other programs is unknown"
        a, b = self.others["a"], self.others["b"]
        if self.queued and (abs(b - a) <= _bound(self.cpus) or (b - a) * self._queued_more() < 0):
            side, other = ("b", "a") if self._queued_more() > 0 else ("a", "b")
            return (
                f"no CPU core was idle, and {self.queued[side]:.0f} other processes waited during {side.upper()}"
                f" ({other.upper()}: {self.queued[other]:.0f})"
            )
        if b >= a:
            return f"other programs used {b:.1f} of {self.cpus} cores during B (A: {a:.1f})"
        return f"other programs used {a:.1f} of {self.cpus} cores during A (B: {b:.1f})"

    def _queued_more(self) -> float:
        return self.queued["b"] - self.queued["a"] if self.queued else 0.0


CALM: Flags = np.zeros(1, np.bool_)
NONE, UNKNOWN = Disturbance(CALM, CALM, CALM, seen=True), Disturbance(CALM, CALM, CALM, seen=False)


def disturbance(rows: Sequence[InterferenceRow]) -> Disturbance:
    """Return where the sides were disturbed unequally. Without any samples nothing is known: UNKNOWN."""
    if not rows:
        return UNKNOWN
    size = BLOCKS * (1 + max(int(row["round"]) for row in rows))
    flags: list[Flags] = [np.zeros(size, np.bool_) for _ in range(3)]
    seen = {"a": False, "b": False}
    taken: dict[str, list[float]] = {"a": [], "b": []}
    sides: dict[tuple[str, int, int], dict[str, InterferenceRow]] = {}
    for row in rows:
        key = (str(row["machine"]), int(row["round"]), int(row["block"]))
        sides.setdefault(key, {})[str(row["run"])] = row
        if row["machine"] == "host" and row["others"] is not None:
            seen[str(row["run"])] = True
            taken[str(row["run"])].append(_took(row))
    waiting = _waiting(rows)
    for (machine, number, block), both in sides.items():
        if len(both) == 2:
            asked = waiting.get((machine, number))
            marks = _marks(both["a"], both["b"], 0 if asked is None else 1 if asked["b"] > asked["a"] else -1)
            for flag, mark in zip(flags, marks, strict=True):
                flag[number * BLOCKS + block] |= mark
    known = all(seen.values())
    host = [row for row in rows if row["machine"] == "host"]
    return Disturbance(
        b_more=flags[0],
        a_more=flags[1],
        uneven=flags[2],
        seen=known,
        others={side: float(np.mean(values)) for side, values in taken.items()} if known else {},
        cpus=int(max(row["cpus"] or 0 for row in rows)),
        blocks=len({key[1:] for key, both in sides.items() if len(both) == 2}),
        crowded=known and any(_crowded([row for row in host if row["run"] == side]) for side in seen),
        queued={side: float(np.mean([asked[side] for asked in waiting.values()])) for side in seen} if waiting else {},
    )


def _bound(cpus: float) -> float:
    """Return how many processors more, taken by others, disturb a block."""
    return max(MAX_SHARE * cpus, MIN_CPUS)


def _crowded(rows: Sequence[InterferenceRow]) -> bool:
    """Return whether others took most of a machine on which nothing was left over."""
    cpus = max(float(row["cpus"]) for row in rows)
    took, idle = np.mean([(_took(row), float(row["idle"] or 0)) for row in rows], axis=0)
    return bool(took > CROWD * cpus and idle < NO_IDLE * cpus)


def _took(row: InterferenceRow) -> float:
    """Return the processors that the target and the replayer could not have, as far as it is known."""
    return float(row["others"] or 0) + float(row["steal"] or 0)


def _marks(a: InterferenceRow, b: InterferenceRow, waiting: int) -> tuple[bool, bool, bool]:
    """Return whether others took more beside B, more beside A, and whether the servers can't have done that."""
    known = a["others"] is not None and b["others"] is not None
    more = _took(b) - _took(a) if known else float(b["steal"] or 0) - float(a["steal"] or 0)
    cpus = float(max(a["cpus"], b["cpus"]))
    bound = _bound(cpus)
    lesser = a if more > 0 else b
    b_more = more > bound or waiting > 0
    a_more = more < -bound or waiting < 0
    return b_more, a_more, bool(waiting) or (abs(more) > bound and float(lesser["idle"] or 0) > NO_IDLE * cpus)


def _waiting(rows: Sequence[InterferenceRow]) -> dict[tuple[str, int], dict[str, float]]:
    """Return how many processes asked for processors, by side, for each machine and round where that differs much.

    Only where none was idle: else what they took tells.
    """
    values: dict[tuple[str, int], dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        if row["waiting"] is not None:
            places = values.setdefault((str(row["machine"]), int(row["round"])), {"a": [], "b": []})
            places[str(row["run"])].append((float(row["waiting"]), float(row["idle"] or 0) / max(row["cpus"], 1)))
    found = {}
    for key, places in values.items():
        if not places["a"] or not places["b"]:
            continue
        (a, idle_a), (b, idle_b) = (np.mean(places[side], axis=0) for side in "ab")
        if max(idle_a, idle_b) < NO_IDLE and abs(b - a) > MORE_WAITING and max(a, b) > MAX_WAITING * min(a, b):
            found[key] = {"a": float(a), "b": float(b)}
    return found
