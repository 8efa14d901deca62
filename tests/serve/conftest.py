# SPDX-License-Identifier: Apache-2.0
"""A folder with one entry of each kind, damaged entries and a run in progress. The tests share one server for that
folder.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from querytape.common.duck import write_rows
from querytape.common.files import hold
from querytape.schemas import columns

from tests.helpers.runs import make_run
from tests.helpers.served import Served, served
from tests.helpers.tapes import make_tape

MARKUP = "<img src=x onerror=alert(1)>"
SECOND = 1_000_000_000
LEVEL = {"sessions": 4, "statements": 9, "errors": 0, "elapsed_ns": 10**9, "p50_ns": 5, "p95_ns": 6, "p99_ns": 7}


@dataclass(frozen=True)
class Everything:
    """The folder and its server."""

    root: Path
    server: Served


def write_ticks(run: Path, number: int, first_s: int, n: int, **values: int) -> None:
    """Write a part of a run's ticks: `n` seconds, starting at `first_s`."""
    (run / "ticks").mkdir(exist_ok=True)
    names = [name for name, _ in columns("run", "ticks")]
    row = dict.fromkeys(names, 0) | {
        "reads": 90,
        "writes": 10,
        "done": 100,
        "p95_ns": 2_000_000,
        "sessions_open": 7,
        **values,
    }
    rows = [
        [row[name] if name != "at_ns" else (first_s + second) * SECOND for name in names] for second in range(1, n + 1)
    ]
    with duckdb.connect() as con:
        write_rows(con, columns("run", "ticks"), rows, run / "ticks" / f"part-{number:05d}.parquet")


def under_way(run: Path, tape: Path) -> Path:
    """Write a run that is still in progress."""
    make_run(run, tape, [], finished=False, plan={"planned": 1000}, parameters={"pace": "schedule", "speed": "2"})
    shutil.rmtree(run / "outcomes")
    write_ticks(run, 0, 0, 3)
    return run


def write_night(folder: Path, ratio: float, **more: object) -> None:
    """Write a nightly comparison of one digest, in which B takes `ratio` times as long as A."""
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text('tape = "/t.tape"\n[target]\na = "mysql://u:secret@old/shop"\nb = "y"\n')
    digest = {"digest": "ab", "text": f"select {MARKUP}", "pair": {"ratio": ratio}, "a": {"total_ns": 10**9}}
    digest["b"] = {"total_ns": int(ratio * 10**9)}
    report = {"digests": [digest], "verdicts": {"slower": 1}, "headline": {"sentence": "No: <b>slower"}, **more}
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "night.json").write_text(json.dumps({"exit_code": 3}))


def build(root: Path) -> None:
    statements = [{"statement": f"SELECT '{MARKUP}' FROM t{n % 3}"} for n in range(60)]
    tape = make_tape(root / "shop.tape", statements)
    for name in ("x.run", "y.run", "u.compare/a1.run", "u.compare/b1.run"):
        make_run(root / name, tape, [{}] * 60)
    (root / "u.compare" / "plan.toml").write_text(f'tape = "{tape}"\nrounds = 1\n[target]\na = "x"\nb = "y"\n')
    (root / "s.sweep").mkdir()
    (root / "s.sweep" / "sweep.json").write_text(json.dumps({"tape": MARKUP, "target": "b", "levels": [LEVEL]}))
    for day in range(1, 15):
        write_night(root / "nights" / f"2026-11-{day:02d}T0200", 1.0 + day / 1000 + (0.8 if day > 8 else 0))
    under_way(root / "live.run", tape)
    under_way(root / "killed.run", tape)
    make_tape(root / f"{MARKUP}.tape", [{"statement": "SELECT 1"}])
    for name, marker in (
        ("bad.tape", "tape.json"),
        ("bad.run", "run.json"),
        ("bad.sweep", "sweep.json"),
        ("bad.compare", "plan.toml"),
    ):
        (root / name).mkdir()
        (root / name / marker).write_text('{"format_version": 1, "finished": true, "tape": "<b>"')


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everything]:
    """Create the folder and start its server. This process holds the lock of live.run."""
    root = tmp_path_factory.mktemp("everything")
    build(root)
    with hold(root / "live.run"), served(root, "--memory", "500MB") as server:
        yield Everything(root, server)


@pytest.fixture
def site(everything: Everything) -> Served:
    return everything.server
