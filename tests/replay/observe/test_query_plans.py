# SPDX-License-Identifier: Apache-2.0
"""Tests of query plans: the choice of the statements and the stored results."""

from pathlib import Path

import pytest
from querytape.replay import parse_target
from querytape.replay.observe.query_plans import costliest, explainable, keep_query_plans, plan_samples
from querytape.schemas import Folder, columns, open_folder
from querytape.servers.sandbox import Server

from tests.helpers.duck import database
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, flag_bits, make_tape

CHEAP, DEAR, BROKEN, OTHER = (f"{n:016x}" for n in (1, 2, 3, 4))
ONE, TWO = (f"{n:016x}" for n in (1, 2))


def folders(tmp_path: Path) -> tuple[Folder, Folder]:
    """Return a tape and a run. Of the explainable statements in the run, DEAR takes the most time. OTHER cannot be
    explained.
    """
    events = [
        {"statement": "SELECT id FROM log", "digest": CHEAP, "db": "shop"},
        {"statement": "SELECT COUNT(*) FROM log", "digest": DEAR, "db": "shop"},
        {"statement": "SELECT * FROM nowhere", "digest": BROKEN, "db": "shop"},
        {"statement": "SHOW TABLES", "digest": OTHER, "db": "shop"},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    took = (MS, 9 * MS, 2 * MS, 99 * MS)
    outcomes = [{"due_ns": 0, "sent_ns": 0, "done_ns": ns} for ns in took]
    return open_folder("tape", tape), open_folder("run", make_run(tmp_path / "a.run", tape, outcomes))


def test_explainable_statements_are_sorted_by_their_time(tmp_path: Path) -> None:
    tape, run = folders(tmp_path)
    with database() as con:
        assert [sample.digest for sample in costliest(con, tape, run)] == [DEAR, BROKEN, CHEAP]


@pytest.mark.server
def test_plans_and_errors_are_kept(shop: Server, tmp_path: Path) -> None:
    """Two of three statements are explained. For the third statement the server's error is kept."""
    tape, run = folders(tmp_path)
    target = parse_target(shop.url(), environ={})
    with database() as con:
        assert keep_query_plans(con, tape, run, target, {}) == 2
        table = f"'{run.path}/query_plans.parquet'"
        assert tuple(row[:2] for row in con.execute(f"DESCRIBE FROM {table}").fetchall()) == columns(
            "run", "query_plans"
        )
        ((error,),) = con.execute(f"SELECT error FROM {table} WHERE text IS NULL AND kind = 'json'").fetchall()
    assert "1146" in error


def test_samples_cover_different_parameters(tmp_path: Path) -> None:
    """The samples are the most frequent, rarest, longest, smallest and largest parameters. Each statement appears once."""
    lists = ("5", "5", "5", "70,80,90,100", "2", "2", "900", "33", "33")
    events = [
        {"statement": f"SELECT * FROM t WHERE id IN ({text})", "digest": ONE, "duration_ns": 1, "db": "s"}
        for text in lists
    ]
    events.append({"statement": "SELECT 1", "digest": TWO, "duration_ns": 100})
    events.append({"statement": "SELECT ?", "digest": f"{3:016x}", "flags": flag_bits("placeholder")})
    events.append({"statement": "COMMIT", "digest": f"{4:016x}", "class": "transaction"})
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", events))
    with database() as con:
        found = plan_samples(con, tape, 5)
        assert [(each.digest, each.number) for each in found] == [(TWO, 1), (ONE, 1), (ONE, 2), (ONE, 3), (ONE, 4)]
        texts = {
            why: each.statement.removeprefix("SELECT * FROM t WHERE id IN (")[:-1]
            for each in found[1:]
            for why in each.why.split(",")
        }
        assert texts["commonest"] == "5"
        assert texts["longest"] == "70,80,90,100"
        assert (texts["smallest"], texts["largest"]) == ("2", "900")
        assert [each.statement for each in plan_samples(con, tape, 1, {ONE})] == ["SELECT * FROM t WHERE id IN (5)"]
        assert explainable(con, tape) == 3
