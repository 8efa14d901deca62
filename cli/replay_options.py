# SPDX-License-Identifier: Apache-2.0
"""Declares the options of `querytape replay`, in sections. replay_settings.py makes ReplayOptions from the values."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import click

from ..schemas import CLASSES, DANGERS
from ..schemas.names import CHOICES
from .metrics_page import METRICS
from .option_sections import OptionSpec, Section, Sectioned, engine_option, option
from .param_types import Duration, Moment, Part, Speed
from .server_options import FILE
from .target_options import FOLDER, TARGET, TARGET_SLOWLOG
from .watchers import LIVE


def filter_options(verb: str) -> tuple[OptionSpec, ...]:
    """Return the options that set the lists of an EventFilter. `verb`: the command's action on the matching events."""
    return (
        option(
            "--user",
            "users",
            multiple=True,
            metavar="NAME",
            help=f"{verb} sessions of this user. --user, --session, --db, --digest and --class may be given"
            " several times.",
        ),
        option("--session", "sessions", multiple=True, type=int, metavar="NUMBER", help=f"{verb} this session."),
        option("--db", "dbs", multiple=True, metavar="NAME", help=f"{verb} events with this default schema."),
        option("--digest", "digests", multiple=True, metavar="HEX", help=f"{verb} events of this digest."),
        option(
            "--class",
            "classes",
            multiple=True,
            type=click.Choice(CLASSES),
            metavar="NAME",
            help=f"{verb} events of this class: {', '.join(CLASSES)}.",
        ),
    )


PACE = Section(
    "Pace",
    (
        option(
            "--pace",
            type=click.Choice(list(CHOICES["pace"])),
            default="schedule",
            show_default=True,
            help="Send events at their original times (schedule), after the original pauses of their session"
            " (think), or as fast as the target answers (none).",
        ),
        option(
            "--speed",
            type=Speed(),
            default="1",
            show_default=True,
            help="Speed of the replay, as a factor of the tape's speed: 0.5, 1, 2, 3/2, ...",
        ),
        option("--connect-speed", type=Speed(), help="Speed factor for the start times of sessions. Default: --speed."),
        option("--think-speed", type=Speed(), help="Speed factor for the pauses inside sessions. Default: --speed."),
        option(
            "--max-idle",
            "max_idle_ns",
            type=Duration(),
            help="Maximum length of a period in which all sessions are idle. Longer periods are shortened.",
        ),
        option(
            "--ramp",
            "ramp_ns",
            type=Duration(),
            default="0s",
            show_default=True,
            help="Duration of the initial rise of the speed from zero to --speed.",
        ),
        option("--duration", "stop_after_ns", type=Duration(), help="Stop sending events after this time."),
        option("--follow", is_flag=True, help="Follow a tape that a capture is still writing, until the capture ends."),
        option(
            "--start-at",
            "start_at_ns",
            type=Moment(),
            metavar="TIME",
            help="Send the first event at this time (UTC). A tape of a split set keeps its place in the set.",
        ),
        engine_option("lead_ns"),
        engine_option("connect_rate"),
    ),
)

SELECTION = Section(
    "Selection (whole transactions only)",
    (
        option(
            "--from",
            "from_at",
            type=Moment(relative=True),
            metavar="TIME",
            help="Replay events that start at this time (UTC) or later. +10m means ten minutes after the tape's first"
            " event.",
        ),
        option(
            "--to",
            "to_at",
            type=Moment(relative=True),
            metavar="TIME",
            help="Replay events that start before this time (UTC). +20m means twenty minutes after the tape's first"
            " event.",
        ),
        *filter_options("Replay"),
        option(
            "--sessions",
            "part",
            type=Part(),
            metavar="SHARE|NUMBER",
            help="Percentage of the sessions to replay (such as 10%), or maximum number of sessions. Repeated runs"
            " select the same sessions.",
        ),
        option(
            "--resume",
            type=FOLDER,
            metavar="RUN",
            help="Replay the events that this interrupted run did not reach.",
        ),
        option(
            "--failed-in",
            type=FOLDER,
            metavar="RUN",
            help="Replay the statements that failed in this run, with their transactions and session state.",
        ),
        option(
            "--slower-in",
            type=FILE,
            metavar="FILE",
            help="Replay the digests that this report (report --json) lists as slower, with their transactions"
            " and session state.",
        ),
        option(
            "--amplify",
            type=click.IntRange(1),
            metavar="NUMBER",
            default=1,
            help="Replay this number of copies of each session at the same time.",
        ),
        option(
            "--amplify-shift",
            "shift_ns",
            type=Duration(),
            default="1s",
            show_default=True,
            help="Maximum delay of a copy (--amplify) relative to its original session.",
        ),
        option(
            "--loop",
            type=click.IntRange(1),
            metavar="NUMBER",
            default=1,
            help="Replay the whole tape this number of times in sequence.",
        ),
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
            help="Order of events between sessions. time: events wait only for their due time. commit: events also"
            " wait for commits of other sessions that were earlier on the tape.",
        ),
        engine_option("order_bound_ns"),
        option(
            "--now",
            type=click.Choice(["wall", "original"]),
            default="wall",
            show_default=True,
            help="Value of NOW() and similar functions: the time of the replay (wall) or the original time.",
        ),
        option(
            "--insert-id",
            type=click.Choice(["target", "original"]),
            default="target",
            show_default=True,
            help="AUTO_INCREMENT values: generated by the target, or the original values on the tape.",
        ),
        engine_option("verify"),
    ),
)

SAFETY = Section(
    "Safety",
    (
        option("--allow-writes", is_flag=True, help="Also send writes and DDL. Default: send only reads."),
        option(
            "--target-is-disposable",
            is_flag=True,
            help="Confirm that the target's data may be lost. Required with --allow-writes if the tape does"
            " not identify its source server.",
        ),
        option(
            "--allow-statement",
            "allow_statements",
            multiple=True,
            type=click.Choice([name for name in DANGERS if name != "none"]),
            metavar="NAME",
            help="Also send this kind of dangerous statement; may be given several times. `querytape replay"
            " --help-all` lists the kinds.",
        ),
        option(
            "--partial-ok",
            is_flag=True,
            help="Replay the tape even if part of the original traffic is missing.",
        ),
    ),
)

FAILURES = Section(
    "Failures and limits",
    (
        engine_option("on_lost"),
        engine_option("statement_timeout_ns"),
        engine_option("max_errors"),
        engine_option("queue_bytes"),
        engine_option("overload"),
        engine_option("drain_ns"),
    ),
)

OBSERVATION = Section(
    "Observation of the target and this machine",
    (
        option(
            "--sample",
            "sample_ns",
            type=Duration(),
            default="1s",
            show_default=True,
            help="Interval between samples of the target's counters. 0s disables sampling.",
        ),
        option(
            "--host-metrics",
            metavar="ssh://USER@HOST",
            help="Also record the counters of the target's host, through ssh.",
        ),
        option(
            "--query-plans/--no-query-plans",
            default=True,
            show_default=True,
            help="After the run, record the query plans (EXPLAIN) of the costliest statements.",
        ),
        option(
            "--schema-facts/--no-schema-facts",
            default=True,
            show_default=True,
            help="Before the run, record tables, indexes and statistics of the tape's schemas, for the report.",
        ),
        option(
            "--summaries",
            is_flag=True,
            help="Record the output of pt-mysql-summary, pt-summary and pt-config-diff, if these programs are"
            " installed.",
        ),
        METRICS,
        LIVE,
        engine_option("timer_probes"),
    ),
)

# A driver refuses these options.
ONLY_LEAD = frozenset({"--start-at", "--host-metrics", "--summaries", "--target-slowlog", "--follow", "--metrics"})
SECTIONS = (TARGET, PACE, SELECTION, FIDELITY, SAFETY, FAILURES, OBSERVATION, TARGET_SLOWLOG)


def all_sections(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every section to a command."""
    for section in reversed(SECTIONS):
        command = section.add(command)
    return command


def driver_sections(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every section to a command. The help omits the options that only the lead process uses."""
    for section in reversed(SECTIONS):
        options = tuple(
            (names, {**settings, "hidden": not ONLY_LEAD.isdisjoint(names)}) for names, settings in section.options
        )
        command = Section(section.title, options).add(command)
    return command


def sweep_sections(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command the sections that make sense without a pace. All other options keep their defaults."""
    shown = (TARGET, FIDELITY, SAFETY, FAILURES, OBSERVATION)
    hidden: dict[str, Any] = {}
    for section in (PACE, SELECTION):
        for names, settings in section.options:
            shape = Sectioned(list(names), **settings)
            value = settings.get("default")
            value = value if value is None else shape.type.convert(value, shape, None)
            hidden[str(shape.name)] = () if settings.get("multiple") else value

    def whole(*args: Any, **options: Any) -> Any:
        return command(*args, **{**hidden, **options})

    wrapped: Callable[..., Any] = update_wrapper(whole, command)
    for section in reversed(shown):
        wrapped = section.add(wrapped)
    return wrapped
