# SPDX-License-Identifier: Apache-2.0
"""The results of analyses do not depend on an unspecified row order, the number of threads or the optimizer."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import build, summarise_tape
from querytape.analyze.build_report import prepare
from querytape.analyze.database import DETAILS, VERDICTS, open_analysis

from tests.helpers.any_order import VARIANTS, Variant, answering, shuffle_files
from tests.helpers.reports import small_runs
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, SECOND, T0, make_tape
from tests.helpers.tiers import mostly_long

from .test_golden import plain
from .test_golden_varied import STARTED_NS, tape_events, varied_runs

pytestmark = pytest.mark.slow

TIED = (
    "SELECT a FROM t",
    "SELECT b FROM u",
    "SELECT c FROM t",
    "UPDATE t SET a = 1",
    "UPDATE u SET b = 2",
    "DELETE FROM t",
    "UPDATE t SET c = 2",
)
Inputs = tuple[Path, list[Path], list[Path]]


def small(folder: Path) -> Inputs:
    """Return the small tape and its two runs."""
    tape, *runs = small_runs(folder)
    return tape, [runs[0]], [runs[1]]


def varied(folder: Path) -> Inputs:
    """Return the varied tape and two rounds of each side."""
    tape, runs = varied_runs(folder)
    return tape, runs[0], runs[1]


def tied(folder: Path) -> Inputs:
    """Return a tape with times in whole seconds. Many times and durations are equal, but all texts differ."""
    events = [
        event | {
            "start_ns": event["start_ns"] // SECOND * SECOND,
            "duration_ns": event["duration_ns"] // (4 * MS) * 4 * MS,
            "statement": f"{TIED[number % len(TIED)]} WHERE id = {number % 5} /* {number} */",
            "digest": f"{number % len(TIED):016x}",
            "class": "read" if TIED[number % len(TIED)].startswith("SELECT") else "write",
            "db": ("shop", "crm", None)[number % 3],
        }
        for number, event in enumerate(tape_events())
        if event["class"] != "transaction"
    ]  # fmt: skip
    events += [
        {"session": session, "start_ns": T0 + second * SECOND, "duration_ns": 0, "statement": text, "class": "transaction", "errno": 0}
        for second in range(9)
        for session in range(1, 7)
        for text in ("BEGIN", "COMMIT")
    ]  # fmt: skip
    events.sort(key=lambda event: event["start_ns"])
    tape = make_tape(folder / "t.tape", events, precision_ns=SECOND, known_columns=["errno", "rows_sent"])
    runs = []
    for side in (0, 1):
        chance = random.Random(side)
        rows = [
            {
                "session": event["session"],
                "due_ns": event["start_ns"] - T0,
                "sent_ns": event["start_ns"] - T0 + MS,
                "done_ns": event["start_ns"] - T0 + MS * (2 + chance.randrange(3) * 4),
                "errno": (errno := chance.choice((0, 0, 1205, 1213))),
                "error": f"no {''.join(chr(97 + int(digit)) for digit in str(number))}"
                if errno
                else None,  # because reports mask digits
                "rows_sent": chance.choice((1, 2)),
                "checksum": f"{chance.randrange(3):08x}",
            }
            for number, event in enumerate(events)
        ]
        runs.append([make_run(folder / f"{'ab'[side]}.run", tape, rows, started_ns=STARTED_NS)])
    return tape, runs[0], runs[1]


def answers(inputs: Inputs) -> dict[str, Any]:
    """Return the rows of each analysis for both runs, one run, the tape and its workload."""
    tape, a, b = inputs
    report = build(tape, a, b)
    database = open_analysis()
    prepare(database, report)
    found: dict[str, Any] = {name: database.query(f"report/{name}") for name in (*DETAILS, *VERDICTS)}
    database.close()
    summary = summarise_tape(tape)
    found.update(report.answers.items())
    found.update({f"inspect/{name}": rows for name, rows in summary.answers.items()})
    found.update({f"workload/{name}": rows for name, rows in summary.workload.items()})
    found.update({f"one run: {name}": rows for name, rows in build(tape, a[:1]).answers.items()})
    return dict(json.loads(json.dumps(plain(found), default=str)))


@pytest.fixture(scope="module", params=mostly_long([small, varied, tied], tied), ids=lambda make: make.__name__)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Inputs, dict[str, Any]]:
    """Return the inputs and the rows of each analysis with DuckDB's default settings."""
    inputs = request.param(tmp_path_factory.mktemp("any_order"))
    return inputs, answers(inputs)


@pytest.mark.sampled
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_rows_do_not_depend_on_database_settings(asked: tuple[Inputs, dict[str, Any]], variant: Variant) -> None:
    """Each analysis returns the same rows in the same order."""
    inputs, usual = asked
    shuffle_files(inputs[0].parent, variant)
    with answering(variant):
        found = answers(inputs)
    assert [name for name, rows in usual.items() if found[name] != rows] == []
