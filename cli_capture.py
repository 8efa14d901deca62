# SPDX-License-Identifier: Apache-2.0
"""`querytape capture ...`: the face of the sources."""

import re
from pathlib import Path
from typing import Any

import click

from .capture import SlowlogOptions, capture_slowlog
from .errors import RefusedError
from .progress import CaptureProgress
from .schemas import open_folder
from .terminal import clock, show_problems

ZONE = re.compile(r"^([+-])(\d{2}):?(\d{2})$")


class TimeZone(click.ParamType[int]):
    """`+02:00`, `-0330` or `UTC`, as nanoseconds to add to UTC."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the offset in nanoseconds."""
        if isinstance(value, int):
            return value
        if str(value).upper() in ("UTC", "Z"):
            return 0
        found = ZONE.match(str(value))
        if found is None or int(found[2]) > 15 or int(found[3]) > 59:
            self.fail(f"{value!r}: expected an offset such as +02:00 or UTC", param, ctx)
        seconds = int(found[2]) * 3600 + int(found[3]) * 60
        return (seconds if found[1] == "+" else -seconds) * 1_000_000_000


@click.group("capture", short_help="Record production's queries into a tape.")
def capture_group() -> None:
    """Record production's queries into a tape, from what is at hand."""


@capture_group.command(
    "slowlog",
    epilog="""\b
Examples:
  querytape capture slowlog /var/log/mysql/slow.log -o shop.tape
  querytape capture slowlog slow.log.*.gz slow.log -o week.tape
  zcat slow.log.gz | querytape capture slowlog - -o shop.tape
  querytape capture slowlog slow.log -o shop.tape --source mysql://ro@prod/

\b
To log everything for a while on the server (new connections only):
  SET GLOBAL long_query_time = 0; SET GLOBAL slow_query_log = ON;
""",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The tape to write (a new folder)."
)
@click.option(
    "--log-timezone", type=TimeZone(), help="Zone of the log's local times, e.g. +02:00. Default: as the log shows it."
)
@click.option(
    "--source", metavar="URL", help="The server that wrote the log: its identity, variables and position are kept."
)
@click.option("--ask-password", is_flag=True, help="Ask for --source's password. Else MYSQL_PWD or an option file.")
@click.option("--problems", "show", is_flag=True, help="Show each place that was not understood.")
@click.option("--strict", is_flag=True, help="Exit with 1 where anything was not understood.")
def slowlog_command(
    files: tuple[str, ...],
    output: Path,
    log_timezone: int | None,
    source: str | None,
    ask_password: bool,
    show: bool,
    strict: bool,
) -> int:
    """Record slow query logs (MySQL 5.7 to 9.x, MariaDB 10.x and 11.x).

    Plain files, .gz and .zst, or - for standard input. Several logs of one server (rotated ones) make one tape, in the
    order of their first events. What is not understood is counted and located, never dropped silently.
    """
    server = describe_source(source, ask_password) if source else None
    with CaptureProgress() as progress:
        options = SlowlogOptions(log_timezone, server, progress.update)
        info = capture_slowlog(files, output, options)
    say_result(output, info)
    if info["counts"]["problems"] and show:
        show_problems(open_folder("tape", output))
    elif info["counts"]["problems"]:
        click.echo("  --problems shows each with file and line", err=True)
    return 1 if strict and info["counts"]["problems"] else 0


def describe_source(url: str, ask_password: bool) -> dict[str, Any]:
    """Return what a server says of itself, for tape.json. Raises TargetError where it can't be reached."""
    from .replay.source import describe_server

    described = describe_server(url, ask_password=ask_password)
    if not described.get("identity"):
        raise RefusedError(f"--source {url}: the server gave no identity; leave --source out")
    return described


def say_result(output: Path, info: dict[str, Any]) -> None:
    """Say what is on the tape, and what it lacks."""
    counts = info["counts"]
    seconds = (info["last_ns"] - info["first_ns"]) / 1e9
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in info["problems"].items())
    click.echo(
        f"{output}: {counts['events']:,} events, {counts['sessions']:,} sessions, {counts['digests']:,} digests,"
        f" {counts['problems']:,} problems{f' ({kinds})' if kinds else ''}"
    )
    click.echo(f"  from {clock(info['first_ns'])} to {clock(info['last_ns'])} UTC ({seconds:,.1f} s)")
    for warning in info["warnings"]:
        click.echo(f"  not the whole workload: {warning['text']}")
    if info["warnings"]:
        click.echo("  a replay of it wants --partial-ok")
