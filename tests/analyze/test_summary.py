# SPDX-License-Identifier: Apache-2.0
"""The summary of a report: analyses read only its tables, and a kept summary gives the same report without the events."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from querytape.analyze import Settings, as_json, build
from querytape.analyze import summary as made
from querytape.analyze.database import DETAILS, REPORT, VERDICTS, AnalysisDatabase

from tests.analyze.test_golden_varied import varied_runs

pytestmark = pytest.mark.slow

Runs = tuple[Path, list[Path], list[Path]]


@pytest.fixture
def varied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Write a tape and two rounds of each side. The summaries of all runs are kept, also those of few events."""
    monkeypatch.setattr(made, "KEPT_EVENTS", 0)
    tape, (a, b) = varied_runs(tmp_path)
    return tape, a, b


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the SQL files that reports run."""
    ran: list[str] = []
    run = AnalysisDatabase.run

    def listed(database: AnalysisDatabase, name: str) -> None:
        ran.append(name)
        run(database, name)

    monkeypatch.setattr(AnalysisDatabase, "run", listed)
    return ran


def report_of(runs: Runs, two: bool = True, settings: Settings | None = None) -> str:
    """Return the report of the runs as JSON."""
    return as_json(build(runs[0], runs[1], runs[2] if two else (), settings))


@pytest.mark.parametrize("two", [True, False])
def test_kept_summary_gives_the_same_report_without_the_events(varied: Runs, files: list[str], two: bool) -> None:
    first = report_of(varied, two)
    assert "summary/join" in files
    files.clear()
    assert report_of(varied, two) == first
    assert files == ["prelude", "summary/facts"]


def test_kept_summary_is_used_only_for_the_same_inputs(varied: Runs, files: list[str]) -> None:
    """The inputs are the files of the tape and of all runs, their sides, and the settings that change the counts."""
    tape, a, b = varied
    part = next((b[0] / "outcomes").iterdir())
    report_of(varied)
    changes: dict[str, tuple[Runs, Settings | None]] = {
        "the sides are exchanged": ((tape, b, a), None),
        "another warm-up": (varied, Settings(skip_ns=1)),
        "another number of rounds": ((tape, a[1:], b[1:]), None),
        "a changed file": (varied, None),
    }
    for name, (runs, settings) in changes.items():
        report_of(varied)
        files.clear()
        if name == "a changed file":
            os.utime(part, ns=(0, 0))
        report_of(runs, settings=settings)
        assert "summary/join" in files, name


@pytest.mark.parametrize("damage", ["cut", "removed", "empty", "not JSON"])
def test_damaged_summary_is_made_again(varied: Runs, files: list[str], damage: str) -> None:
    first = report_of(varied)
    folder = varied[2][-1] / made.FOLDER
    table, info = folder / "digest_quantiles.parquet", folder / made.INFO
    if damage == "cut":
        table.write_bytes(table.read_bytes()[:100])
    elif damage == "removed":
        table.unlink()
    else:
        info.write_text("" if damage == "empty" else "{")
    files.clear()
    assert report_of(varied) == first
    assert "summary/join" in files
    files.clear()
    assert report_of(varied) == first
    assert "summary/join" not in files


def test_summary_that_cannot_be_written_changes_nothing(varied: Runs) -> None:
    """A file with the name of the summary's folder is never replaced."""
    first = report_of(varied)
    for run in (*varied[1], *varied[2]):
        for file in (run / made.FOLDER).glob("*"):
            file.unlink()
        if (run / made.FOLDER).exists():
            (run / made.FOLDER).rmdir()
        (run / made.FOLDER).write_text("mine")
    assert report_of(varied) == first
    last = varied[2][-1]
    assert (last / made.FOLDER).read_text() == "mine"
    assert not [path for path in last.iterdir() if path.suffix == ".tmp"]


def test_folder_of_the_user_with_the_same_name_is_never_replaced(varied: Runs) -> None:
    own = varied[2][-1] / made.FOLDER
    own.mkdir()
    (own / "notes.txt").write_text("mine")
    report_of(varied)
    assert [path.name for path in own.iterdir()] == ["notes.txt"]


def test_interrupted_writing_leaves_no_folder(varied: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(made, "write_json", stop)
    with pytest.raises(KeyboardInterrupt):
        report_of(varied)
    assert not [path for path in varied[2][-1].iterdir() if made.FOLDER in path.name]


def test_folder_that_a_killed_report_has_left_is_removed(varied: Runs) -> None:
    """The folder of a report that still runs stays, and so does a folder of the user."""
    last = varied[2][-1]
    dead = subprocess.Popen(["true"])
    dead.wait()
    for name in (dead.pid, os.getppid(), "mine"):
        (last / f"summary.{name}.tmp").mkdir()
    report_of(varied)
    left = {path.name for path in last.glob("summary*")}
    assert left == {"summary", f"summary.{os.getppid()}.tmp", "summary.mine.tmp"}


def test_summary_is_readable_only_by_its_owner(varied: Runs) -> None:
    report_of(varied)
    assert (varied[2][-1] / made.FOLDER).stat().st_mode & 0o077 == 0


def test_report_that_keeps_nothing_still_reads_a_kept_summary(varied: Runs, files: list[str]) -> None:
    nothing = Settings(keep_summary=False)
    first = report_of(varied, settings=nothing)
    assert not (varied[2][-1] / made.FOLDER).exists()
    assert report_of(varied) == first
    files.clear()
    assert report_of(varied, settings=nothing) == first
    assert "summary/join" not in files


def test_few_events_are_not_kept(tmp_path: Path) -> None:
    tape, (a, b) = varied_runs(tmp_path)
    report_of((tape, a, b))
    assert not any((run / made.FOLDER).exists() for run in (*a, *b))


def test_analyses_read_no_events(checkout: Path) -> None:
    """The counters of the servers and the servers' own slow logs are not part of the runs' events."""
    folder = checkout / "analyze" / "sql" / "report"
    for name in (*REPORT, *DETAILS, *VERDICTS):
        text = "\n".join(
            line for line in (folder / f"{name}.sql").read_text().splitlines() if not line.startswith("--")
        )
        read = set(re.findall(r"\b(tape_event|joined|outcome|every_outcome|failure|\w+_bins)\b", text))
        assert read == set(), name
