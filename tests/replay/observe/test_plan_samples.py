# SPDX-License-Identifier: Apache-2.0
"""Which statements of a digest are explained."""

from pathlib import Path

from querytape.replay.observe.plan_samples import explainable, plan_samples
from querytape.schemas import open_folder

from tests.helpers.duck import database
from tests.helpers.tapes import flag_bits, make_tape

ONE, TWO = (f"{n:016x}" for n in (1, 2))


def test_spread_over_the_parameters(tmp_path: Path) -> None:
    """The commonest, the rarest, the longest list, the smallest and the largest value, each statement once."""
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
