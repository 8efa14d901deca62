# SPDX-License-Identifier: Apache-2.0
"""Tests of a fleet: pairs of tape and target that begin together. Each pair has its own run."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError, QuerytapeError, RefusedError
from querytape.replay import Tick, Watcher
from querytape.replay.drivers.fleet import Pair, PairEnd, replay_fleet
from querytape.replay.plan.pacing import Amplification
from querytape.replay.plan.rules import Plan
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.growing_log import wait_until
from tests.helpers.primes import EVENTS, WRITTEN, prime_set, written
from tests.helpers.processes import QUERYTAPE, children_with, start
from tests.helpers.tapes import MS
from tests.helpers.whole import options, outcomes

NAMES = ("one", "two", "three")


@pytest.fixture
def shops(mariadb: Server, mysql80: Server) -> tuple[Server, Server]:
    """Two servers with an empty table for the statements of the sessions."""
    for server in (mariadb, mysql80):
        server.execute("CREATE DATABASE IF NOT EXISTS shop")
        server.execute("DROP TABLE IF EXISTS shop.log")
        server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    return mariadb, mysql80


def pairs(folder: Path, servers: tuple[Server, Server], gap_ns: int = 10 * MS, **more: Any) -> list[Pair]:
    """Return three pairs. The first two have the same target, and the third has another."""
    tapes = prime_set(folder, 3, gap_ns, stagger_ns=30 * MS)
    targets = dict(zip(NAMES, (servers[0], servers[0], servers[1]), strict=True))
    return [
        Pair(
            name,
            open_folder("tape", tapes / f"{number:02d}.tape"),
            options(targets[name], folder / "all.runs" / f"{name}.run", partial_ok=True, **more),
        )
        for number, name in enumerate(NAMES, 1)
    ]


def all_written(servers: tuple[Server, Server]) -> dict[int, int]:
    """Return the number of rows that each session has written on the servers."""
    return {**written(servers[0]), **written(servers[1])}


class At(Watcher):
    """A watcher that acts once when the run has begun. It keeps the findings."""

    def __init__(self, act: Callable[[], None] = lambda: None) -> None:
        self.act: Callable[[], None] | None = act
        self.said: list[str] = []

    def finding(self, finding: Any) -> None:
        """Keep the text of the finding."""
        self.said.append(finding.text)

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Act at the first tick after the first event."""
        if self.act is not None and done:
            act, self.act = self.act, None
            act()


def info_of(end: PairEnd) -> dict[str, Any]:
    """Return the run.json of a pair."""
    assert end.summary is not None, end.problem
    return end.summary.info


@pytest.mark.server
def test_pairs_begin_together_and_keep_the_order_of_their_times(shops: tuple[Server, Server], tmp_path: Path) -> None:
    """Every pair has its own complete run. All events are due at their original distances, over all pairs."""
    watcher = At()
    planned = pairs(tmp_path, shops)
    ends = replay_fleet(planned, tmp_path / "all.runs", watcher)
    assert [end.problem for end in ends] == [None] * 3
    assert all_written(shops) == WRITTEN
    infos = [info_of(end) for end in ends]
    assert sum(info["accounting"]["executed"] for info in infos) == EVENTS
    assert [info["fleet"]["pair"] for info in infos] == list(NAMES)
    assert len({info["fleet"]["run"] for info in infos}) == 1
    assert max(info["started_ns"] for info in infos) - min(info["started_ns"] for info in infos) < 50 * MS
    first = min(int(pair.tape.info["first_ns"]) for pair in planned)
    for pair in planned:
        due = outcomes(pair.options.output, "session, seq, due_ns")
        assert min(at for _, _, at in due) == int(pair.tape.info["first_ns"]) - first
    assert sorted(path.name for path in (tmp_path / "all.runs").iterdir()) == sorted(f"{name}.run" for name in NAMES)
    assert any(text.startswith("three: target ") for text in watcher.said)


@pytest.mark.server
def test_aligned_pairs_all_begin_with_an_event(shops: tuple[Server, Server], tmp_path: Path) -> None:
    planned = pairs(tmp_path, shops)
    replay_fleet(planned, tmp_path / "all.runs", align="start")
    for pair in planned:
        assert min(at for _, _, at in outcomes(pair.options.output, "session, seq, due_ns")) == 0


@pytest.mark.server
def test_refused_pair_stops_all_pairs_before_the_first_statement(shops: tuple[Server, Server], tmp_path: Path) -> None:
    """The message names the pair. No folder remains."""
    planned = pairs(tmp_path, shops)
    wrong = replace(planned[1].options, overrides=replace(planned[1].options.overrides, schemas={"shop": "missing"}))
    planned[1] = replace(planned[1], options=wrong)
    with pytest.raises(QuerytapeError, match="two: "):
        replay_fleet(planned, tmp_path / "all.runs")
    assert all_written(shops) == {}
    assert not (tmp_path / "all.runs").exists()


@pytest.mark.server
def test_sessions_of_all_pairs_on_a_target_count_together(shops: tuple[Server, Server], tmp_path: Path) -> None:
    """Each of the two pairs alone would be allowed."""
    planned = pairs(tmp_path, shops, amplification=Amplification(2), sample_ns=0)
    before = shops[0].execute("SELECT @@max_connections")[0][0]
    shops[0].execute("SET GLOBAL max_connections = 10")
    try:
        with pytest.raises(RefusedError, match=r"one, two: .*max_connections"):
            replay_fleet(planned, tmp_path / "all.runs")
    finally:
        shops[0].execute(f"SET GLOBAL max_connections = {before}")
    assert all_written(shops) == {}


@pytest.mark.server
def test_killed_pair_does_not_stop_the_others(shops: tuple[Server, Server], tmp_path: Path) -> None:
    def kill() -> None:
        os.kill(children_with("querytape.replay.drivers.local_process")[0], signal.SIGKILL)

    watcher = At(kill)
    ends = replay_fleet(pairs(tmp_path, shops, 60 * MS), tmp_path / "all.runs", watcher)
    lost = [end for end in ends if end.summary is None]
    assert len(lost) == 1
    assert lost[0].sent
    assert "signal 9" in str(lost[0].problem)
    assert f"{lost[0].name} is lost: {lost[0].problem}" in watcher.said
    assert all(info_of(end)["partial"] is None for end in ends if end.summary is not None)


@pytest.mark.server
def test_interrupt_ends_all_pairs_as_partial(shops: tuple[Server, Server], tmp_path: Path) -> None:
    watcher = At(lambda: signal.raise_signal(signal.SIGINT))
    ends = replay_fleet(pairs(tmp_path, shops, 100 * MS), tmp_path / "all.runs", watcher)
    assert all(info_of(end)["partial"] for end in ends)
    assert all(info_of(end)["accounting"]["balanced"] for end in ends)


@pytest.mark.server
def test_pairs_finish_their_runs_after_the_lead_was_killed(shops: tuple[Server, Server], tmp_path: Path) -> None:
    tapes = prime_set(tmp_path, 3, 50 * MS)
    text = 'replay = ["--allow-writes", "--target-is-disposable", "--partial-ok"]\n'
    for number, server in enumerate((shops[0], shops[0], shops[1]), 1):
        text += f'[[pair]]\ntape = "{tapes}/{number:02d}.tape"\ntarget = "{server.url("shop")}"\n'
    (tmp_path / "fleet.toml").write_text(text)
    process = start([*QUERYTAPE, "fleet", "fleet.toml", "-o", "all.runs"], cwd=tmp_path)
    wait_until(lambda: bool(all_written(shops)), "the first row")
    process.kill()
    process.wait()
    runs = [tmp_path / "all.runs" / f"{number:02d}.run" / "run.json" for number in (1, 2, 3)]
    wait_until(lambda: all(json.loads(run.read_text())["finished"] for run in runs), "the end of all runs")
    assert all_written(shops) == WRITTEN
    assert all(json.loads(run.read_text())["partial"] is None for run in runs)


@pytest.mark.server
def test_pair_without_events_to_send_does_not_stop_the_others(shops: tuple[Server, Server], tmp_path: Path) -> None:
    planned = pairs(tmp_path, shops)
    nothing = replace(planned[0].options, selection=replace(planned[0].options.selection, dbs=("other",)))
    planned[0] = replace(planned[0], options=nothing)
    ends = replay_fleet(planned, tmp_path / "all.runs")
    assert ends[0].summary is None
    assert not ends[0].sent
    assert ends[0].problem
    assert [info_of(end)["partial"] for end in ends[1:]] == [None, None]


@pytest.mark.server
def test_error_after_the_start_keeps_the_runs(
    shops: tuple[Server, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs are the only record of what was sent."""

    def fail(*_: object) -> None:
        raise QuerytapeError("the disk is full")

    monkeypatch.setattr("querytape.replay.drivers.fleet.summarise", fail)
    with pytest.raises(QuerytapeError, match="the disk is full"):
        replay_fleet(pairs(tmp_path, shops), tmp_path / "all.runs")
    for name in NAMES:
        assert json.loads((tmp_path / "all.runs" / f"{name}.run" / "run.json").read_text())["finished"]


def test_fleet_without_pairs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one pair"):
        replay_fleet([], tmp_path / "all.runs")
    assert not (tmp_path / "all.runs").exists()
