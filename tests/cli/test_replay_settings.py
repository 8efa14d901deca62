# SPDX-License-Identifier: Apache-2.0
"""Tests of the conversion from command line options to ReplayOptions."""

from dataclasses import fields
from fractions import Fraction
from typing import Any

import click
import pytest
from querytape.cli.replay_settings import (
    options_of,
    overrides_of,
    pace_of,
    parse_replay_options,
    selection_of,
)
from querytape.cli.server_options import LOGIN, TLS
from querytape.replay import Target
from querytape.replay.options import ReplayOptions
from querytape.replay.plan.pacing import Amplification, Pace
from querytape.replay.plan.selection import Selection

TARGET = Target("app", host="db", address="127.0.0.1", password="secret")
REQUIRED = ["--target", "mysql://app@db", "-o", "x.run"]


def parsed(*words: str) -> dict[str, Any]:
    return parse_replay_options([*REQUIRED, *words])


def test_option_defaults_equal_the_library_defaults() -> None:
    made = options_of(parsed(), TARGET, 0)
    assert made == ReplayOptions(TARGET, made.output)


def test_pace_options_are_combined_and_contradictions_are_refused() -> None:
    assert pace_of(parsed("--speed", "2", "--think-speed", "1/2")) == Pace(
        "schedule", Fraction(2), None, Fraction(1, 2)
    )
    assert pace_of(parsed("--pace", "none")) == Pace("none")
    with pytest.raises(click.UsageError, match="no due time"):
        pace_of(parsed("--pace", "none", "--ramp", "1s"))
    for option in ("--speed", "--think-speed"):
        with pytest.raises(click.UsageError, match="expected a number"):
            parsed(option, "max")


def test_relative_times_of_a_selection_start_at_the_first_event() -> None:
    selection = selection_of(parsed("--from", "+1s", "--to", "1970-01-01 00:01", "--user", "a", "--user", "b"), 5)
    assert (selection.from_ns, selection.to_ns) == (1_000_000_005, 60_000_000_000)
    assert tuple(selection.users) == ("a", "b")


def test_sessions_option_accepts_a_share_or_a_number() -> None:
    share, number = (selection_of(parsed("--sessions", text), 0) for text in ("10%", "500"))
    assert (share.sample, share.max_sessions) == (Fraction(1, 10), None)
    assert (number.sample, number.max_sessions) == (None, 500)


def test_mapped_user_uses_the_password_of_the_run() -> None:
    overrides = overrides_of(parsed("--map-user", "a=b", "--map-db", "x=y", "--now", "original"), "secret")
    assert overrides.accounts["a"].user == "b"
    assert overrides.accounts["a"].password == "secret"


# Options whose field in ReplayOptions has another name, and options that the command itself uses.
MADE = {"target", "reads_to", "pace", "from_at", "to_at", "order", "now", "insert_id", "allow_statements", "part"}
MADE |= {"accounts_file", "map_user", "map_db"}
OF_THE_COMMAND = {"follow", "metrics", "live", "target_slowlog"}


def test_every_replay_option_has_an_effect() -> None:
    """Each option is a field of an options class, or it is in one of the lists above. This check finds options that the
    command silently ignores.
    """
    kinds = (ReplayOptions, Selection, Amplification, Pace)
    known = {field.name for kind in kinds for field in fields(kind)} | MADE | OF_THE_COMMAND
    login = {click.Option(list(names)).name for names, _ in (*LOGIN, *TLS)} | {"compress"}
    assert parsed().keys() - known - login == set()


def test_each_engine_option_sets_its_field() -> None:
    made = options_of(parsed("--statement-timeout", "2s", "--queue-memory", "1G", "--on-lost", "reopen"), TARGET, 0)
    assert (made.statement_timeout_ns, made.queue_bytes, made.on_lost) == (2_000_000_000, 1 << 30, "reopen")


def test_unknown_replay_options_are_refused() -> None:
    with pytest.raises(click.UsageError, match="No such option"):
        parsed("--haste", "9")
