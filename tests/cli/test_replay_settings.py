# SPDX-License-Identifier: Apache-2.0
"""From the options of the command line to ReplayOptions."""

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
    """Return what click makes of options."""
    return parse_replay_options([*REQUIRED, *words])


def test_defaults_are_those_of_the_library() -> None:
    """Without an option every field has ReplayOptions' own default."""
    made = options_of(parsed(), TARGET, 0)
    assert made == ReplayOptions(TARGET, made.output)


def test_pace() -> None:
    """A speed, other speeds for sessions, or none at all; what contradicts it is refused."""
    assert pace_of(parsed("--speed", "2", "--think-speed", "1/2")) == Pace(
        "schedule", Fraction(2), None, Fraction(1, 2)
    )
    assert pace_of(parsed("--pace", "none")) == Pace("none")
    with pytest.raises(click.UsageError, match="nothing is due"):
        pace_of(parsed("--pace", "none", "--ramp", "1s"))
    for option in ("--speed", "--think-speed"):
        with pytest.raises(click.UsageError, match="expected a number"):
            parsed(option, "max")


def test_selection() -> None:
    """Relative times begin at the tape's first event."""
    selection = selection_of(parsed("--from", "+1s", "--to", "1970-01-01 00:01", "--user", "a", "--user", "b"), 5)
    assert (selection.from_ns, selection.to_ns) == (1_000_000_005, 60_000_000_000)
    assert tuple(selection.users) == ("a", "b")


def test_overrides() -> None:
    """A user that is only renamed has the run's password."""
    overrides = overrides_of(parsed("--map-user", "a=b", "--map-db", "x=y", "--now", "original"), "secret")
    assert overrides.accounts["a"].user == "b"
    assert overrides.accounts["a"].password == "secret"


# Options whose values are made into something else, or that the command itself uses.
MADE = {"target", "reads_to", "pace", "from_at", "to_at", "order", "now", "insert_id", "allow_statements"}
MADE |= {"accounts_file", "map_user", "map_db", "sandbox_data", "sandbox_option"}
OF_THE_COMMAND = {"follow", "metrics", "live", "target_slowlog"}


def test_every_option_sets_something() -> None:
    """An option is a field of one of these classes, or it is in a list above: none is dropped by its name."""
    kinds = (ReplayOptions, Selection, Amplification, Pace)
    known = {field.name for kind in kinds for field in fields(kind)} | MADE | OF_THE_COMMAND
    login = {click.Option(list(names)).name for names, _ in (*LOGIN, *TLS)} | {"compress"}
    assert parsed().keys() - known - login == set()


def test_settings_of_the_engine() -> None:
    """Each option sets the field that is declared for it."""
    made = options_of(parsed("--statement-timeout", "2s", "--queue-memory", "1G", "--on-lost", "reopen"), TARGET, 0)
    assert (made.statement_timeout_ns, made.queue_bytes, made.on_lost) == (2_000_000_000, 1 << 30, "reopen")


def test_a_wrong_option() -> None:
    """Options given as words are refused as on the command line."""
    with pytest.raises(click.UsageError, match="No such option"):
        parsed("--haste", "9")
