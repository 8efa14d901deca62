# SPDX-License-Identifier: Apache-2.0
"""Tests of the replay options for drivers: valid forms and refused combinations."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from querytape.cli.commands.driver import driver_command
from querytape.cli.commands.replay import replay_command
from querytape.cli.driver_options import DRIVERS, OF_LEAD, driver_words, drivers_of
from querytape.replay.drivers.ray_nodes import RayNodes
from querytape.replay.drivers.shares import Drivers
from querytape.replay.drivers.ssh import SshHosts


def parsed(*words: str) -> dict[str, object]:
    @click.command()
    @DRIVERS.add
    def command(**options: object) -> None:
        pass

    return {"follow": False, "metrics": None, "tapes": ("a.set",), **command.make_context("x", list(words)).params}


def test_driver_options_are_parsed() -> None:
    """The cases are no drivers, drivers on this host, and drivers that users start. An IPv6 address must be in brackets."""
    assert drivers_of(parsed()) is None
    assert drivers_of(parsed("--drivers", "local:3")) == Drivers(3)
    words = ["--drivers", "join:12", "--listen", "[::1]:7000", "--join-key", "k", "--gather", "5s"]
    found = drivers_of(parsed(*words, "--on-driver-lost", "stop"))
    assert found == Drivers(12, True, None, ("::1", 7000), Path("k"), 5.0, "stop")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--drivers", "3"], "expected local:N or join:N with N from 1 to 500"),
        (["--drivers", "local:0"], "expected local:N or join:N"),
        (["--drivers", "local:501"], "expected local:N or join:N"),
        (["--drivers", "local:x"], "expected local:N or join:N"),
        (["--drivers", "ssh:"], "expected ssh:HOST,HOST"),
        (["--drivers", "ssh:a,,b"], "expected ssh:HOST,HOST"),
        (["--drivers", "ssh:a,-oProxyCommand=x"], "expected ssh:HOST,HOST"),
        (["--drivers", "ssh:a, b"], "expected ssh:HOST,HOST"),
        (["--drivers", "ssh:" + ",".join("a" * 501)], "expected at most 500 hosts, found 501"),
        (["--drivers", "ssh:a", "--ask-password"], "--drivers ssh with --ask-password: give each host its own"),
        (["--drivers", "ssh:a", "--target", "sandbox:mariadb"], "--target must be a server that the hosts can reach"),
        (["--drivers", "ssh:a", "other.tape"], "give one set of tapes"),
        (["--drivers", "ray", "--init", "SET @a = 1"], "all users of the cluster could read the statements"),
        (["--drivers", "ssh:a", "--insecure-cluster"], "--insecure-cluster requires --drivers ray"),
        (["--drivers", "join:2"], "join:N requires --listen"),
        (["--drivers", "join:2", "--listen", "7000"], "expected HOST:PORT"),
        (["--drivers", "join:2", "--listen", "a:99999"], "expected HOST:PORT"),
        (["--listen", "a:1"], "--listen requires --drivers join:N, ssh or ray"),
        (["--drivers", "local:2", "--join-key", "k"], "--join-key requires --drivers join:N, ssh or ray"),
        (["--drivers", "local:2", "--follow"], "--follow cannot be combined with --drivers"),
        (["--drivers", "local:2", "--metrics", ":9464"], "--metrics cannot be combined with --drivers"),
    ],
)
def test_invalid_driver_options_exit_with_2(words: list[str], message: str) -> None:
    found = CliRunner().invoke(replay_command, ["t.set", "--target", "mysql://a@b", "-o", "r", *words])
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


def words_of(*words: str) -> tuple[str, ...]:
    """Return the words that a driver gets for this command line of `querytape replay`."""
    with replay_command.make_context("replay", list(words)) as ctx:
        return driver_words(ctx, OF_LEAD)


def test_name_of_a_tape_that_looks_like_an_option_stays_a_path() -> None:
    assert words_of("--target", "mysql://u@h/d", "-o", "a.run", "--", "-odd.set")[0] == "./-odd.set"


def test_driver_gets_the_options_as_the_user_wrote_them() -> None:
    """Options of the lead process are left out. Values with any characters stay one word."""
    given = [
        "--speed",
        "3/2",
        "a.set",
        "-o",
        "a.run",
        "--db",
        "x y",
        "--no-query-plans",
        "--db=--odd",
        "--allow-writes",
    ]
    of_lead = [
        "--drivers",
        "ssh:a,b",
        "--start-at",
        "2099-01-01 20:00",
        "--no-live",
        "--gather",
        "5s",
        "--listen",
        "a:7",
    ]
    found = words_of(*given, *of_lead, "--target", "mysql://u@h/d?x=$(y)", "--sample=0")
    assert found[0] == "a.set"
    assert sorted(found[1:]) == sorted(
        [
            "--allow-writes",
            "--db=--odd",
            "--db=x y",
            "--no-query-plans",
            "--sample=0",
            "--speed=3/2",
            "--target=mysql://u@h/d?x=$(y)",
        ]
    )


def test_driver_command_accepts_every_word_that_a_driver_can_get() -> None:
    """Every option of `querytape replay` is an option of `querytape driver`, or belongs to the lead process."""
    of_drivers = {names[0] for names, _ in DRIVERS.options}
    known = {param.opts[-1] for param in driver_command.params}
    for param in replay_command.params:
        if isinstance(param, click.Argument) or param.name in (*OF_LEAD, "help_all"):
            continue
        assert param.opts[-1] in known | of_drivers


def test_program_that_starts_the_drivers_has_the_hosts() -> None:
    where = []
    for kind, launcher in (("ssh:a,u@b", SshHosts), ("ray:head:6379", RayNodes)):
        words = ["a.set", "--target", "mysql://u@127.0.0.1", "-o", "x/a.run", "--drivers", kind, "--speed=2"]
        with replay_command.make_context("replay", words) as ctx:
            found = drivers_of({**ctx.params, "tapes": ("a.set",)})
        assert found is not None
        assert isinstance(found.launcher, launcher)
        assert found.launcher.command.stem == "a"
        assert found.listen == ("", 0)
        where.append(found.launcher.where)
    assert where == ["a, u@b", "the Ray cluster at head:6379"]
