# SPDX-License-Identifier: Apache-2.0
"""`querytape capture ...`: the face of the sources."""

from pathlib import Path
from typing import Any

import click

from .capture import SOURCES, Option, Settings, SourceKind, capture, guess
from .errors import RefusedError
from .lazy import LazyGroup
from .parameters import Duration, Size, TimeZone
from .progress import CaptureProgress
from .schemas import open_folder
from .terminal import clock, show_problems


class CaptureGroup(LazyGroup):
    """`capture KIND ...`; a file in KIND's place is looked at, and its kind put in."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the kind of the first file in front where none was given."""
        if args and args[0] not in self.list_commands(ctx) and not {"-h", "--help"} & set(args):
            named = [arg for arg in args if not arg.startswith("-") and Path(arg).exists()]
            if named:
                kind = guess(named[0], SOURCES.values())
                click.echo(f"{named[0]}: {kind.title} (capture {kind.name})", err=True)
                args = [kind.name, *args]
        return super().parse_args(ctx, args)


@click.group(
    "capture",
    cls=CaptureGroup,
    later={"server": ".cli_capture_server:server_command"},
    subcommand_metavar="KIND|FILE ... -o TAPE",
    short_help="Record production's queries into a tape.",
    epilog="""\b
Examples:
  querytape capture slow.log -o shop.tape          looks what the file is
  querytape capture slowlog slow.log -o shop.tape  says it
""",
)
def capture_group() -> None:
    """Record production's queries into a tape, from what is at hand."""


def value_of(option: Option) -> Any:
    """Return the click type of a kind's own option."""
    return {"int": int, "duration": Duration(), "bytes": Size()}.get(option.type, str)


def own_option(option: Option) -> click.Option:
    """Return a kind's own option as click has it."""
    name = f"--{option.name}"
    if option.type == "flag":
        return click.Option([name], is_flag=True, help=option.help)
    shown = option.default is not None and not option.multiple
    return click.Option(
        [name],
        type=value_of(option),
        default=option.default,
        multiple=option.multiple,
        metavar=option.metavar,
        help=option.help,
        show_default=shown,
    )


def common_options(kind: SourceKind) -> list[click.Parameter]:
    """Return the arguments and options that every kind of source has."""
    needed = not kind.options or all(option.name != "interface" for option in kind.options)
    parameters: list[click.Parameter] = [
        click.Argument(["files"], nargs=-1, required=needed, metavar="FILE..."),
        click.Option(
            ["-o", "--output"], required=True, type=click.Path(path_type=Path), help="The tape to write (a new folder)."
        ),
    ]
    if kind.local_times:
        text = "Zone of the log's local times, e.g. +02:00. Default: as the log shows it."
        parameters.append(click.Option(["--log-timezone"], type=TimeZone(), help=text))
    parameters += [
        click.Option(
            ["--source"],
            metavar="URL",
            help="The server it was recorded on: its identity, variables and position are kept.",
        ),
        click.Option(
            ["--ask-password"],
            is_flag=True,
            help="Ask for --source's password. Else MYSQL_PWD or an option file.",
        ),
        click.Option(["--problems", "show"], is_flag=True, help="Show each place that was not understood."),
        click.Option(["--strict"], is_flag=True, help="Exit with 1 where anything was not understood."),
    ]
    return parameters


def run_capture(
    kind: SourceKind,
    files: tuple[str, ...],
    output: Path,
    source: str | None,
    ask_password: bool,
    show: bool,
    strict: bool,
    log_timezone: int | None = None,
    **extra: Any,
) -> int:
    """Capture, and say what is on the tape."""
    server = describe_source(source, ask_password) if source else None
    with CaptureProgress() as progress:
        info = capture(kind, files, output, Settings(log_timezone, server, extra, progress.update))
    say_result(output, info)
    if info["counts"]["problems"] and show:
        show_problems(open_folder("tape", output))
    elif info["counts"]["problems"]:
        click.echo("  --problems shows each with its place", err=True)
    return 1 if strict and info["counts"]["problems"] else 0


def command_of(kind: SourceKind) -> click.Command:
    """Return the command `capture KIND`."""

    def run(**given: Any) -> int:
        return run_capture(kind, **given)

    return click.Command(
        kind.name,
        callback=run,
        params=[*common_options(kind), *map(own_option, kind.options)],
        help=kind.help,
        short_help=kind.help.partition("\n")[0],
        epilog="\b\n" + kind.examples,
    )


for _kind in SOURCES.values():
    capture_group.add_command(command_of(_kind))


def describe_source(url: str, ask_password: bool) -> dict[str, Any]:
    """Return what a server says of itself, for tape.json. Raises TargetError where it can't be reached."""
    from .servers.source import describe_server

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
