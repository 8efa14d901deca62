# SPDX-License-Identifier: Apache-2.0
"""A folder of runs, one for each tape of a set, is reported like one run of the whole tape."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.analyze import as_json, build
from querytape.analyze.run_set import RunSet, open_run
from querytape.capture.tools.deal import deal
from querytape.capture.tools.gather import gather
from querytape.common.errors import InputError
from querytape.schemas import open_folder, tape_id

from tests.helpers.runs import keep_sessions, make_run
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

EVENTS = [
    {"session": 1 + n % 6, "statement": f"SELECT {n % 4}", "digest": f"{n % 4:016x}", "start_ns": T0 + n * 7 * MS}
    for n in range(240)
]


def outcomes(slow: int) -> list[dict[str, Any]]:
    """Return the outcome of each event. Every 40th event fails."""
    made = []
    for n, event in enumerate(EVENTS):
        begin = n * 7 * MS
        took = MS + 13 * (n % 97) * (1 + slow * (n % 4 == 1))
        errno = 1205 if n % 40 == 39 else 0
        own = {"session": event["session"], "due_ns": begin, "sent_ns": begin, "done_ns": begin + took, "errno": errno}
        made.append(own | ({"error": "Lock wait timeout"} if errno else {}))
    return made


def write_runs(folder: Path, tape_set: Path, name: str, slow: int, **info: Any) -> Path:
    """Write the run of each tape of the set into one folder."""
    runs = folder / name
    runs.mkdir()
    for number, tape in enumerate(sorted(tape_set.glob("*.tape"))):
        opened = open_folder("tape", tape)
        with_sessions = {row for (row,) in rows_of(opened.source("sessions"))}
        own = [row for row in outcomes(slow) if row["session"] in with_sessions]
        run = make_run(runs / f"{number}.run", tape, own, started_ns=T0 + number, **info)
        keep_sessions(run)
        name_tape(run, tape)
    return runs


def name_tape(run: Path, tape: Path) -> None:
    """Write the tape and the target of a run into its run.json, as a replay does."""
    about = open_folder("tape", tape).info
    info = json.loads((run / "run.json").read_text())
    info["tape"] = {"path": str(tape), "id": tape_id(about), "events": about["counts"]["events"]}
    info["target"]["name"] = "here"
    (run / "run.json").write_text(json.dumps(info))


def rows_of(source: str) -> list[tuple[int]]:
    return duckdb.execute(f"SELECT session FROM {source}").fetchall()


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Write a tape, and split it into a set of three tapes."""
    made = make_tape(tmp_path / "t.tape", EVENTS)
    deal(made, 3, tmp_path / "t.set")
    return made


def plain(report: str) -> dict[str, Any]:
    """Return the parts of a report that do not depend on the paths or the findings on the runs."""
    rows: dict[str, Any] = json.loads(report)
    return {name: value for name, value in rows.items() if name not in ("tape", "runs", "trust", "a", "b", "answer")}


@pytest.mark.parametrize("two", [True, False])
def test_report_of_runs_of_a_set_equals_the_report_of_whole_runs(tape: Path, tmp_path: Path, two: bool) -> None:
    whole = [make_run(tmp_path / f"whole{slow}.run", tape, outcomes(slow)) for slow in (0, 3)]
    for run in whole:
        keep_sessions(run)
        name_tape(run, tape)
    parts = [write_runs(tmp_path, tmp_path / "t.set", f"{slow}.runs", slow) for slow in (0, 3)]
    of_set = build(tmp_path / "t.set", parts[:1], parts[1:] if two else ())
    of_tape = build(tape, whole[:1], whole[1:] if two else ())
    assert plain(as_json(of_set)) == plain(as_json(of_tape))


def test_sessions_of_captures_of_several_servers_are_numbered_on(tmp_path: Path) -> None:
    folder = tmp_path / "all.set"
    folder.mkdir()
    for number in (1, 2):
        make_tape(folder / f"{number}.tape", EVENTS[: 60 * number])
    gather(folder)
    runs = tmp_path / "all.runs"
    runs.mkdir()
    for number in (1, 2):
        own = folder / f"{number}.tape"
        name_tape(make_run(runs / f"{number}.run", own, outcomes(0)[: 60 * number]), own)
    report = build(folder, [runs])
    (total,) = report.answers["totals"]
    assert (total["executed"], total["sessions"]) == (180, 12)


def removed(runs: Path) -> None:
    shutil.rmtree(runs / "1.run")


def doubled(runs: Path) -> None:
    shutil.copytree(runs / "1.run", runs / "9.run")


def changed(**values: Any) -> Callable[[Path], None]:
    """Return a function that changes run.json of the second run."""

    def change(runs: Path) -> None:
        path = runs / "1.run" / "run.json"
        info = json.loads(path.read_text())
        for name, value in values.items():
            info[name] = {**(info.get(name) or {}), **value}
        path.write_text(json.dumps(info))

    return change


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (removed, "no run of 02.tape"),
        (doubled, "1.run are runs of the same tape: remove one of them"),
        (changed(tape={"id": "x"}), "1.run: not a run of a tape of "),
        (changed(target={"name": "elsewhere"}), "the runs differ in target"),
        (changed(target={"version": "9.9"}), "the runs differ in server version"),
        (changed(parameters={"speed": "2"}), "the runs differ in --speed"),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(
    damage: Callable[[Path], None], said: str, tape: Path, tmp_path: Path
) -> None:
    runs = write_runs(tmp_path, tmp_path / "t.set", "a.runs", 0, parameters={"speed": "1"})
    damage(runs)
    with pytest.raises(InputError, match=said):
        build(tmp_path / "t.set", [runs])


def test_skew_is_measured_by_the_clock_of_the_target(tape: Path, tmp_path: Path) -> None:
    """The runs began 2 ns apart by their own clocks. By the target's clock, the second run began 30 ms later."""
    runs = write_runs(tmp_path, tmp_path / "t.set", "a.runs", 0)
    found = open_run(open_folder("tape", tmp_path / "t.set"), runs)
    assert isinstance(found, RunSet)
    assert found.skew == (2, None)
    for number, (ahead, bound) in enumerate(((5 * MS, 1000), (35 * MS, 7000), (5 * MS, 300))):
        path = runs / f"{number}.run" / "run.json"
        info = json.loads(path.read_text())
        path.write_text(json.dumps(info | {"target_clock": {"ahead_ns": ahead, "bound_ns": bound}}))
    found = open_run(open_folder("tape", tmp_path / "t.set"), runs)
    assert isinstance(found, RunSet)
    assert found.skew == (30 * MS + 1, 8000)
    texts = [finding.text for finding in build(tmp_path / "t.set", [runs]).trust]
    assert any(
        text.startswith("The 3 replays of run A began 30.0ms apart by the clock of the target (error at most 8")
        for text in texts
    )
    assert any("overlapped differently" in text for text in texts)


def test_findings_of_every_run_are_reported(tape: Path, tmp_path: Path) -> None:
    """The wall clock of the last host stepped, and its run left an XA transaction on the target."""
    runs = write_runs(tmp_path, tmp_path / "t.set", "a.runs", 0)
    path = runs / "2.run" / "run.json"
    info = json.loads(path.read_text())
    more = {"clock_pairs": [[0, 0], [10**9, 6 * 10**9]], "prepared": {"rolled_back": [], "left": ["'x'"]}}
    path.write_text(json.dumps(info | more))
    texts = " ".join(finding.text for finding in build(tmp_path / "t.set", [runs]).trust)
    assert "The wall clock stepped by +5.0 s during run A" in texts
    assert "1 unfinished XA transaction was left on the target" in texts
