# SPDX-License-Identifier: Apache-2.0
"""Declares the options of `querytape replay`, in sections; replay_settings.py makes ReplayOptions of their values."""

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
    """Return the options that set the lists of an EventFilter; `verb`: what the command does with those events."""
    return (
        option(
            "--user",
            "users",
            multiple=True,
            metavar="NAME",
            help=f"{verb} sessions of this user. This option and the next ones may be given several times.",
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
            help="When events are sent: at their original times (schedule), after the original pauses of their session"
            " (think), or as fast as the target answers (none).",
        ),
        option(
            "--speed",
            type=Speed(),
            default="1",
            show_default=True,
            help="Factor of the tape's speed: 0.5, 1, 2, 3/2, ...",
        ),
        option("--connect-speed", type=Speed(), help="Factor for the times when sessions begin. Default: --speed."),
        option("--think-speed", type=Speed(), help="Factor for the pauses inside sessions. Default: --speed."),
        option(
            "--max-idle",
            "max_idle_ns",
            type=Duration(),
            help="Shorten each time in which no session does anything to this.",
        ),
        option(
            "--ramp",
            "ramp_ns",
            type=Duration(),
            default="0s",
            show_default=True,
            help="Time in which the speed rises from zero to --speed.",
        ),
        option("--duration", "stop_after_ns", type=Duration(), help="Stop sending after this long."),
        option(
            "--follow", is_flag=True, help="Continue with a tape that a capture is writing, until the capture ends."
        ),
        option(
            "--start-at", "start_at_ns", type=Moment(), metavar="TIME", help="Send the first event at this time (UTC)."
        ),
        engine_option("lead_ns"),
        engine_option("connect_rate"),
    ),
)

SELECTION = Section(
    "Selection (a transaction is replayed whole or not at all)",
    (
        option(
            "--from",
            "from_at",
            type=Moment(relative=True),
            metavar="TIME",
            help="Replay events from this time on: UTC, or +10m after the tape's first event.",
        ),
        option(
            "--to",
            "to_at",
            type=Moment(relative=True),
            metavar="TIME",
            help="Replay events before this time: UTC, or +20m after the tape's first event.",
        ),
        *filter_options("Replay"),
        option(
            "--sessions",
            "part",
            type=Part(),
            metavar="SHARE|NUMBER",
            help="Replay this share of the sessions, such as 10%, or at most this number of them; the same ones each"
            " time.",
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
            help="Replay what failed in this run of the tape, with its transactions and its sessions' state.",
        ),
        option(
            "--slower-in",
            type=FILE,
            metavar="FILE",
            help="Replay the digests that this report (report --json) calls slower, in the same way.",
        ),
        option(
            "--amplify",
            type=click.IntRange(1),
            metavar="NUMBER",
            default=1,
            help="Replay each session this number of times, at the same time.",
        ),
        option(
            "--amplify-shift",
            "shift_ns",
            type=Duration(),
            default="1s",
            show_default=True,
            help="Largest delay of an amplified session against its original.",
        ),
        option(
            "--loop",
            type=click.IntRange(1),
            metavar="NUMBER",
            default=1,
            help="Replay the whole tape this number of times, one after the other.",
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
            help="Order between sessions: by time alone, or (commit) an event also waits for the commits of other"
            " sessions that came before it on the tape.",
        ),
        engine_option("order_bound_ns"),
        option(
            "--now",
            type=click.Choice(["wall", "original"]),
            default="wall",
            show_default=True,
            help="Value of NOW() and its like: the time of the replay, or the original time.",
        ),
        option(
            "--insert-id",
            type=click.Choice(["target", "original"]),
            default="target",
            show_default=True,
            help="AUTO_INCREMENT values: as the target generates them, or those on the tape.",
        ),
        engine_option("verify"),
    ),
)

SAFETY = Section(
    "Safety",
    (
        option("--allow-writes", is_flag=True, help="Also send writes and DDL. Default: only reads are sent."),
        option(
            "--target-is-disposable",
            is_flag=True,
            help="Confirm that the target's data may be lost; needed for --allow-writes if the tape does not say which"
            " server it was recorded on.",
        ),
        option(
            "--allow-statement",
            "allow_statements",
            multiple=True,
            type=click.Choice([name for name in DANGERS if name != "none"]),
            metavar="NAME",
            help="Also send this kind of dangerous statement (names below); may be given several times.",
        ),
        option(
            "--partial-ok",
            is_flag=True,
            help="Replay a partial tape, from which a part of the original traffic is missing.",
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
            help="Interval at which the target's counters are recorded; 0s: never.",
        ),
        option(
            "--host-metrics",
            metavar="ssh://USER@HOST",
            help="Also record the counters of the target's machine, through ssh.",
        ),
        option(
            "--query-plans/--no-query-plans",
            default=True,
            show_default=True,
            help="After the run, record EXPLAIN of the costliest statements.",
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
            help="Record the output of pt-mysql-summary, pt-summary and pt-config-diff, where installed.",
        ),
        METRICS,
        LIVE,
        engine_option("timer_probes"),
    ),
)

SECTIONS = (TARGET, PACE, SELECTION, FIDELITY, SAFETY, FAILURES, OBSERVATION, TARGET_SLOWLOG)


def all_sections(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command every section's options."""
    for section in reversed(SECTIONS):
        command = section.add(command)
    return command


def sweep_sections(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the sections that make sense without a pace; the other options have their defaults."""
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
