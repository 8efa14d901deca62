# SPDX-License-Identifier: Apache-2.0
"""`querytape capture KIND`: captures files or live packets into a tape. Each kind of source is a command."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...capture import SOURCES
from ...common.errors import RefusedError
from ...common.exit_codes import ExitCode
from ...common.text import printable
from ...common.units import plural
from ..cluster_options import capture_cluster, capture_on_cluster, refuse_alone
from ..lazy_group import LazyCommand, LazyGroup
from ..metrics_page import METRICS, MetricsPage, show_capture
from ..output import exit_code, say_tape, show_problems
from ..param_types import Duration, Size, TimeZone
from ..progress import CaptureProgress
from ..server_options import LOGIN, TLS, server_of, take_login
from ..stored_folders import NewFolder

if TYPE_CHECKING:
    from ...capture.source import Endless, Option, SourceKind
    from ...schemas import Folder
    from ...servers.client_sessions import OpenSessions


LINE_EVERY_S = 60  # seconds between lines of a capture without an end, suitable for a journal
TYPES = {"int": int, "duration": Duration(), "bytes": Size()}  # types of the options of a kind; the default is text
LOOKED_AT = "querytape.capture.looked_at"  # key in click's meta: the input whose kind was detected

COMMANDS = {
    **{name: LazyCommand("", place.short_help) for name, place in SOURCES.places.items()},
    "server": LazyCommand(
        ".commands.capture_server:server_command", "Enable a server's own log temporarily and capture the log."
    ),
    "rds": LazyCommand(
        ".commands.capture_rds:rds_command",
        "Capture the slow log or the audit log of an Amazon RDS or Aurora instance.",
    ),
}


class CaptureGroup(LazyGroup):
    """The group `capture KIND ...`. If a file is given in place of KIND, the kind is detected."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a kind, built from the kind's declaration, or another command of this group."""
        if cmd_name in SOURCES and cmd_name not in self.commands:
            self.add_command(command_of(SOURCES[cmd_name]))
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the kind of the first file if no kind is given."""
        if args and args[0] not in self.list_commands(ctx) and not {"-h", "--help"} & set(args):
            named = [arg for arg in args if arg == "-" or (not arg.startswith("-") and Path(arg).exists())]
            if named:
                from ...capture import detect_source
                from ...native.bindings.inputs import as_input

                first = ctx.meta[LOOKED_AT] = as_input(named[0])  # a pipe opens only once, so the bytes read are kept
                kind = detect_source(first, SOURCES.values())
                click.echo(f"{named[0]}: {kind.title} (capture {kind.name})", err=True)
                args = [kind.name, *args]
        return super().parse_args(ctx, args)


@click.group(
    "capture",
    cls=CaptureGroup,
    lazy=COMMANDS,
    subcommand_metavar="KIND|FILE ... -o TAPE",
    epilog="""\b
Examples:
  querytape capture slow.log -o shop.tape          detects the kind of file
  querytape capture slowlog slow.log -o shop.tape  names the kind
""",
)
def capture_group() -> None:
    """Record the queries of a production server on a tape.

    The source is a log, a packet capture, a network interface, or a server whose log is enabled temporarily.
    `querytape capture FILE` detects the kind of the file.
    """


def own_option(option: "Option") -> click.Option:
    """Return an option of a kind as a click option."""
    name = f"--{option.name}"
    if option.type == "flag":
        return click.Option([name], is_flag=True, help=option.help)
    shown = option.default is not None and not option.multiple
    return click.Option(
        [name],
        type=TYPES.get(option.type, str),
        default=option.default,
        multiple=option.multiple,
        metavar=option.metavar,
        help=option.help,
        show_default=shown,
    )


def common_options(kind: "SourceKind") -> list[click.Parameter]:
    """Return the arguments and options of all kinds of sources."""
    needed = not kind.options or all(option.name != "interface" for option in kind.options)
    parameters: list[click.Parameter] = [
        click.Argument(["files"], nargs=-1, required=needed, metavar="FILE..."),
        click.Option(["-o", "--output"], required=True, type=NewFolder(), help="New folder for the tape."),
    ]
    if kind.local_times:
        text = (
            "Time zone of the log's local times, such as +02:00 or Europe/Berlin. Default: the zone that the log shows."
        )
        parameters.append(click.Option(["--log-timezone"], type=TimeZone(), help=text))
    parameters += endless_options(kind)
    parameters += [
        click.Option(
            ["--source"],
            metavar="URL",
            help="Server on which the traffic was recorded. The tape keeps the server's identity, variables and binary"
            " log position.",
        ),
        *(click.Option(list(names), **settings) for names, settings in (*LOGIN, *TLS)),
        click.Option(
            ["--problems", "show"], is_flag=True, help="List each part of the input that could not be parsed."
        ),
        click.Option(list(METRICS[0]), **METRICS[1]),
        *(click.Option(list(names), **settings) for names, settings in capture_cluster),
        click.Option(["--strict"], is_flag=True, help="Exit with code 1 if any part of the input could not be parsed."),
    ]
    return parameters


def endless_options(kind: "SourceKind") -> list[click.Parameter]:
    """Return the options of captures without an end: growing files and live sources."""
    options: list[click.Parameter] = []
    live = not kind.follows and any(option.name == "interface" for option in kind.options)
    if kind.follows:
        text = (
            "Follow the last file as it grows, until Ctrl-C or SIGTERM. The capture continues when the log is"
            " rotated by rename, removal or copytruncate."
        )
        options.append(click.Option(["--follow"], is_flag=True, help=text))
        text = "With --follow: skip the existing contents of the file."
        options.append(click.Option(["--from-end"], is_flag=True, help=text))
    if kind.follows or live:
        of = "Live" if live else "With --follow"
        text = f"{of}: maximum time until new events are published on the tape. Default: 5s."
        options.append(click.Option(["--part-every"], type=Duration(), help=text))
        text = (
            f"{of}: time span of the events to keep. Older events are removed from the tape. Default: keep everything."
        )
        options.append(click.Option(["--keep"], type=Duration(), help=text))
    return options


def endless_of(kind: "SourceKind", extra: dict[str, Any]) -> "Endless | None":
    """Remove the options of endless_options from `extra` and return their values.

    Returns None if the input has an end.
    """
    from ...capture.source import PART_EVERY_NS, Endless

    follow, from_end = extra.pop("follow", False), extra.pop("from_end", False)
    part_every, keep = extra.pop("part_every", None), extra.pop("keep", None)
    live = bool(extra.get("interface"))
    if not follow and not live:
        given = {"--from-end": from_end, "--part-every": part_every, "--keep": keep}
        for name, value in given.items():
            if value:
                with_what = "--follow" if kind.follows else "--interface"
                raise click.UsageError(f"{name} requires {with_what}")
        return None
    return Endless(part_every or PART_EVERY_NS, keep, follow=follow, from_end=from_end)


def run_capture(kind: "SourceKind", files: tuple[str, ...], output: Path, show: bool, strict: bool, **more: Any) -> int:
    """Capture, print the contents of the tape, and return the exit code. `more`: the settings of the capture."""
    from ...capture import Settings, capture

    if more["cluster"]:
        return run_on_cluster(kind, files, output, show, strict, more)
    refuse_alone(more, "insecure_cluster", "cluster_folder")
    del more["cluster"], more["insecure_cluster"], more["cluster_folder"]
    looked_at = click.get_current_context().meta.get(LOOKED_AT)
    names = [looked_at if name == looked_at else name for name in files]
    source, login = more.pop("source"), take_login(more)
    server, open_sessions = describe_source(kind, source, login) if source else (None, None)
    endless = endless_of(kind, more)
    with ExitStack() as stack:
        page = MetricsPage(more.pop("metrics"), stack)
        progress = stack.enter_context(CaptureProgress(line_every_s=1 if endless is None else LINE_EVERY_S))
        settings = Settings(
            timezone_ns=more.pop("log_timezone", None),
            server=server,
            extra=more,
            watch=progress.update,
            open_sessions=open_sessions,
            endless=endless,
            running=lambda live: show_capture(page, live),
        )
        tape = capture(names, output, kind.name, settings)
    return say_captured(output, tape.folder, show, strict)


def run_on_cluster(
    kind: "SourceKind", files: tuple[str, ...], output: Path, show: bool, strict: bool, more: dict[str, Any]
) -> int:
    """Capture each file in a task on a cluster. Print the contents of the set, and return the exit code."""
    from ...schemas import open_folder

    many = capture_on_cluster(kind, files, output, more)
    if many.without:
        click.echo(f"NOT ALL FILES ARE IN THE SET: {plural(len(many.without), 'file')} of {len(files):,}")
        for reason in many.without:
            click.echo(printable(f"  {reason}", 500))
    if many.empty:
        click.echo(printable(f"empty files without a tape: {', '.join(many.empty)}", 500))
    code = say_captured(output, open_folder("tape", output), show, strict)
    return code or (ExitCode.INCOMPLETE if many.without else ExitCode.SUCCESS)


def say_captured(output: Path, tape: "Folder", show: bool, strict: bool) -> int:
    """Print the contents of a captured tape or set. Return the exit code."""
    info = tape.info
    say_tape(output, info)
    if info["counts"]["problems"] and show:
        show_problems(tape)
    elif info["counts"]["problems"]:
        click.echo("  --problems lists each problem and its location", err=True)
    if strict and info["counts"]["problems"]:
        return 1
    return exit_code(info)


def command_of(kind: "SourceKind") -> click.Command:
    """Return the command `capture KIND`."""

    def run(**options: Any) -> int:
        return run_capture(kind, **options)

    return click.Command(
        kind.name,
        callback=run,
        params=[*common_options(kind), *map(own_option, kind.options)],
        help=kind.help,
        short_help=kind.help.partition("\n")[0],
        epilog="\b\n" + kind.examples,
    )


def describe_source(
    kind: "SourceKind", url: str, login: dict[str, Any]
) -> "tuple[dict[str, Any], OpenSessions | None]":
    """Return a server's description for tape.json, and its open sessions. Raises TargetError."""
    from ...servers.source import describe_with_sessions

    target = server_of(url, login, what="--source")
    own = kind.ask(target)
    if own is not None:
        return own, None
    described, sessions = describe_with_sessions(target)
    if not described.get("identity"):
        raise RefusedError(f"--source {url}: the server does not show its identity; omit --source")
    return described, sessions
