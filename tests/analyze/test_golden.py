# SPDX-License-Identifier: Apache-2.0
"""Every question on one small tape, against answers that were looked at; quantiles and intervals against stupid references.

QT_GOLDEN=write writes the answers anew: look at what changed before it is committed.
"""

import io
import json
import math
import os
import random
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import numpy as np
import pytest
from querytape.analyze import Report, Settings, as_json, as_markdown, build, portrait, render, show, write_tables
from querytape.analyze.access import changes, different_variables
from querytape.analyze.overtime import period_s, warm_after_ns
from querytape.analyze.questions import PAGES, open_desk
from querytape.analyze.report import prepare
from querytape.analyze.shifts import trimmed
from querytape.analyze.verdict import corrected
from querytape.gates import junit
from rich.console import Console
from scipy import stats

from tests.runs import make_run
from tests.tapes import MS, SECOND, T0, make_tape

GOLDEN = Path(__file__).parent / "golden.json"
PAIRED = ("blocks", "tails")


def small(folder: Path) -> tuple[Path, Path, Path]:
    """A tape of two sessions and three statements with a transaction; A as it should be, B with an error, a stall, more rows."""
    events: list[dict[str, Any]] = []
    for number in range(60):
        kind = number % 3
        text = (
            "SELECT a FROM t WHERE id = 1",
            "UPDATE `t` JOIN u SET a = 2",
            "COMMIT" if number // 6 % 2 else "BEGIN",
        )[kind]
        events.append(
            {
                "session": 1 + number % 2,
                "start_ns": T0 + number * 100 * MS,
                "duration_ns": (number % 7 + 1) * MS,
                "statement": text,
                "digest": f"{kind:016x}",
                "class": ("read", "write", "transaction")[kind],
                "user": "app",
                "db": "shop",
                "rows_sent": 1 if kind == 0 else 0,
                "errno": 0,
            }
        )
    tape = make_tape(folder / "t.tape", events, knows=["errno"], measuring_point="server")
    a, b = [], []
    for number, event in enumerate(events):
        due = number * 100 * MS
        one = {"session": event["session"], "due_ns": due, "sent_ns": due + 20_000, "rows_sent": event["rows_sent"]}
        a.append({**one, "done_ns": due + 20_000 + (number % 5 + 1) * MS})
        wait = 900 * MS if number == 40 else (number % 5 + 1) * 2 * MS
        b.append({**one, "done_ns": due + 20_000 + wait})
        if number == 30:
            b[-1].update(errno=1205, error="Lock wait timeout exceeded for 'bob'", rows_sent=None)
        if number == 33:
            b[-1]["rows_sent"] = 4
    return tape, make_run(folder / "a.run", tape, a), make_run(folder / "b.run", tape, b)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Tape, A, B."""
    return small(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def report(paths: tuple[Path, Path, Path]) -> Report:
    """Compared."""
    return build(paths[0], [paths[1]], [paths[2]])


def plain(value: Any) -> Any:
    """Return a value as JSON has it, floats to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def test_golden(paths: tuple[Path, Path, Path], report: Report) -> None:
    """Each `.sql` gives what it gave."""
    desk = open_desk()
    prepare(desk, report)
    found = {name: desk.ask(name) for name in (*PAGES, *PAIRED)}
    desk.close()
    found.update(report.answers)
    found.update(portrait(paths[0]).answers)
    found["one_run"] = [build(paths[0], [paths[1]]).answers["digests"][0]]
    got = json.loads(json.dumps(plain(found), default=str))
    if os.environ.get("QT_GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(got, indent=0) + "\n")
    wanted = json.loads(GOLDEN.read_text())
    assert set(got) == set(wanted)
    for name, rows in wanted.items():
        assert got[name] == rows, name


def test_every_question_is_golden(checkout: Path) -> None:
    """No `.sql` file is left out but those that only make tables, and those with tests of their own."""
    names = {path.stem for path in (checkout / "analyze").glob("*.sql")}
    assert names - set(json.loads(GOLDEN.read_text())) == {"prelude", "pair", "sweep", "two_tapes"}


def test_the_json_schema(report: Report, paths: tuple[Path, Path, Path], checkout: Path) -> None:
    """Both kinds of report are what docs/report.schema.json says."""
    schema = json.loads((checkout / "docs" / "report.schema.json").read_text())
    for each in (report, build(paths[0], [paths[1]])):
        jsonschema.validate(json.loads(as_json(each)), schema)


def test_no_value_is_in_any_output(paths: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Messages' values, samples and plans' conditions are in no report without --samples."""
    plan = {
        "query_block": {"table": {"table_name": "t", "access_type": "ALL", "attached_condition": "t.a = 'hunter2'"}}
    }
    for run in paths[1:]:
        with duckdb.connect() as con:
            con.execute(
                "CREATE TABLE p AS SELECT ? AS digest, 'json' AS kind, ? AS text, NULL::VARCHAR AS error",
                [f"{0:016x}", json.dumps(plan)],
            )
            con.execute("INSERT INTO p VALUES (?, 'tree', 'Filter: (t.a = ''hunter2'')', NULL)", [f"{0:016x}"])
            con.execute(f"COPY p TO '{run}/plans.parquet' (FORMAT parquet)")
    for samples in (False, True):
        report = build(paths[0], [paths[1]], [paths[2]], Settings(samples=samples))
        out = io.StringIO()
        show(report, Console(file=out, width=80), 20)
        write_tables(report, tmp_path / f"{samples}")
        texts = [as_json(report), as_markdown(report), render(report, "1"), out.getvalue(), junit(report, [])]
        texts += [path.read_text() for path in (tmp_path / f"{samples}").glob("*.csv")]
        for value in ("bob", "hunter2"):
            assert any(value in text for text in texts) == samples, value
    for run in paths[1:]:
        (run / "plans.parquet").unlink()


def test_pairs_against_a_stupid_reference(paths: tuple[Path, Path, Path], report: Report) -> None:
    """Median ratio and its interval by order statistics, from sorted Python lists."""
    row = next(row for row in report.answers["pairs"] if row["digest"] == f"{1:016x}")
    ratios = sorted([2.0] * 19 + [900 / 1])[:20]  # event 40 waited 900 ms instead of 1
    n = len(ratios)
    low = max(1, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    high = min(n, 1 + math.ceil(n / 2 + 0.98 * math.sqrt(n)))
    assert row["n"] == n
    assert row["ratio"] == pytest.approx(ratios[(n + 1) // 2 - 1])
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((ratios[low - 1], ratios[high - 1]))


def test_the_trimmed_test_against_scipy() -> None:
    """Without trimming it is Student's test; with it, Yuen's, by the textbook's steps."""
    chance = np.random.default_rng(3)
    values = chance.normal(0.1, 0.2, 40)
    test = trimmed(values, (0.05, 0.05), 0.0)
    wanted = stats.ttest_1samp(values, 0.05, alternative="greater")
    assert test.p_above == pytest.approx(wanted.pvalue)
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (test.low, test.high) == pytest.approx((low, high))
    ordered = sorted(values)
    kept, cut = ordered[8:32], 8
    winsorised = [ordered[cut]] * cut + kept + [ordered[-cut - 1]] * cut
    error = np.std(winsorised, ddof=1) / (0.6 * math.sqrt(40))
    yuen = trimmed(values, (0.05, 0.05), 0.2)
    assert yuen.shift == pytest.approx(np.mean(kept))
    assert yuen.p_above == pytest.approx(stats.t.sf((np.mean(kept) - 0.05) / error, 23))


def test_lateness_keeps_four_digits(tmp_path: Path) -> None:
    """Quantiles of lateness are those of the sorted list, to four digits."""
    chance = random.Random(5)
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"} for _ in range(500)])
    late = [int(chance.lognormvariate(12, 2)) for _ in range(500)]
    run = make_run(tmp_path / "a.run", tape, [{"due_ns": n * MS, "sent_ns": n * MS + ns} for n, ns in enumerate(late)])
    rows = {row["cause"]: row for row in build(tape, [run]).answers["lateness"]}
    for name, share in (("p50_ns", 0.5), ("p99_ns", 0.99)):
        wanted = sorted(late)[math.ceil(share * 500) - 1]
        assert rows["all"][name] == pytest.approx(wanted, rel=1e-3)
    assert rows["all"]["max_ns"] == max(late)


def test_plans_are_compared() -> None:
    """MySQL's and MariaDB's JSON: another index, a full scan, a sort; what is no plan changes nothing."""
    mysql = {"query_block": {"ordering_operation": {"using_filesort": False, "table": {
        "table_name": "t", "access_type": "ref", "key": "b", "rows_examined_per_scan": 3}}}}  # fmt: skip
    maria = {"query_block": {"filesort": {"table": {"table_name": "t", "access_type": "ALL", "rows": 50000}}}}
    assert changes(json.dumps(mysql), json.dumps(maria)) == [
        "t: ref by b, 3 rows -> a full scan, 50,000 rows",
        "now sorts",
    ]
    assert changes(json.dumps(mysql), json.dumps(mysql)) == []
    assert changes("no plan", json.dumps(mysql)) == ["t: not read -> ref by b, 3 rows"]
    assert different_variables({"port": "1", "a": "1", "b": "2"}, {"port": "2", "a": "1", "b": "3"}) == [
        {"name": "b", "a": "2", "b": "3"}
    ]


def test_periods_and_warm_up() -> None:
    """Stalls that come every 30 s are named as such, random ones not; a run that begins slowly has a warm-up."""
    even = [{"round": 1, "at_ns": n * 30 * SECOND} for n in range(6)]
    assert period_s(even) == pytest.approx(30)
    odd = [{"round": 1, "at_ns": at * SECOND} for at in (1, 2, 30, 31, 90, 200)]
    assert period_s(odd) is None
    parts = [{"part": n, "slowness": 2.0 if n < 4 else 1.0, "span_ns": 20 * SECOND, "n": 100} for n in range(20)]
    assert warm_after_ns(parts) == 4 * SECOND
    assert warm_after_ns([{**part, "slowness": 1.0} for part in parts]) == 0


def test_false_discoveries_are_corrected_as_scipy_does() -> None:
    """Any number of p-values, equal ones and ones among them; none at all."""
    rng = random.Random(5)
    for n in (1, 2, 7, 500):
        found = [rng.choice([rng.random(), rng.random() ** 6, 1.0, 0.0, 0.25]) for _ in range(n)]
        assert np.allclose(corrected(found), stats.false_discovery_control(found, method="bh"))
    assert corrected([]) == []
