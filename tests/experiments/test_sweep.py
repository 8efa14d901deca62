# SPDX-License-Identifier: Apache-2.0
"""`querytape sweep`: levels of concurrency that the replay engine enforces and the page shows."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.analyze.render.chart_library import chart_library
from querytape.cli.commands.sweep import sweep_command
from querytape.experiments.sweep import expand_levels, rounds_for
from querytape.replay import replay
from querytape.replay.plan.pacing import MAX_CLONES, Amplification, Pace
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import accounting, options, query


def test_three_dots_continue_the_levels_by_the_preceding_factor() -> None:
    assert expand_levels("1,2,4,...,64") == (1, 2, 4, 8, 16, 32, 64)
    assert expand_levels("1,3,...,30,50") == (1, 3, 9, 27, 30, 50)
    assert expand_levels("5") == (5,)


def test_level_has_enough_work(tmp_path: Path) -> None:
    """The tape is repeated until each session has work at least twice. The events must last for the duration of the
    level.
    """
    tape = make_tape(tmp_path / "t.tape", [{"session": s, "statement": "SELECT 1"} for s in range(1, 5)])
    assert rounds_for(tape, 1, 0) == 2
    assert rounds_for(tape, 16, 0) == 9
    assert rounds_for(tape, 1, 1_000_000_000) == 5001
    assert rounds_for(tape, 1, 3600 * 1_000_000_000) == MAX_CLONES


@pytest.mark.sampled
@pytest.mark.server
@pytest.mark.parametrize("max_concurrent_sessions", [1, 3])
def test_number_of_open_sessions_is_limited(shop: Server, tmp_path: Path, max_concurrent_sessions: int) -> None:
    """Sessions that overlapped on the tape run one after another. Each event runs once per round."""
    events = [
        {"session": s, "statement": "SELECT SLEEP(0.003)", "start_ns": T0 + n * 10 * MS}
        for n in range(5)
        for s in range(1, 9)
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    settings = options(
        shop,
        tmp_path / "a.run",
        pace=Pace("none"),
        max_concurrent_sessions=max_concurrent_sessions,
        amplification=Amplification(loop=3),
        queue_bytes=2000,
    )
    summary = replay(tape, settings)
    assert accounting(summary) == (3 * len(events), 0, 0, 0)
    overlapping = query(
        "SELECT max(open) FROM (SELECT sum(step) OVER (ORDER BY moment, step ROWS UNBOUNDED PRECEDING) AS open FROM"
        f" (SELECT connected_ns AS moment, 1 AS step FROM '{summary.path}/sessions.parquet'"
        f" UNION ALL SELECT closed_ns, -1 FROM '{summary.path}/sessions.parquet'))"
    )
    assert overlapping[0][0] <= max_concurrent_sessions


@pytest.mark.long
@pytest.mark.server
def test_sweep_is_measured_and_drawn(shop: Server, tmp_path: Path) -> None:
    """Each level of the sweep is measured for its duration. More sessions reach a higher throughput. The page and the
    numbers are stored.
    """
    events = [{"session": s, "statement": "SELECT SLEEP(0.005)"} for _ in range(20) for s in range(1, 5)]
    tape = make_tape(tmp_path / "t.tape", events)
    command = [str(tape), "--target", shop.url("shop"), "--sessions", "1,4,...,16", "--each", "2s", "-o"]
    found = CliRunner().invoke(sweep_command, [*command, str(tmp_path / "s")], standalone_mode=False)
    assert found.exception is None, found.output
    levels = json.loads((tmp_path / "s" / "sweep.json").read_text())["levels"]
    assert [level["sessions"] for level in levels] == [1, 4, 16]
    assert levels[0]["per_second"] * 1.5 < levels[1]["per_second"] < levels[2]["per_second"]
    assert all(1e9 < level["elapsed_ns"] < 60e9 and level["p50_ns"] >= 5e6 for level in levels)
    page = (tmp_path / "s" / "sweep.html").read_text().replace(chart_library(), "")
    assert page.count('class="chart"') == 2
    assert "http:" not in page
    assert "https:" not in page
    assert found.output.count("\n") == 5
    again = CliRunner().invoke(sweep_command, [*command, str(tmp_path / "s")], standalone_mode=False)
    assert "already exists" in str(again.exception)
