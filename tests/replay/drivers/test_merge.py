# SPDX-License-Identifier: Apache-2.0
"""Parts become one run: every outcome and session once, by names that say whose they were."""

import threading
from pathlib import Path

import duckdb
from querytape.common.duck import sql_text
from querytape.replay.drivers.member import Member
from querytape.replay.drivers.merge import merge, part_path
from querytape.schemas import select_list

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_parts_become_a_run_even_without_sessions_or_outcomes_of_one(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{}])
    run = tmp_path / "a.run"
    (run / "outcomes").mkdir(parents=True)
    members = [Member(number, [], part_path(run, number), threading.Condition()) for number in (1, 2, 3, 4)]
    for member in members[:3]:
        make_run(member.part, tape, [{"session": member.number * 10 + n} for n in range(member.number)])
        (member.part / "outcomes" / "part-00000.parquet").rename(member.part / "outcomes" / "part-run-00000.parquet")
    with duckdb.connect() as con:
        for member in members[:2]:
            file = member.part / "sessions.parquet"
            values = f"{50 - member.number} AS session, 0 AS clone, true AS opened_ahead, 1 AS executed, 0 AS injected"
            have = {"session", "clone", "opened_ahead", "executed", "injected"}
            listed = select_list("run", "sessions", have)
            con.execute(f"COPY (SELECT {listed} FROM (SELECT {values})) TO {sql_text(str(file))} (FORMAT parquet)")
        merge(run, members, con)
        assert con.execute(f"SELECT count(*) FROM '{run}/outcomes/*.parquet'").fetchall() == [(6,)]
        assert con.execute(f"SELECT session FROM '{run}/sessions.parquet'").fetchall() == [(48,), (49,)]
    names = sorted(path.name for path in (run / "outcomes").iterdir())
    assert names == [f"part-d0{number}-run-00000.parquet" for number in (1, 2, 3)]
    assert not (run / "drivers").exists()
