# SPDX-License-Identifier: Apache-2.0
"""`querytape sweep`: a tape's sessions at growing concurrency."""

import json
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from .analyze.sweep import Level, measure, page
from .cli_replay import first_ns, options_of, target_of
from .cli_replay_options import sweep_sections
from .errors import InputError
from .parameters import Duration
from .recovery import complete_tape
from .replay import Watcher, replay
from .replay.copies import MOST_CLONES, Copies
from .replay.live import duration
from .replay.pacing import Pace
from .schemas import make_private, open_folder, publish
from .sections import SectionedCommand

FAST = 20_000  # statements a second that a level is given events for
HEAD = " sessions  statements/s      p50      p95      p99   errors"


class Levels(click.ParamType[tuple[int, ...]]):
    """`1,2,4,...,64`: the dots go on by the factor before them."""

    name = "n,n,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers, growing."""
        if isinstance(value, tuple):
            return value
        try:
            found = expand(str(value))
        except ValueError:
            found = ()
        if not found or found[0] < 1 or any(b <= a for a, b in pairwise(found)):
            self.fail(f"{value!r}: expected growing numbers such as 1,2,4,...,64", param, ctx)
        return found


def expand(text: str) -> tuple[int, ...]:
    """Return the numbers of `1,2,4,...,64`. Raises ValueError."""
    found: list[int] = []
    parts = [part.strip() for part in text.split(",")]
    for place, part in enumerate(parts):
        if part != "...":
            found.append(int(part))
            continue
        if len(found) < 2 or place + 1 == len(parts) or found[-1] % found[-2]:
            raise ValueError(text)
        last = int(parts[place + 1])
        factor = found[-1] // found[-2]
        while factor > 1 and found[-1] * factor < last:
            found.append(found[-1] * factor)
    return tuple(found)


def line(level: Level) -> str:
    """Return a level as a line under HEAD."""
    times = "".join(f"{duration(ns):>9}" for ns in (level.p50_ns, level.p95_ns, level.p99_ns))
    return f"{level.sessions:>9,}{level.per_second:>14,.0f}{times}{level.errors:>9,}"


@click.command(
    "sweep",
    cls=SectionedCommand,
    short_help="Replay a tape's sessions at growing concurrency.",
    epilog="""\b
Example:
  querytape sweep shop.tape --target mysql://app@10.0.0.7/shop \\
      --sessions 1,2,4,...,256 --each 60s -o shop.sweep
""",
)
@click.argument("tape", type=click.Path(path_type=Path))
@click.option(
    "--sessions",
    "at_once",
    type=Levels(),
    default="1,2,4,...,64",
    show_default=True,
    help="Sessions at once, each level.",
)
@click.option("--each", type=Duration(), default="60s", show_default=True, help="How long each level takes.")
@sweep_sections
def sweep_command(tape: Path, at_once: tuple[int, ...], each: int, **given: Any) -> None:
    """Replay a TAPE's sessions as fast as they go, so many at once, one level after the other.

    What comes out is throughput and latency against concurrency, as benchmark kits draw it with generated load: a
    table, and sweep.html and sweep.json in the output folder, which also keeps each level's run.
    """
    complete_tape(tape)
    output: Path = given["output"]
    if output.exists():
        raise InputError(f"{output} already exists: choose another name with -o, or remove it first")
    make_private(output)
    counts = open_folder("tape", tape).info["counts"]
    levels: list[Level] = []
    click.echo(HEAD)
    with ExitStack() as stack:
        target = target_of(given, stack)
        options = options_of(given, target, first_ns(tape))
        for n in at_once:
            rounds = max(2 * n / max(counts["sessions"], 1), FAST * each / 1e9 / max(counts["events"], 1), 1)
            chosen = replace(
                options,
                output=output / f"{n}.run",
                pace=Pace("none"),
                copies=Copies(loop=min(int(rounds) + 1, MOST_CLONES)),
                at_once=n,
                stop_after_ns=each,
            )
            replay(tape, chosen, Watcher())
            levels.append(measure(chosen.output, n))
            click.echo(line(levels[-1]))
    with publish(output / "sweep.json") as temporary:
        found = [{**asdict(level), "per_second": level.per_second} for level in levels]
        temporary.write_text(json.dumps({"tape": str(tape), "target": target.name, "levels": found}, indent=1) + "\n")
    with publish(output / "sweep.html") as temporary:
        temporary.write_text(page(f"{tape.name} on {target.name}", levels), encoding="utf-8")
    click.echo(f"drawn in {output / 'sweep.html'}")
