# SPDX-License-Identifier: Apache-2.0
"""Complete reports: the numbers of all analyses on small runs, and inputs for which no report is possible."""

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Settings, as_html, as_json, build
from querytape.common.errors import FolderError, InputError

from tests.helpers.reports import D1, tape_of, terminal_text
from tests.helpers.runs import MS, make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def quantile_disc(values: list[int], q: float) -> int:
    """Return the smallest value v for which at least the share `q` of all values is at most v. This is the simple
    reference.
    """
    return sorted(values)[max(0, math.ceil(q * len(values)) - 1)]


def test_accounting_and_totals_equal_those_of_the_runs(tmp_path: Path) -> None:
    """Each status and reason is counted. Failed statements are included in the counts but not in the quantiles."""
    tape = tape_of(tmp_path / "t.tape", 6)
    outcomes: list[dict[str, Any]] = [
        {"sent_ns": 0, "done_ns": 2 * MS, "due_ns": 0, "rows_sent": 3},
        {"sent_ns": 10 * MS, "done_ns": 14 * MS, "due_ns": 9 * MS, "rows_sent": 4},
        {
            "sent_ns": 20 * MS,
            "done_ns": 99 * MS,
            "due_ns": 20 * MS,
            "errno": 1146,
            "error": "Table 'x.y' doesn't exist",
        },
        {"status": "filtered", "reason": "write"},
        {"status": "skipped", "reason": "redacted"},
        {"status": "not_sent", "reason": "connection_lost"},
    ]
    report = build(tape, [make_run(tmp_path / "a.run", tape, outcomes)])
    found = {(row["status"], row["reason"]): row["events"] for row in report.answers["accounting"]}
    assert found == {
        ("executed", None): 3,
        ("filtered", "write"): 1,
        ("skipped", "redacted"): 1,
        ("not_sent", "connection_lost"): 1,
    }
    total = report.answers["totals"][0]
    assert (total["executed"], total["errors"], total["rows_sent"]) == (3, 1, 7)
    assert (total["service_p50_ns"], total["service_max_ns"]) == (2 * MS, 4 * MS)
    assert total["response_max_ns"] == 5 * MS


def test_quantiles_of_random_times_are_within_one_bin_of_a_sorted_list(tmp_path: Path) -> None:
    chance = random.Random(7)
    times = [int(chance.lognormvariate(13, 1)) for _ in range(997)]
    tape = tape_of(tmp_path / "t.tape", len(times))
    outcomes = [{"sent_ns": n * MS, "due_ns": n * MS, "done_ns": n * MS + t} for n, t in enumerate(times)]
    total: Mapping[str, Any] = build(tape, [make_run(tmp_path / "a.run", tape, outcomes)]).answers["totals"][0]
    for name, q in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
        assert total[f"service_{name}_ns"] == pytest.approx(quantile_disc(times, q), rel=2**-10)


def test_errors_are_new_gone_changed_or_the_same(tmp_path: Path) -> None:
    """The errors of each event are compared between two runs. Values in messages are masked by default."""
    tape = tape_of(tmp_path / "t.tape", 5)
    numbers = ((0, 1062), (1146, 0), (1146, 1146), (1054, 1062), (0, 0))
    runs = []
    for side in range(2):
        outcomes = [{"errno": pair[side], "error": "Duplicate entry 'bob@x.y' for key 'a'"} for pair in numbers]
        runs.append(make_run(tmp_path / f"{side}.run", tape, outcomes))
    report = build(tape, runs[:1], runs[1:])
    assert [(row["what"], row["before"], row["after"]) for row in report.answers["errors"]] == [
        ("new", 0, 1062),
        ("changed", 1054, 1062),
        ("gone", 1146, 0),
        ("same", 1146, 1146),
    ]
    assert report.digests[0]["verdict"] == "errors changed"
    shown = terminal_text(report) + as_html(report) + as_json(report)
    assert "bob@x.y" not in shown
    assert "bob@x.y" in as_json(build(tape, runs[:1], runs[1:], Settings(samples=True)))


def test_errors_of_single_run_need_error_numbers_on_tape(tmp_path: Path) -> None:
    events = [{"statement": b"SELECT 1", "digest": D1, "class": "read", "errno": n, "flags": 0} for n in (0, 1146)]
    outcomes = [{"errno": 1146}, {"errno": 1146}]
    for columns, expected in ((["errno"], ["new", "same"]), ([], [])):
        folder = tmp_path / str(len(columns))
        folder.mkdir()
        tape = make_tape(folder / "t.tape", events, known_columns=columns)
        write_digests(tape, {D1: "select ?"})
        report = build(tape, [make_run(folder / "a.run", tape, outcomes)])
        assert [row["what"] for row in report.answers["errors"]] == expected


def test_results_are_classified(tmp_path: Path) -> None:
    """Each difference has a kind. It also has a reason if the statement explains the difference. Equal results are
    counted.
    """
    texts = {
        f"{n:016x}": text for n, text in enumerate(("select a", "select now(?)", "select a from t limit ?", "update t"))
    }
    events = [
        {"statement": text.replace("?", "2"), "digest": digest, "class": "read", "actions": None, "flags": 0}
        for digest, text in texts.items()
        for _ in range(2)
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    write_digests(tape, texts)
    one, other, turned = "text:01:aa", "text:02:bb", "text:03:aa"
    a = [{"rows_sent": 2, "checksum": one} for _ in range(6)] + [{"rows_affected": 1, "warnings": 0} for _ in range(2)]
    b = [
        {"rows_sent": 5, "checksum": other},  # different number of rows
        {"rows_sent": 2, "checksum": turned},  # different order
        {"rows_sent": 2, "checksum": other},  # different data, and the statement reads the time
        {"rows_sent": 2, "checksum": one},
        {"rows_sent": 2, "checksum": "binary:09:cc"},  # checksum of another protocol, so the results cannot be compared
        {"rows_sent": 2, "checksum": other},  # different data, without ORDER BY
        {"rows_affected": 2, "warnings": 0},
        {"rows_affected": 1, "warnings": 3},
    ]
    answers = build(tape, [make_run(tmp_path / "a.run", tape, a)], [make_run(tmp_path / "b.run", tape, b)]).answers
    found = {(row["kind"], row["known"], row["events"], row["first_seq"]) for row in answers["results"]}
    assert found == {
        ("rows", None, 1, 1),
        ("order", None, 1, 2),
        ("data", "asks_time", 1, 3),
        ("data", "limit_unsorted", 1, 6),
        ("affected", None, 1, 7),
        ("warnings", None, 1, 8),
    }
    assert answers["compared"] == [{"rows": 6, "checksums": 5}]


def test_empty_or_foreign_runs_are_refused(tmp_path: Path) -> None:
    tape = tape_of(tmp_path / "t.tape", 2)
    other = tape_of(tmp_path / "o.tape", 3)
    run = make_run(tmp_path / "a.run", tape, [{}, {}])
    with pytest.raises(InputError, match="another tape"):
        build(other, [run])
    with pytest.raises(FolderError, match="the folder is a tape"):
        build(tape, [tape])
    with pytest.raises(FolderError, match="no such run"):
        build(tape, [tmp_path / "none"])
    newer = make_run(tmp_path / "n.run", tape, [{}, {}], format_version=99)
    with pytest.raises(FolderError, match="newer"):
        build(tape, [newer])
    for part in (run / "outcomes").iterdir():
        part.unlink()
    with pytest.raises(InputError, match="empty"):
        build(tape, [run])
