# SPDX-License-Identifier: Apache-2.0
"""The folder of a comparison, and the rounds that count."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import QuerytapeError, TargetError
from querytape.experiments import compare
from querytape.experiments.compare import reset_targets, run_comparison
from querytape.experiments.compare_plan import ComparePlan, complete_rounds, is_comparison, is_complete
from querytape.replay import ReplayOptions, RunSummary, Target, Watcher
from querytape.schemas import open_folder

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_only_complete_rounds_count(tmp_path: Path) -> None:
    """Killed runs, stopped runs and runs without a counterpart are excluded. Later rounds keep their counterparts."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    for name in ("a1", "b1", "a2", "b2", "a3", "b3", "a4", "warm-a1"):
        make_run(tmp_path / f"{name}.run", tape, [{}])
    stopped = tmp_path / "b2.run" / "run.json"
    stopped.write_text(json.dumps({**json.loads(stopped.read_text()), "partial": "stopped by the user"}))
    (tmp_path / "b4.run").mkdir()  # a run that was killed before it wrote anything
    assert not is_complete(tmp_path / "b4.run")
    assert not is_complete(tmp_path / "b2.run")
    rounds = complete_rounds(tmp_path)
    assert [path.name for path in rounds["a"]] == ["a1.run", "a3.run"]
    assert [path.name for path in rounds["b"]] == ["b1.run", "b3.run"]


TARGETS = {"a": "mysql://a@old", "b": "mysql://b@new"}


def test_only_missing_runs_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs alternate between the sides. Each run opens its own options and closes them afterwards. Complete runs
    are kept.
    """
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    log: list[str] = []

    def fake_replay(tape_path: Path, options: ReplayOptions, watcher: Watcher) -> RunSummary:
        log.append(f"{options.target.user} {options.output.name}")
        return RunSummary(options.output, open_folder("run", make_run(options.output, tape_path, [{}])).info)

    @contextmanager
    def make_options(side: str, path: Path) -> Iterator[ReplayOptions]:
        yield ReplayOptions(Target(side, socket="/s"), path)
        log.append(f"closed {path.stem}")

    monkeypatch.setattr(compare, "replay", fake_replay)
    monkeypatch.setattr(Target, "connect", lambda target: io.StringIO())
    folder, said = tmp_path / "c", list[str]()
    plan = ComparePlan(tape, TARGETS, rounds=1, pause_ns=0)
    run_comparison(plan, folder, make_options, said.append, Watcher)
    assert log == ["closed check", "closed check", "a a1.run", "closed a1", "b b1.run", "closed b1"]
    assert said == ["a1.run: mysql://a@old", "b1.run: mysql://b@new"]
    assert is_comparison(folder)
    log.clear()
    run_comparison(replace(plan, rounds=2), folder, make_options, said.append, Watcher)
    assert log[2:] == ["a a2.run", "closed a2", "b b2.run", "closed b2"]
    assert len(complete_rounds(folder)["b"]) == 2


@pytest.mark.parametrize("reset", [None, "true"])
def test_unreachable_server_ends_the_comparison_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reset: str | None
) -> None:
    """A run of A would be useless if B is unreachable. If a reset command exists, the servers are not checked, because
    the command may start them.
    """
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    log: list[str] = []

    def fake_replay(tape_path: Path, options: ReplayOptions, watcher: Watcher) -> RunSummary:
        log.append(options.output.name)
        return RunSummary(options.output, open_folder("run", make_run(options.output, tape_path, [{}])).info)

    def connect(target: Target) -> Any:
        if target.user == "b":
            raise TargetError("cannot connect to b")
        return io.StringIO()

    @contextmanager
    def make_options(side: str, path: Path) -> Iterator[ReplayOptions]:
        yield ReplayOptions(Target(side, socket="/s"), path)

    monkeypatch.setattr(compare, "replay", fake_replay)
    monkeypatch.setattr(Target, "connect", connect)
    plan = ComparePlan(tape, TARGETS, rounds=1, pause_ns=0, reset=reset)
    if reset:
        run_comparison(plan, tmp_path / "c", make_options, lambda text: None, Watcher)
        assert log == ["a1.run", "b1.run"]
        return
    with pytest.raises(TargetError, match="cannot connect to b"):
        run_comparison(plan, tmp_path / "c", make_options, lambda text: None, Watcher)
    assert log == []


def test_reset_command_gets_the_side_target_and_run(tmp_path: Path) -> None:
    """A reset command that fails ends the comparison with its exit code."""
    plan: Any = ComparePlan(Path("t"), TARGETS, reset=f'echo "$QUERYTAPE_SIDE $QUERYTAPE_RUN" > {tmp_path}/said')
    reset_targets(plan, "b", "b1")
    assert (tmp_path / "said").read_text() == "b b1\n"
    reset_targets(replace(plan, reset=None), "b", "b1")
    with pytest.raises(QuerytapeError, match="--reset failed with exit code 7 before run a1: exit 7"):
        reset_targets(replace(plan, reset="exit 7"), "a", "a1")


def test_both_servers_run_during_explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox server stops when its options are closed. The comparison therefore asks both servers for plans before
    it closes the options.
    """
    running: set[str] = set()
    asked: list[set[str]] = []

    @contextmanager
    def make_options(side: str, path: Path) -> Iterator[ReplayOptions]:
        running.add(side)
        yield ReplayOptions(Target(side, socket="/s"), path)
        running.remove(side)

    monkeypatch.setattr(compare, "ask_plans", lambda *given: asked.append(set(running)))
    plan = ComparePlan(tmp_path / "t.tape", dict.fromkeys("ab", "sandbox"))
    assert compare.ask_for_plans(plan, tmp_path, make_options, ["0" * 16]) == tmp_path / "plans"
    assert asked == [{"a", "b"}]
    assert not running
    assert compare.ask_for_plans(plan, tmp_path, make_options, []) is None
