# SPDX-License-Identifier: Apache-2.0
"""`querytape calibrate`: measures the limits of querytape on this machine."""

import click

from ...common.units import MICRO, short_count, short_duration
from ...replay.calibrate import CalibrationLevel, calibrate
from ...replay.observe.run_warnings import cache_file
from ..param_types import Levels

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
    epilog="\b\nExample:\n  querytape calibrate --sessions 1,8,64,512",
)
@click.option(
    "--sessions",
    type=Levels(growing=False),
    default="1,8,64,512",
    show_default=True,
    help="Numbers of concurrent sessions. Each number is measured in a separate run.",
)
def calibrate_command(sessions: tuple[int, ...]) -> None:
    """Measure the highest load that this machine can replay.

    Replays a synthetic tape against `querytape null-server`, which answers immediately. The results therefore depend
    only on querytape and this machine. Later replays warn when their load comes near the measured limits.

    Each line shows one run: queries per second, CPU time per query, lateness of events, and lateness of sleeping
    threads. The command takes about half a minute.
    """
    click.echo(HEAD)
    results = calibrate(sessions, lambda level: click.echo(level_line(level)))
    limits = results["limits"]
    known = [
        f"{name} {short_count(limits[name])}" for name in ("files", "threads", "mappings", "ports") if limits[name]
    ]
    click.echo(f"limits of this account and machine: {', '.join(known) or 'none known'}; {results['cores']} cores")
    click.echo(f"calibration written to {cache_file()}")
