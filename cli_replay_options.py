# SPDX-License-Identifier: Apache-2.0
"""The options of `querytape replay`, in sections; each section makes one value of the replay stage."""

from collections.abc import Callable
from fractions import Fraction
from functools import update_wrapper
from pathlib import Path
from typing import Any

import click

from .errors import InputError
from .parameters import Duration, Moment, Size
from .replay.copies import Copies
from .replay.forcing import Forcing
from .replay.options import LOST, OVERLOAD, Failures
from .replay.pacing import KINDS, Pace, parse_speed
from .replay.selection import Selection
from .schemas import CLASSES, DANGERS
from .sections import Section, Sectioned, option
from .servers.accounts import Account, read_accounts
from .servers.tls import MODES

ANY_SPEED = "max"


class Speed(click.ParamType[Any]):
    """An exact factor, or `max`."""

    name = "factor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction | str:
        """Return a fraction, or `max`."""
        if isinstance(value, Fraction):
            return value
        try:
            return parse_speed(str(value)) or ANY_SPEED
        except InputError as fault:
            self.fail(str(fault).removeprefix("--speed: "), param, ctx)


class Share(click.ParamType[Fraction]):
    """`10%` or `0.1`, as an exact share."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """Return a share of more than 0 and at most 1."""
        text = str(value).strip()
        try:
            share = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except (ValueError, ZeroDivisionError):
            share = Fraction(0)
        if not 0 < share <= 1:
            self.fail(f"{value!r}: expected a share such as 10% or 0.1", param, ctx)
        return share


class Pair(click.ParamType[tuple[str, str]]):
    """`a=b`."""

    name = "a=b"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return both sides."""
        if isinstance(value, tuple):
            return value
        left, equals, right = str(value).partition("=")
        if not equals or not left or not right:
            self.fail(f"{value!r}: expected two names as in a=b", param, ctx)
        return left, right


FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

TARGET = Section(
    "Target",
    (
        option(
            "--target",
            required=True,
            metavar="URL",
            help="mysql://user@host:3306/db, mysql://user@/db?socket=/path, or sandbox[:KIND], a private server.",
        ),
        option(
            "--reads-to",
            metavar="URL",
            help="A second server, with the same data, that answers reads outside transactions.",
        ),
        option(
            "-o", "--output", required=True, type=click.Path(path_type=Path), help="The run to write (a new folder)."
        ),
        option(
            "--defaults-file",
            type=click.Path(path_type=Path),
            help="Option file with a [client] group: user, password, ...",
        ),
        option("--defaults-group", metavar="NAME", help="A further group of it, which wins over [client]."),
        option(
            "--ask-password", is_flag=True, help="Ask for the password. Else QUERYTAPE_PASSWORD, MYSQL_PWD or the file."
        ),
        option(
            "--ssl-mode",
            type=click.Choice(MODES, case_sensitive=False),
            help="As the mysql client's. Default: DISABLED.",
        ),
        option("--ssl-ca", type=FILE, help="The certificate to verify by."),
        option("--ssl-cert", type=FILE, help="Our own certificate."),
        option("--ssl-key", type=FILE, help="Its key."),
        option("--compress", is_flag=True, help="The compressed protocol."),
        option("--charset", default="utf8mb4", show_default=True, help="Character set where the tape has none."),
        option("--init", multiple=True, metavar="SQL", help="First statement of each connection; may be repeated."),
        option(
            "--users", type=FILE, help="Log in as the tape's users: a section [user] for each, with password, user."
        ),
        option("--map-user", multiple=True, type=Pair(), help="The tape's user a is b on the target."),
        option("--map-db", multiple=True, type=Pair(), help="The tape's schema a is b on the target."),
        option(
            "--sandbox-data",
            type=click.Path(path_type=Path, exists=True, file_okay=False),
            help="A stopped server's data folder, copied for sandbox.",
        ),
    ),
)

BESIDE = Section(
    "Beside it",
    (option("--target-slowlog", is_flag=True, help="Keep the target's own slow log of the run: RUN/target.tape."),),
)

PACE = Section(
    "Pace",
    (
        option(
            "--pace",
            type=click.Choice(list(KINDS)),
            default="schedule",
            show_default=True,
            help="Original times; think times; none.",
        ),
        option(
            "--speed", type=Speed(), default="1", show_default=True, help="Factor: 0.5, 1, 2, 3/2; max is --pace none."
        ),
        option("--connect-speed", type=Speed(), help="Factor for when sessions begin."),
        option("--think-speed", type=Speed(), help="Factor for what happens inside sessions."),
        option("--max-idle", type=Duration(), help="Cut stretches in which nothing runs to this."),
        option("--ramp", type=Duration(), default="0s", help="Let the speed rise from nothing in this time."),
        option("--duration", type=Duration(), help="Send nothing more after this long."),
        option("--start-at", type=Moment(), metavar="TIME", help="When the first event is due (UTC)."),
        option("--lead", type=Duration(), default="2s", show_default=True, help="Open sessions this long ahead."),
        option(
            "--connect-rate", type=click.IntRange(1), default=500, show_default=True, help="Connects a second ahead."
        ),
    ),
)

SELECTION = Section(
    "What is replayed (whole transactions are kept or left out)",
    (
        option(
            "--from",
            "from_at",
            type=Moment(relative=True),
            metavar="TIME",
            help="From this time on (UTC, or +10m from the start).",
        ),
        option("--to", "to_at", type=Moment(relative=True), metavar="TIME", help="Up to this time."),
        option(
            "--user",
            "users_only",
            multiple=True,
            metavar="NAME",
            help="Sessions of this user; may be repeated, as all below.",
        ),
        option("--session", "sessions_only", multiple=True, type=int, help="This session."),
        option("--sessions", "sample", type=Share(), help="A sample of the sessions, the same each time: 10%."),
        option("--max-sessions", type=click.IntRange(1), help="At most so many sessions, the same each time."),
        option("--db", "dbs", multiple=True, metavar="NAME", help="Events in this schema."),
        option("--digest", "digests", multiple=True, metavar="HEX", help="Events of this digest."),
        option(
            "--class",
            "classes",
            multiple=True,
            type=click.Choice(CLASSES),
            metavar="NAME",
            help="Events of this class: read, write, ...",
        ),
        option(
            "--resume",
            type=click.Path(path_type=Path, exists=True, file_okay=False),
            help="Go on with what this interrupted run did not come to.",
        ),
        option("--amplify", type=click.IntRange(1), default=1, help="So many sessions for each one of the tape."),
        option(
            "--amplify-shift",
            type=Duration(),
            default="1s",
            show_default=True,
            help="The further ones begin up to this later.",
        ),
        option("--loop", type=click.IntRange(1), default=1, help="Replay the tape so many times."),
    ),
)

FIDELITY = Section(
    "Order and results",
    (
        option(
            "--order",
            type=click.Choice(["time", "commit"]),
            default="time",
            show_default=True,
            help="commit: wait for other sessions' commits, as on the tape.",
        ),
        option(
            "--order-bound",
            type=Duration(),
            default="2s",
            show_default=True,
            help="Break a wait that nothing has moved for so long.",
        ),
        option(
            "--now",
            type=click.Choice(["wall", "original"]),
            default="wall",
            show_default=True,
            help="original: NOW() is the tape's.",
        ),
        option(
            "--insert-id",
            type=click.Choice(["target", "original"]),
            default="target",
            show_default=True,
            help="original: inserts get the tape's ids.",
        ),
        option("--verify", is_flag=True, help="Keep checksums of result rows."),
    ),
)

SAFETY = Section(
    "Safety",
    (
        option("--allow-writes", is_flag=True, help="Send writes and DDL as well. Default: reads only."),
        option("--target-is-disposable", is_flag=True, help="The target's data may be lost."),
        option(
            "--allow-statement",
            "allow_statements",
            multiple=True,
            type=click.Choice([name for name in DANGERS if name != "none"]),
            metavar="NAME",
            help="Send this kind of dangerous statement as well.",
        ),
        option("--partial-ok", is_flag=True, help="Replay a tape that is not the whole workload."),
    ),
)

FAILURES = Section(
    "When things go wrong",
    (
        option(
            "--on-lost",
            type=click.Choice(list(LOST)),
            default="end",
            show_default=True,
            help="A lost connection: its session ends, is reopened at the next transaction (tried again every "
            "second until the target is back), or the run stops.",
        ),
        option("--statement-timeout", type=Duration(), default="0s", help="Kill a statement on the target after this."),
        option("--max-errors", type=click.IntRange(0), help="Stop when more statements fail."),
        option("--queue-memory", type=Size(), default="256M", show_default=True, help="Memory of waiting events."),
        option(
            "--overload",
            type=click.Choice(list(OVERLOAD)),
            default="wait",
            show_default=True,
            help="When it is full and events are overdue.",
        ),
        option(
            "--drain", type=Duration(), default="60s", show_default=True, help="Wait this long for the last answers."
        ),
        option(
            "--sample",
            "sample_every",
            type=Duration(),
            default="1s",
            show_default=True,
            help="How often the target's counters are kept; 0s: never.",
        ),
        option(
            "--host-metrics",
            metavar="ssh://USER@HOST",
            help="Keep the counters of the target's machine, too, where it is not this one.",
        ),
        option(
            "--plans/--no-plans",
            default=True,
            show_default=True,
            help="Keep EXPLAIN of the costliest statements when the run is over.",
        ),
        option("--summaries", is_flag=True, help="Keep pt-mysql-summary, pt-summary, pt-config-diff, where installed."),
        option(
            "--canaries",
            type=click.IntRange(0, 64),
            default=0,
            help="Threads that measure how late this machine wakes.",
        ),
    ),
)

SECTIONS = (TARGET, PACE, SELECTION, FIDELITY, SAFETY, FAILURES, BESIDE)


def all_sections(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command every section's options."""
    for section in reversed(SECTIONS):
        command = section.add(command)
    return command


def sweep_sections(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the sections that make sense without a pace; the other options have their defaults."""
    shown = (TARGET, FIDELITY, SAFETY, FAILURES)
    hidden: dict[str, Any] = {}
    for section in (PACE, SELECTION):
        for names, settings in section.options:
            shape = Sectioned(list(names), **settings)
            value = settings.get("default")
            value = value if value is None else shape.type.convert(value, shape, None)
            hidden[str(shape.name)] = () if settings.get("multiple") else value

    def whole(*args: Any, **given: Any) -> Any:
        return command(*args, **{**hidden, **given})

    found: Callable[..., Any] = update_wrapper(whole, command)
    for section in reversed(shown):
        found = section.add(found)
    return found


def pace_of(given: dict[str, Any]) -> Pace:
    """Return the pace that was asked for."""
    speed = given["speed"]
    scaled = {name: given[name] for name in ("connect_speed", "think_speed")}
    if speed == ANY_SPEED or given["pace"] == "none":
        if any(scaled.values()) or given["ramp"] or given["max_idle"] is not None:
            raise click.UsageError(
                "--pace none: nothing is due, so there is nothing to scale; leave out the other times"
            )
        return Pace("none")
    if ANY_SPEED in scaled.values():
        raise click.UsageError("--connect-speed, --think-speed: expected a factor; max is for --speed alone")
    return Pace(given["pace"], speed, **scaled, max_idle_ns=given["max_idle"], ramp_ns=given["ramp"])


def selection_of(given: dict[str, Any], first_ns: int) -> Selection:
    """Return the selection; times that are relative are so to the tape's first event."""

    def at(moment: tuple[bool, int] | None) -> int | None:
        return None if moment is None else moment[1] + (first_ns if moment[0] else 0)

    return Selection(
        users=given["users_only"],
        sessions=given["sessions_only"],
        sample=given["sample"],
        max_sessions=given["max_sessions"],
        dbs=given["dbs"],
        digests=given["digests"],
        classes=given["classes"],
        from_ns=at(given["from_at"]),
        to_ns=at(given["to_at"]),
        resume=given["resume"],
    )


def copies_of(given: dict[str, Any]) -> Copies:
    """Return how often the tape is replayed."""
    return Copies(given["amplify"], given["amplify_shift"], given["loop"])


def forcing_of(given: dict[str, Any], password: str | None) -> Forcing:
    """Return what is forced; users that are only renamed have the run's own password."""
    accounts = read_accounts(given["users"]) if given["users"] else {}
    for name, there in given["map_user"]:
        accounts[name] = Account(there, accounts[name].password if name in accounts else password)
    return Forcing(given["now"] == "original", given["insert_id"] == "original", dict(given["map_db"]), accounts)


def failures_of(given: dict[str, Any]) -> Failures:
    """Return what is done when things go wrong."""
    return Failures(
        given["on_lost"], given["statement_timeout"], given["max_errors"], given["overload"], given["order_bound"]
    )
