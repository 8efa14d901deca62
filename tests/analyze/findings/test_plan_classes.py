# SPDX-License-Identifier: Apache-2.0
"""How two plans of a statement differ, in one word for each thing."""

import json
from typing import Any

import pytest
from querytape.analyze.findings.plan_classes import (
    ACCESS,
    ESTIMATES,
    FEWER_STEPS,
    INDEX,
    ORDER,
    SAME,
    SCAN,
    STEPS,
    changes,
    cost_text,
    merged,
    plan_changes,
    worst,
)


def plan(*tables: tuple[str, str, str | None, int], **more: Any) -> str:
    """Return a plan of MariaDB's shape: (table, kind, key, rows)."""
    nested = [
        {"table": {"table_name": t, "access_type": kind, **({"key": key} if key else {}), "rows": rows}}
        for t, kind, key, rows in tables
    ]
    return json.dumps({"query_block": {"nested_loop": nested, **more}})


T, U = ("t", "ref", "k", 50), ("u", "eq_ref", "PRIMARY", 1)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (plan(T, U), plan(T, U), []),
        (plan(T, U), plan(("t", "ref", "l", 50), U), [INDEX]),
        (plan(T, U), plan(U, T), [ORDER]),
        (plan(T, U), plan(("t", "range", "k", 50), U), [ACCESS]),
        (plan(T, U), plan(("t", "ALL", None, 50), U), [SCAN]),
        (plan(T, U), plan(("t", "index", "k", 50), U), [SCAN]),
        (plan(("t", "ALL", None, 50)), plan(("t", "index", "k", 50)), [ACCESS]),
        (plan(T, U), plan(T, U, filesort={}), [STEPS]),
        (plan(T, U, temporary_table={}), plan(T, U), [FEWER_STEPS]),
        (plan(T, U), plan(("t", "ref", "k", 500), U), [ESTIMATES]),
        (plan(T, U), plan(("t", "ref", "k", 499), U), []),
        (plan(T, ("u", "const", "PRIMARY", 1)), plan(T, U), []),
        (plan(T, U), plan(("t", "ALL", None, 50), ("u", "eq_ref", "x", 1), filesort={}), [SCAN, INDEX, STEPS]),
        (plan(T), plan(message="Impossible WHERE"), [ACCESS]),
    ],
)
def test_classes(before: str, after: str, words: list[str]) -> None:
    """Each thing has its word; the worst comes first."""
    assert [change.word for change in plan_changes(before, after)] == words
    assert worst(words) == (words or [SAME])[0]


def test_sentences() -> None:
    """Tables by name, what was and what is; why no table is read."""
    assert changes(plan(T), plan(("t", "ALL", None, 5000))) == ["t: ref by k, 50 rows -> a full scan, 5,000 rows"]
    assert changes(plan(T), plan(message="Impossible WHERE")) == ["t: ref by k, 50 rows -> Impossible WHERE"]


def test_costs() -> None:
    """Where both servers tell one."""
    assert cost_text(plan(T, cost=0.25), plan(T, cost=1234.0)) == "cost 0.25 -> 1,234"
    assert cost_text(plan(T), plan(T, cost=1.0)) is None


def test_changes_that_differ_in_rows_alone_are_one() -> None:
    """With the least and the most of each place; other tables, indexes and steps stay apart, in their order."""
    texts = [
        "o: ref by k_2, 3 rows -> a full scan, 59,624 rows",
        "now sorts",
        "o: ref by k_2, 1,200 rows -> a full scan, 59,624 rows",
        "o: ref by {k}, 1 rows -> a full scan, 59,624 rows",
        "o: ref by k_2, 1 rows -> a full scan, 59,624 rows",
        "now sorts",
    ]
    assert merged(texts) == [
        "o: ref by k_2, 1 to 1,200 rows -> a full scan, 59,624 rows",
        "now sorts",
        "o: ref by {k}, 1 rows -> a full scan, 59,624 rows",
    ]
    assert merged([]) == []
