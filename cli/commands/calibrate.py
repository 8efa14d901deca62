# SPDX-License-Identifier: Apache-2.0
"""`querytape calibrate`: measures the limits of querytape on this machine."""

from pathlib import Path

import click

from ...common.staged import shown_path
from ...common.text import printable
from ...common.units import MICRO, plural, short_count, short_duration
from ...replay.calibrate import CalibrationLevel, calibrate
from ...replay.observe.run_warnings import cache_file
from ...replay.sizing import Sizing, TapeLoad, sizing, tape_load
from ...schemas import open_folder
from ...schemas.tape_set import deal_command
from ..output import readable_tape
from ..param_types import Levels
from ..stored_folders import StoredFolder

HEAD = "sessions  pace        queries/s  CPU/query  late p50  late p99  asleep p99"


def level_line(level: CalibrationLevel) -> str:
    """Return one level as a line of the table under HEAD."""
    cells = [
        f"{level.sessions:>8,}",
        f"{level.pace:<9}",
        f"{level.queries_per_second:>11,.0f}",
        f"{level.engine_cpu_ns / 1000:>7.1f} {MICRO}",
    ]
    for value in (level.late_p50_ns, level.late_p99_ns, level.probe_p99_ns) if level.pace != "none" else ():
        cells.append(f"{short_duration(value):>8}")
    return "  ".join(cells)


@click.command(
    "calibrate",
    epilog="\b\nExamples:\n  querytape calibrate --sessions 1,8,64,512\n  querytape calibrate big.tape",
)
@click.argument("tape", required=False, type=StoredFolder())
@click.option(
    "--sessions",
    type=Levels(growing=False),
    default="1,8,64,512",
    show_default=True,
    help="Numbers of concurrent sessions. Each number is measured in a separate run.",
)
def calibrate_command(tape: Path | None, sessions: tuple[int, ...]) -> None:
    """Measure the highest load that this machine can replay.

    With TAPE, also prints how many machines like this one the replay of this tape or set needs.

    Replays a synthetic tape against `querytape null-server`, which answers immediately. The results therefore depend
    only on querytape and this machine. Later replays warn when their load comes near the measured limits.

    Each line shows one run: queries per second, CPU time per query, lateness of events, and lateness of sleeping
    threads. The command takes about half a minute.
    """
    load = tape_load(open_folder("tape", readable_tape(tape))) if tape else None
    click.echo(HEAD)
    results = calibrate(sessions, lambda level: click.echo(level_line(level)))
    limits = results["limits"]
    known = [
        f"{name} {short_count(limits[name])}" for name in ("files", "threads", "mappings", "ports") if limits[name]
    ]
    click.echo(f"limits of this account and machine: {', '.join(known) or 'none known'}; {results['cores']} cores")
    click.echo(f"calibration written to {cache_file()}")
    if tape is not None and load is not None:
        for text in sizing_lines(tape, load, sizing(load, results)):
            click.echo(printable(text))


def sizing_lines(tape: Path, load: TapeLoad, found: Sizing) -> list[str]:
    """Return the lines about a tape: its load, its need, and the command that splits it for several machines."""
    limit, used = next(iter(found.uses.items()))
    lines = [
        f"{shown_path(tape)}: at most {plural(load.per_second, 'event')} in one second, and"
        f" {plural(load.sessions, 'session')} at the same time",
        f"machines like this one: {found.drivers:,} ({limit}: {used:.2g} times the recommended load)",
    ]
    if found.drivers > max(load.all_sessions, 1):
        lines.append(f"  the tape has only {plural(load.all_sessions, 'session')}, and a session is never split")
    elif found.drivers > 1:
        lines.append(f"  {deal_command(tape, found.drivers)}")
    elif found.speed is not None:
        lines.append(f"  one machine can send these events at up to {found.speed:.3g} times the original speed")
    return lines
