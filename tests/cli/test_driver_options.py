# SPDX-License-Identifier: Apache-2.0
"""Tests of the replay options for drivers: valid forms and refused combinations."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from querytape.cli.commands.replay import replay_command
from querytape.cli.driver_options import DRIVERS, drivers_of
from querytape.replay.drivers.shares import Drivers


def parsed(*words: str) -> dict[str, object]:
    @click.command()
    @DRIVERS.add
    def command(**options: object) -> None:
        pass

    return {"follow": False, "metrics": None, **command.make_context("x", list(words)).params}


def test_driver_options_are_parsed() -> None:
    """The cases are no drivers, drivers on this host, and drivers on other hosts. An IPv6 address must be in brackets."""
    assert drivers_of(parsed()) is None
    assert drivers_of(parsed("--drivers", "local:3")) == Drivers(3)
    words = ["--drivers", "join:12", "--listen", "[::1]:7000", "--join-key", "k", "--gather", "5s"]
    found = drivers_of(parsed(*words, "--on-driver-lost", "stop"))
    assert found == Drivers(12, True, ("::1", 7000), Path("k"), 5.0, "stop")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drivers", "3"], "expected local:N or join:N with N from 1 to 99"),
        (["--drivers", "local:0"], "expected local:N or join:N"),
        (["--drivers", "local:100"], "expected local:N or join:N"),
        (["--drivers", "local:x"], "expected local:N or join:N"),
        (["--drivers", "ray"], "cannot start drivers with Ray. Start `querytape driver --join` on each host"),
        (["--drivers", "ray:head:6379"], "cannot start drivers with Ray"),
        (["--drivers", "join:2"], "join:N requires --listen"),
        (["--drivers", "join:2", "--listen", "7000"], "expected HOST:PORT"),
        (["--drivers", "join:2", "--listen", "a:99999"], "expected HOST:PORT"),
        (["--listen", "a:1"], "--listen requires --drivers join:N"),
        (["--drivers", "local:2", "--join-key", "k"], "--join-key requires --drivers join:N"),
        (["--drivers", "local:2", "--follow"], "--follow cannot be combined with --drivers"),
        (["--drivers", "local:2", "--metrics", ":9464"], "--metrics cannot be combined with --drivers"),
    ],
)
def test_invalid_driver_options_exit_with_2(words: list[str], message: str) -> None:
    found = CliRunner().invoke(replay_command, ["t.set", "--target", "mysql://a@b", "-o", "r", *words])
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())
