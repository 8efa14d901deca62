# SPDX-License-Identifier: Apache-2.0
"""`querytape calibrate` and `querytape null-server`: the tool's own limits."""

import sys
import threading
from typing import Any

import click

from .native.null_server import NullServer
from .parameters import Duration
from .replay.calibration import Level, calibrate
from .replay.limits import cache_file
from .replay.live import count, duration
from .replay.machine import raise_file_limit


class Numbers(click.ParamType[tuple[int, ...]]):
    """`1,8,64`."""

    name = "n,n,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers."""
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            found = ()
        if not found or min(found) < 1:
            self.fail(f"{value!r}: expected numbers such as 1,8,64", param, ctx)
        return found


HEAD = "sessions  pace        queries/s  CPU/query  late p50  late p99  asleep p99"


def level_line(level: Level) -> str:
    """Return one level as a line under HEAD."""
    cells = [
        f"{level.sessions:>8,}",
        f"{level.pace:<9}",
        f"{level.queries_per_second:>11,.0f}",
        f"{level.engine_cpu_ns / 1000:>7.1f} us",
    ]
    for value in (level.late_p50_ns, level.late_p99_ns, level.canary_p99_ns) if level.pace != "none" else ():
        cells.append(f"{duration(value):>8}")
    return "  ".join(cells)


@click.command(
    "calibrate",
    short_help="Measure what this machine can replay at most.",
    epilog="\b\nExample:\n  querytape calibrate --sessions 1,8,64,512",
)
@click.option("--sessions", type=Numbers(), default="1,8,64,512", show_default=True, help="Levels to measure.")
def calibrate_command(sessions: tuple[int, ...]) -> None:
    """Replay against a server that answers anything at once: what is left is the tool and this machine.

    Each line is one run: queries a second, CPU time of the engine for each, how late events were sent, and how late
    threads woke that only slept. Later replays say when they come near these limits. Takes about half a minute.
    """
    click.echo(HEAD)
    found = calibrate(sessions, lambda level: click.echo(level_line(level)))
    limits = found["limits"]
    known = [f"{name} {count(limits[name])}" for name in ("files", "threads", "mappings", "ports") if limits[name]]
    click.echo(f"limits of this account and machine: {', '.join(known) or 'none known'}; {found['cores']} cores")
    click.echo(f"kept in {cache_file()}")


@click.command(
    "null-server",
    short_help="A server that answers anything at once.",
    epilog="\b\nExample:\n  querytape null-server --delay 1ms",
)
@click.option("--threads", type=click.IntRange(1, 64), default=1, show_default=True, help="Threads that answer.")
@click.option("--delay", type=Duration(), default="0s", help="Wait this long before each answer.")
@click.option("--until-eof", is_flag=True, help="End when standard input does, not at Ctrl-C.")
def null_server_command(threads: int, delay: int, until_eof: bool) -> None:
    """Listen on a free port of 127.0.0.1 and answer every command with OK: what is measured then is the client."""
    raise_file_limit()
    with NullServer(threads=threads, delay_ns=delay) as server:
        click.echo(f"port {server.port}")
        sys.stdout.flush()
        if until_eof:
            sys.stdin.read()
        else:
            threading.Event().wait()
