# SPDX-License-Identifier: Apache-2.0
"""Each analysis of one small tape, compared with reviewed results.

Quantiles and intervals are also compared with simple references. QT_GOLDEN=write rewrites the results. Review the
changes before you commit them.
"""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build, summarise_tape
from querytape.analyze.build_report import prepare
from querytape.analyze.database import (
    DETAILS,
    FACTS,
    PICTURES,
    QUANTILES,
    RACES,
    SUMMARY,
    SUSPECTS,
    VERDICTS,
    WORKLOAD_TABLES,
    open_analysis,
)

from tests.helpers.golden import check_all, each_point
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, make_tape

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden.json"


def plain(value: Any) -> Any:
    """Return a value in JSON form, with floats rounded to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def test_each_analysis_returns_its_golden_rows(small_paths: tuple[Path, Path, Path], small_report: Report) -> None:
    database = open_analysis()
    prepare(database, small_report)
    found: dict[str, Any] = {name: database.query(f"report/{name}") for name in (*DETAILS, *VERDICTS)}
    database.close()
    found.update(small_report.answers.items())
    found.update({f"inspect/{name}": rows for name, rows in summarise_tape(small_paths[0]).answers.items()})
    found.update({f"workload/{name}": rows for name, rows in summarise_tape(small_paths[0]).workload.items()})
    found["one_run"] = [build(small_paths[0], [small_paths[1]]).answers["digests"][0]]
    got = each_point(json.loads(json.dumps(plain(found), default=str)))
    check_all(GOLDEN, got)


def test_every_analysis_is_golden(checkout: Path) -> None:
    """Two kinds of `.sql` files are exceptions: files that only create tables, and files with their own tests."""
    folder = checkout / "analyze" / "sql"
    names = {str(path.relative_to(folder).with_suffix("")).removeprefix("report/") for path in folder.rglob("*.sql")}
    assert names - set(json.loads(GOLDEN.read_text())) == {
        "prelude",
        *(f"summary/{name}" for name in (*SUMMARY, SUSPECTS, RACES, QUANTILES)),
        "sweep",
        "inspect/two_tapes",
        "servers/schema_differences",
        "lint/texts",
        "lint/findings",
        *(f"workload/{name}" for name in WORKLOAD_TABLES),
        *(f"inspect/{name}" for name in (*FACTS, *PICTURES)),
    }


def test_pairs_equal_a_simple_reference(small_paths: tuple[Path, Path, Path], small_report: Report) -> None:
    """The reference computes the median ratio and its interval from sorted Python lists by order statistics."""
    row = next(row for row in small_report.answers["pairs"] if row["digest"] == f"{1:016x}")
    ratios = sorted([2.0] * 19 + [900 / 1])[:20]  # event 40 waited 900 ms instead of 1 ms
    n = len(ratios)
    low = max(1, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    high = min(n, 1 + math.ceil(n / 2 + 0.98 * math.sqrt(n)))
    assert row["n"] == n
    assert row["ratio"] == pytest.approx(ratios[(n + 1) // 2 - 1])
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((ratios[low - 1], ratios[high - 1]))


def test_quantiles_of_lateness_equal_those_of_a_sorted_list(tmp_path: Path) -> None:
    chance = random.Random(5)
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"} for _ in range(500)])
    late = [int(chance.lognormvariate(12, 2)) for _ in range(500)]
    run = make_run(tmp_path / "a.run", tape, [{"due_ns": n * MS, "sent_ns": n * MS + ns} for n, ns in enumerate(late)])
    rows: dict[str, Any] = {row["cause"]: row for row in build(tape, [run]).answers["lateness"]}
    for name, share in (("p50_ns", 0.5), ("p99_ns", 0.99)):
        wanted = sorted(late)[math.ceil(share * 500) - 1]
        assert rows["all"][name] == pytest.approx(wanted, rel=1e-3)
    assert rows["all"]["max_ns"] == max(late)
