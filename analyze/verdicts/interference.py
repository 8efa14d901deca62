# SPDX-License-Identifier: Apache-2.0
"""Find the blocks of time in which other programs disturbed one side more, from the rows of interference.sql.

The CPU use of other programs (including stolen time of the hypervisor) is compared block by block. A block with more
use by others during B cannot support "slower". A block with more use during A cannot support "faster". If the servers
cannot have caused the different CPU use, blocks of neither kind can support "same". Less use by others during B does
not exclude a block, because a slower server leaves less CPU to other programs. Such an exclusion would hide the
slowdown.

If no CPU is idle, other programs use only the CPU that they get, and waiting times are random. The number of processes
that wait for a CPU is then compared as well, over a whole round. If others used more than half of such a full machine
(`crowded`), they may have caused a change that all statements share.

The target's process may be invisible on one side, because it runs in a container, or on another machine without
--host-metrics. Then only stolen time is known and `seen` is false.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..rows import InterferenceRow
from .columns import BLOCKS, Flags

MAX_SHARE = 0.1  # share of the CPUs; a larger difference between the sides disturbs a block
MIN_CPUS = 0.1
CROWD = 0.5  # share of the CPUs; a machine with more use by others is crowded
NO_IDLE = 0.1  # share of the CPUs; a smaller idle share counts as zero
MORE_WAITING = 2.0  # minimum difference in the number of waiting processes
MAX_WAITING = 1.5  # minimum ratio of the sides' numbers of waiting processes


@dataclass(frozen=True)
class Disturbance:
    """Blocks of time that other programs disturbed, by position in time (columns.py).

    `b_more`: others used more CPU during B. `a_more`: others used more CPU during A. `uneven`: the blocks of both kinds
    whose difference the servers cannot have caused. `seen`: whether the use by others is known.

    `others`: CPUs that others used on average, by side. Empty if unknown. `queued`: average number of processes that
    asked for a CPU, by side. Only rounds with a clear difference count, and without such rounds `queued` is empty.
    """

    b_more: Flags
    a_more: Flags
    uneven: Flags
    seen: bool
    others: dict[str, float] = field(default_factory=dict)
    cpus: int = 0
    blocks: int = 0  # number of blocks with samples of both sides
    crowded: bool = False
    queued: dict[str, float] = field(default_factory=dict)

    @property
    def disturbed(self) -> bool:
        """Return whether any block was disturbed."""
        return bool(self.b_more.any() or self.a_more.any())

    @property
    def tells(self) -> bool:
        """Return whether a change that all statements share can be separated from the effect of other programs."""
        return self.seen and not self.crowded

    @property
    def said(self) -> str:
        """A phrase on the CPU use of other programs, or on waiting processes if their number is the clearer sign."""
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
    """Return the blocks that were disturbed on one side. Without samples the result is UNKNOWN."""
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
    """Return how many additional CPUs other programs must use to disturb a block."""
    return max(MAX_SHARE * cpus, MIN_CPUS)


def _crowded(rows: Sequence[InterferenceRow]) -> bool:
    """Return whether others used most of a machine without idle CPUs."""
    cpus = max(float(row["cpus"]) for row in rows)
    took, idle = np.mean([(_took(row), float(row["idle"] or 0)) for row in rows], axis=0)
    return bool(took > CROWD * cpus and idle < NO_IDLE * cpus)


def _took(row: InterferenceRow) -> float:
    """Return the CPUs that were not available to the target and the replayer, as far as known."""
    return float(row["others"] or 0) + float(row["steal"] or 0)


def _marks(a: InterferenceRow, b: InterferenceRow, waiting: int) -> tuple[bool, bool, bool]:
    """Return three flags: others used more CPU during B, more during A, and the servers cannot have caused this."""
    known = a["others"] is not None and b["others"] is not None
    more = _took(b) - _took(a) if known else float(b["steal"] or 0) - float(a["steal"] or 0)
    cpus = float(max(a["cpus"], b["cpus"]))
    bound = _bound(cpus)
    lesser = a if more > 0 else b
    b_more = more > bound or waiting > 0
    a_more = more < -bound or waiting < 0
    return b_more, a_more, bool(waiting) or (abs(more) > bound and float(lesser["idle"] or 0) > NO_IDLE * cpus)


def _waiting(rows: Sequence[InterferenceRow]) -> dict[tuple[str, int], dict[str, float]]:
    """Return the number of processes that asked for CPUs, by side, for each (machine, round) with a clear difference.

    Rounds with idle CPUs are left out, because their CPU use is the better measure.
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
