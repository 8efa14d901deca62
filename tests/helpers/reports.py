# SPDX-License-Identifier: Apache-2.0
"""Tapes, runs and reports shared by tests of several outputs."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from querytape.analyze import Report, show_report
from rich.console import Console

from .runs import make_run
from .simulated import Machine, Workload, simulate_run, simulate_tape, write_digests
from .tapes import MS, T0, make_tape

D1, D2 = "0000000000000001", "0000000000000002"
LOAD = Workload(digests=8, repeats=200)
CALM = Machine(wander=0.0, stalls=0.0, bad_second=False)


HOSTILE = "select '</script><script>alert(1)</script>' \x1b[31m [bold]x[/] \u202e <img src=x onerror=alert(2)>"


def tape_of(path: Path, n: int, digest: str = D1, **overrides: Any) -> Path:
    """Write a tape of n reads in one session."""
    events = [{"statement": b"SELECT 1", "digest": digest, "class": "read", "flags": 0} for _ in range(n)]
    tape = make_tape(path, events, **overrides)
    write_digests(tape, {digest: "select ?"})
    return tape


def slower_runs(folder: Path) -> tuple[Path, Path, Path]:
    """Create a tape and two simulated runs. One digest is three times slower in the second run."""
    tape = simulate_tape(folder / "t.tape", LOAD)
    slow = Machine(wander=0.0, stalls=0.0, bad_second=False, effects={5: lambda chance, ms: ms * 3})
    return (
        tape,
        simulate_run(folder / "a.run", tape, LOAD, CALM, 1),
        simulate_run(folder / "b.run", tape, LOAD, slow, 2),
    )


def small_runs(folder: Path) -> tuple[Path, Path, Path]:
    """Create a small tape and two runs. The tape has two sessions and three statements with a transaction. Run A is
    correct. Run B has an error, a stall and extra rows.
    """
    events: list[dict[str, Any]] = []
    for number in range(60):
        kind = number % 3
        text = (
            "SELECT a FROM t WHERE id = 1",
            "UPDATE `t` JOIN u SET a = 2",
            "COMMIT" if number // 6 % 2 else "BEGIN",
        )[kind]
        events.append(
            {
                "session": 1 + number % 2,
                "start_ns": T0 + number * 100 * MS,
                "duration_ns": (number % 7 + 1) * MS,
                "statement": text,
                "digest": f"{kind:016x}",
                "class": ("read", "write", "transaction")[kind],
                "user": "app",
                "db": "shop",
                "rows_sent": 1 if kind == 0 else 0,
                "errno": 0,
            }
        )
    tape = make_tape(folder / "t.tape", events, known_columns=["errno"], measuring_point="server")
    a, b = [], []
    for number, event in enumerate(events):
        due = number * 100 * MS
        one = {"session": event["session"], "due_ns": due, "sent_ns": due + 20_000, "rows_sent": event["rows_sent"]}
        a.append({**one, "done_ns": due + 20_000 + (number % 5 + 1) * MS})
        wait = 900 * MS if number == 40 else (number % 5 + 1) * 2 * MS
        b.append({**one, "done_ns": due + 20_000 + wait})
        if number == 30:
            b[-1].update(errno=1205, error="Lock wait timeout exceeded for 'bob'", rows_sent=None)
        if number == 33:
            b[-1]["rows_sent"] = 4
    return tape, make_run(folder / "a.run", tape, a), make_run(folder / "b.run", tape, b)


def printed(show: Callable[..., object], what: object, *more: object, width: int = 80) -> str:
    """Return the console output of `show(what, console, *more)`."""
    out = io.StringIO()
    show(what, Console(file=out, width=width, highlight=False), *more)
    return out.getvalue()


def terminal_text(report: Report) -> str:
    """Return the terminal output of a report, 80 columns wide."""
    return printed(show_report, report, 20)
