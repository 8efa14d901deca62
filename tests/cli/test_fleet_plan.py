# SPDX-License-Identifier: Apache-2.0
"""Tests of the plan of a fleet: valid plans, the plans of the documentation, and the messages about invalid plans."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from querytape.cli.commands.fleet import fleet_command
from querytape.cli.fleet_plan import read_fleet_plan
from querytape.common.errors import InputError

from tests.helpers.tapes import T0, make_tape

PAIR = '[[pair]]\ntape = "a.tape"\ntarget = "mysql://u@127.0.0.1/shop"\n'


def plan(folder: Path, text: str) -> Path:
    """Write a plan and return its path."""
    path = folder / "fleet.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_options_of_all_pairs_come_before_those_of_a_pair(tmp_path: Path) -> None:
    """The later option counts. The name of a pair is that of its tape, unless the plan has another."""
    make_tape(tmp_path / "a.tape", [{"statement": "SELECT 1", "start_ns": T0}])
    target = 'target = "mysql://u@127.0.0.1/shop"'
    text = (
        'replay = ["--speed", "2", "--db", "x"]\n'
        f'[[pair]]\ntape = "{tmp_path}/a.tape"\n{target}\n'
        f'[[pair]]\nname = "b c"\ntape = "{tmp_path}/a.tape"\n{target}\nreplay = ["--speed=3", "--db=y"]\n'
    )
    planned = read_fleet_plan(plan(tmp_path, text))
    with ExitStack() as stack:
        pairs = [pair.open(tmp_path / "all.runs", stack) for pair in planned]
    assert [pair.name for pair in pairs] == ["a", "b c"]
    assert [float(pair.options.pace.speed) for pair in pairs] == [2, 3]
    assert [pair.options.selection.dbs for pair in pairs] == [("x",), ("x", "y")]
    assert pairs[1].options.output == tmp_path / "all.runs" / "b c.run"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected at least one \[\[pair\]\]"),
        ("pair = 3", r"expected at least one \[\[pair\]\]"),
        ("[[pair]\n", "cannot read the plan"),
        ('speed = 2\n[[pair]]\ntape = "a"', "the plan: unknown 'speed'; expected pair, replay"),
        (f"{PAIR}speed = 2", "pair 1: unknown 'speed'; expected name, replay, tape, target"),
        ('[[pair]]\ntarget = "x"', "pair 1: expected tape = TEXT"),
        ('[[pair]]\ntape = "x"', "pair 1: expected target = TEXT"),
        (f'{PAIR}replay = "--speed 2"', r'pair 1: expected replay = \["--speed", "2"\]'),
        (f"{PAIR}replay = [1]", "pair 1: expected replay"),
        *(
            (
                f'{PAIR}replay = ["--speed", "2", "{word}"]',
                f"pair 1: {word.partition('=')[0]} is not possible in a plan",
            )
            for word in ("-o", "-ox.run", "--target=x", "--start-at", "--follow", "--no-live", "--help", "--metrics=:1")
        ),
        (f"{PAIR}{PAIR}", "several pairs have the name 'a'"),
        (f'{PAIR}name = "../x"', "pair 1: the name must be a file name"),
        (f'{PAIR}name = ""', "pair 1: the name must be a file name"),
        (f"{PAIR}name = 3", "pair 1: the name must be a file name"),
    ],
)
def test_invalid_plan_is_an_error_that_names_the_place(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_fleet_plan(plan(tmp_path, text))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ('["--drivers", "local:2"]', "pair 'a': No such option"),
        ('["--speed", "x"]', "pair 'a': .*expected a number such as 1"),
        ("[]", "pair 'a': a.tape: no such tape"),
    ],
)
def test_invalid_pair_is_an_error_that_names_the_pair(words: str, message: str, tmp_path: Path) -> None:
    (pair,) = read_fleet_plan(plan(tmp_path, f"{PAIR}replay = {words}"))
    with ExitStack() as stack, pytest.raises(InputError, match=message):
        pair.open(tmp_path, stack)


def test_plans_of_the_documentation_are_valid(checkout: Path, tmp_path: Path) -> None:
    page = (checkout / "docs" / "scaling.md").read_text(encoding="utf-8")
    shown = page.split("lists the pairs of tape and target:\n")[1].split("\n`replay` has options")[0]
    helped = str(fleet_command.epilog).split("Example of a plan:\n")[1].split("\n\b")[0]
    for text in (shown, helped):
        pairs = read_fleet_plan(plan(tmp_path, "\n".join(line.strip() for line in text.splitlines())))
        assert [pair.name for pair in pairs] == ["shop", "stock"]
        assert pairs[1].words[-2:] == ("--defaults-file", "stock.cnf")
