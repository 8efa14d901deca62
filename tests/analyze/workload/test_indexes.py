# SPDX-License-Identifier: Apache-2.0
"""Indexes that no digest of a tape can use."""

from pathlib import Path
from typing import Any, cast

import pytest
from querytape.analyze import summarise_tape
from querytape.analyze.workload.indexes import Index, IndexUse, index_report, unused_indexes

from tests.analyze.workload.test_workload import event
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def index(*columns: str | None, table: str = "t", uses: int | None = 0, **more: Any) -> Index:
    """Return an index as a server describes it."""
    row: dict[str, Any] = {
        "schema": "shop",
        "table": table,
        "name": "k",
        "columns": list(columns),
        "unique": False,
        "foreign_key": False,
    }
    return cast(Index, {**row, "uses": uses, **more})


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("found", "unused"),
    [
        (index("free"), True),
        (index("free", uses=None), True),
        (index("free", uses=3), False),
        (index("A"), False),
        (index("b", "a"), True),
        (index("grouped"), False),
        (index("sorted"), False),
        (index("wrapped"), False),
        (index("joined", table="U"), False),
        (index("a", table="other"), True),
        (index("somewhere", table="other"), False),
        (index("b", table="t"), True),
        (index(None), False),
    ],
)
def test_unused_index_depends_on_its_first_column(found: Index, unused: bool, tmp_path: Path) -> None:
    """An index is unused if no digest uses its first column, except in SET. Uses inside expressions count. A column
    without a known table matches any table. An index that the server counted as used is never unused.
    """
    texts = [
        "SELECT grouped FROM t WHERE a = 1 AND ABS(wrapped) = 2 GROUP BY grouped ORDER BY sorted",
        "SELECT 1 FROM shop.t JOIN `u` ON t.a = u.joined WHERE somewhere > 1",
        "UPDATE t SET b = 1 WHERE a = 2",
    ]
    workload = summarise_tape(make_tape(tmp_path / "t.tape", [event(1, text) for text in texts])).workload
    assert bool(unused_indexes(workload, [found])) == unused


def test_only_schemas_used_by_the_tape_are_checked(tmp_path: Path) -> None:
    """The tape uses the schemas of its sessions and the schemas named in its statements. If some statements cannot be
    parsed, the result is unknown.
    """
    texts = ["SELECT 1 FROM other.t WHERE a = 1", "SELECT a b c FROM t"]
    summary = summarise_tape(make_tape(tmp_path / "t.tape", [event(1, text) for text in texts]))
    indexes = [index("free", schema=name) for name in ("Shop", "other", "elsewhere")]
    use: IndexUse = {"basis": None, "uptime_s": None, "unknown": ["x"], "indexes": indexes}
    report = index_report(summary.answers, summary.workload, use)
    assert [row["schema"] for row in report["unused"]] == ["Shop", "other"]
    assert (report["asked"], len(report["unknown"])) == (2, 2)
