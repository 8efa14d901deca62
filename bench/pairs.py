# SPDX-License-Identifier: Apache-2.0
"""Runs the two sides of a pair in turn (ours, peer, peer, ours, ...), so that other load affects both sides equally."""

import os
import subprocess
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

Figures = dict[str, float]


class MissingError(Exception):
    """Raised if the machine lacks a requirement of the bench. The message names the requirement."""


@dataclass(frozen=True)
class Side:
    """One side of a measurement: its name, its command as a user would type it, and a function that runs it once."""

    name: str
    command: str
    run: Callable[[], Figures]


@dataclass(frozen=True)
class Pair:
    """Our side, with or without a peer. The class also lists the common figures in the order of the table."""

    title: str
    ours: Side
    peer: Side | None = None
    note: str = ""


@dataclass
class Result:
    """All rounds of a pair."""

    pair: Pair
    ours: list[Figures] = field(default_factory=list)
    peer: list[Figures] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """Return the JSON of bench/out: every round and the medians."""
        peer = self.pair.peer
        return {
            "title": self.pair.title,
            "note": self.pair.note,
            "ours": {"name": self.pair.ours.name, "command": self.pair.ours.command, "rounds": self.ours},
            "peer": {"name": peer.name, "command": peer.command, "rounds": self.peer} if peer else None,
            "medians": {
                "ours": medians(self.ours),
                "peer": medians(self.peer),
                "ratio": ratios(self.ours, self.peer),
            },
        }


def measure(pair: Pair, rounds: int) -> Result:
    """Warm up both sides once, then run the sides in turn. Each side begins every second round."""
    result = Result(pair)
    sides = [(pair.ours, result.ours)] + ([(pair.peer, result.peer)] if pair.peer else [])
    for side, _ in sides:
        side.run()
    for _ in range(rounds):
        for side, figures in sides:
            figures.append(side.run())
        sides.reverse()
    return result


def medians(rounds: list[Figures]) -> Figures:
    """Return the median of each figure over the rounds."""
    return {key: median(figures[key] for figures in rounds) for key in rounds[0]} if rounds else {}


def ratios(ours: list[Figures], peer: list[Figures]) -> Figures:
    """Return the median of ours / peer over the rounds, for each figure of both sides.

    Figures with a zero in a round of the peer are omitted.
    """
    if not ours or not peer:
        return {}
    both = [key for key in ours[0] if key in peer[0] and all(figures[key] for figures in peer)]
    return {key: median(a[key] / b[key] for a, b in zip(ours, peer, strict=True)) for key in both}


def show(result: Result) -> str:
    """Return the table of a pair for a terminal of 80 columns."""
    pair = result.pair
    lines = [pair.title, _wrapped(f"{pair.ours.name}: {pair.ours.command}")]
    if pair.peer:
        lines.append(_wrapped(f"{pair.peer.name}: {pair.peer.command}"))
    lines.append(f"  {'median (lowest - highest)':<25} {'ours':>22} {'peer':>22} {'ratio':>5}")
    ratio = ratios(result.ours, result.peer)
    for key in result.ours[0]:
        times = f"{ratio[key]:.2f}" if key in ratio else ""
        lines.append(f"  {key:<25} {_spread(result.ours, key):>22} {_spread(result.peer, key):>22} {times:>5}")
    if pair.note:
        lines.append(_wrapped(pair.note))
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 80, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)


def _spread(rounds: list[Figures], key: str) -> str:
    values = [figures[key] for figures in rounds if key in figures]
    if not values:
        return "-"
    return f"{_short(median(values))} ({_short(min(values))} - {_short(max(values))})"


def _short(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


@dataclass(frozen=True)
class Ran:
    """The result of a program: its output, elapsed seconds, CPU seconds and peak memory."""

    output: str
    wall_s: float
    cpu_s: float
    peak_bytes: int


def run_program(*command: str) -> Ran:
    """Run a program. Raises RuntimeError with the end of its output if the program fails."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        began = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        output = said.read()
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {output[-2000:]}")
    return Ran(output, wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
