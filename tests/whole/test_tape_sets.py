# SPDX-License-Identifier: Apache-2.0
"""Tests that a set of tapes gives the same replay, inspection and report as one tape."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.tools.deal import deal
from querytape.capture.tools.gather import gather
from querytape.replay import replay
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.mixed import mixed_tape
from tests.helpers.processes import run_command
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options, query


@pytest.fixture
def shop(any_shop: Server) -> Server:
    """Provide a server with the tables to which the tapes write."""
    fresh(any_shop)
    return any_shop


def fresh(server: Server) -> None:
    for statement in (
        "DROP TABLE IF EXISTS shop.account, shop.log",
        "CREATE TABLE shop.account (id INT PRIMARY KEY, v BIGINT)",
        "CREATE TABLE shop.log (n INT, s VARCHAR(9))",
        "INSERT INTO shop.account VALUES " + ", ".join(f"({n}, 0)" for n in range(50)),
    ):
        server.execute(statement)


def contents(server: Server) -> tuple[Any, ...]:
    return tuple(server.execute(f"SELECT * FROM shop.{table} ORDER BY 1, 2") for table in ("account", "log"))


def sent(run: Path) -> list[Any]:
    """Return the outcome of each event in a run."""
    return query(f"SELECT session, seq, status, reason, errno FROM '{run}/outcomes/*.parquet' ORDER BY session, seq")


@pytest.mark.long
@pytest.mark.parametrize("order", mostly_long([False, True], False), ids=["schedule", "order of commits"])
def test_dealt_set_is_replayed_like_the_tape(order: bool, shop: Server, tmp_path: Path) -> None:
    """Each event has the same outcome, and the data after the replay is equal."""
    tape = mixed_tape(tmp_path / "m.tape", 12, 400)
    deal(tape, 4, tmp_path / "m.set")
    found = {}
    for name in ("m.tape", "m.set"):
        fresh(shop)
        output = tmp_path / f"{name}.run"
        summary = replay(tmp_path / name, options(shop, output, pace=Pace("none"), partial_ok=True, commit_order=order))
        assert accounting(summary)[0] > 300
        found[name] = (accounting(summary), sent(output), contents(shop))
    assert found["m.tape"] == found["m.set"]


@pytest.mark.long
@pytest.mark.parametrize("server", mostly_long(["mariadb", "mysql80"], "mysql80"), indirect=True)
def test_reports_of_a_set_and_its_tape_are_equal(shop: Server, tmp_path: Path) -> None:
    """Runs of the tape can be reported with the set, and runs of the set with the tape. The JSON reports differ only in
    their paths.
    """
    tape = mixed_tape(tmp_path / "m.tape", 12, 400)
    deal(tape, 3, tmp_path / "m.set")
    for name in ("m.tape", "m.set"):
        given = options(shop, tmp_path / f"of-{name}.run", pace=Pace("none"), partial_ok=True)
        replay(tmp_path / name, given)
    said = []
    runs = [tmp_path / f"of-{name}.run" for name in ("m.tape", "m.set")]
    for name in ("m.tape", "m.set"):
        run_command("report", tmp_path / name, *runs, "--json", tmp_path / "r.json")
        said.append((tmp_path / "r.json").read_text().replace(str(tmp_path / name), "TAPE"))
    assert said[0] == said[1]
    inspected = [json.loads(run_command("inspect", tmp_path / name, "--json").stdout) for name in ("m.tape", "m.set")]
    for each in inspected:
        for own in ("path", "parts", "tables", "tapes", "set_of"):
            each.pop(own, None)
    assert inspected[0] == inspected[1]
    shown = run_command("inspect", tmp_path / "m.set").stdout
    assert "a set of 3 tapes" in " ".join(shown.split())  # a long path may wrap the line


@pytest.mark.long
@pytest.mark.parametrize("server", mostly_long(["mariadb", "mysql80"], "mysql80"), indirect=True)
@pytest.mark.parametrize("pace", [Pace("none"), Pace.of(Fraction(20))], ids=["none", "schedule"])
def test_captures_of_two_servers_are_replayed_together(pace: Pace, shop: Server, tmp_path: Path) -> None:
    """Each session of the two tapes has its own connection. The rows after the replay contain the changes of both
    tapes.
    """
    folder = tmp_path / "all.set"
    folder.mkdir()
    tapes = [mixed_tape(folder / f"{n}.tape", 4 + n, 150, n) for n in (1, 2)]
    gather(folder)
    alone = []
    for number, tape in enumerate(tapes):
        summary = replay(tape, options(shop, tmp_path / f"{number}.run", pace=Pace("none"), partial_ok=True))
        alone += [sent(summary.path)]
    both = contents(shop)
    fresh(shop)
    summary = replay(folder, options(shop, tmp_path / "both.run", pace=pace, partial_ok=True))
    assert accounting(summary)[0] > 200
    assert sent(summary.path) == [*alone[0], *((row[0] + 5, *row[1:]) for row in alone[1])]
    assert contents(shop) == both
