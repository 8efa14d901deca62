# SPDX-License-Identifier: Apache-2.0
"""The lead's side of an order of commits that several drivers keep: dividing the plan, passing on, breaking circles."""

import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest
from querytape.capture.tools.deal import deal
from querytape.replay.drivers.channel import Message
from querytape.replay.drivers.member import Member
from querytape.replay.drivers.shared_order import PIECE, SharedOrder, WholeOrder, order_all, pieces_of
from querytape.replay.drivers.shares import part_of
from querytape.replay.plan.make_plan import PlanRequest, make_plan
from querytape.replay.plan.rules import Rules
from querytape.schemas import open_folder

from tests.helpers.tapes import MS, T0, make_tape

BOUND_NS = 8_000
WRITES = ("UPDATE a SET n = 1", "UPDATE b SET n = 1", "INSERT INTO a VALUES (1)", "SELECT n FROM b FOR UPDATE")


@dataclass
class Heard:
    """A member that keeps what it is sent."""

    number: int
    stuck: tuple[bool, int] | None = None
    over: bool = False
    on_order: Any = None
    heard: list[tuple[str, bytes]] = field(default_factory=list)

    def send(self, kind: str, body: bytes = b"", **values: Any) -> None:
        self.heard.append((kind, body))


def members(number: int) -> list[Member]:
    return cast(list[Member], [Heard(n) for n in range(1, number + 1)])


def heard(member: Member) -> list[tuple[str, bytes]]:
    return cast(Heard, member).heard


def test_finished_commits_go_to_all_other_drivers_that_still_run() -> None:
    drivers = members(4)
    cast(Heard, drivers[3]).over = True
    SharedOrder(drivers, BOUND_NS).take(drivers[1], Message("finished", {}, b"commits", 0))
    assert [heard(member) for member in drivers] == [[("finished", b"commits")], [], [("finished", b"commits")], []]


def test_circle_is_broken_by_one_wait_at_a_time() -> None:
    """The first wait to go may be the cause. Then the earliest on the tape goes."""
    drivers = members(3)
    order = SharedOrder(drivers, BOUND_NS)
    for member, due, cause in ((drivers[0], 500, False), (drivers[1], 300, False), (drivers[2], 900, True)):
        order.take(member, Message("stuck", {"due": due, "cause": cause}, b"", 0))
    went = []
    for now in range(0, 40_000, 500):
        order.break_circle(now)
        for member in drivers:
            if heard(member):
                went.append((now, member.number))
                heard(member).clear()
    assert went == [(1_000, 3), (9_000, 2), (10_000, 1)]


def test_wait_that_is_no_longer_stuck_is_not_broken() -> None:
    drivers = members(2)
    order = SharedOrder(drivers, BOUND_NS)
    order.take(drivers[0], Message("stuck", {"due": 5, "cause": False}, b"", 0))
    order.break_circle(0)
    order.take(drivers[0], Message("stuck", {"due": None, "cause": False}, b"", 0))
    order.break_circle(100_000)
    order.take(drivers[1], Message("stuck", {"due": 5, "cause": False}, b"", 0))
    order.break_circle(100_500)  # the time begins again
    assert heard(drivers[0]) == heard(drivers[1]) == []


def test_file_is_sent_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "order"
    assert list(pieces_of(file)) == []
    file.write_bytes(random.Random(1).randbytes(2 * PIECE + 5))
    assert b"".join(pieces_of(file)) == file.read_bytes()
    assert [len(piece) for piece in pieces_of(file)] == [PIECE, PIECE, 5]


@pytest.mark.parametrize("seed", range(4))
def test_order_of_all_sessions_is_divided_without_loss(seed: int, tmp_path: Path) -> None:
    """A place is shared if one driver waits for it and another driver finishes commits of it."""
    chance = random.Random(seed)
    events = [
        {"session": 1 + n % 7, "start_ns": T0 + n * MS, "duration_ns": MS // 2, "statement": chance.choice(WRITES), "db": "s"}
        for n in range(200)
    ]  # fmt: skip
    for event in events:
        event["class"] = "read" if str(event["statement"]).startswith("SELECT") else "write"
        event["digest"] = f"{WRITES.index(str(event['statement'])):016x}"
    make_tape(tmp_path / "t.tape", events, known_columns=["duration_ns"])
    deal(tmp_path / "t.tape", 3, tmp_path / "t.set")
    tape = open_folder("tape", tmp_path / "t.set")
    parts = [part_of(tape, [f"0{n}.tape"]) for n in (1, 2, 3)]
    rules = Rules(allow_writes=True, commit_order=True)

    def request(name: str) -> PlanRequest:
        (tmp_path / name).mkdir()
        return PlanRequest(tape, rules, tmp_path / name, tmp_path / name)

    plan = make_plan(request("alone"))
    order = order_all(request("whole"), parts)
    assert (order.tables, order.notes) == (plan.order_tables, plan.order_notes)
    with duckdb.connect() as con:
        whole = con.execute(f"SELECT session, seq, tape_ns, waits FROM '{plan.order}'").fetchall()
        divided = [con.execute(f"SELECT session, seq, tape_ns, waits FROM '{file}'").fetchall() for file in order.files]
    assert sorted(row for rows in divided for row in rows) == sorted(whole)
    needed, finished = [set[int]() for _ in parts], [set[int]() for _ in parts]
    for driver, rows in enumerate(divided):
        for *_, waits in rows:
            for turn in waits.split("|"):
                before, _, after = turn.partition(";")
                needed[driver] |= {int(place) for place in re.findall(r"(\d+):", before)}
                finished[driver] |= {int(place) for place in re.findall(r"(\d+):", after)}
    shared = {place for i in range(3) for j in range(3) if i != j for place in needed[i] & finished[j]}
    assert order.shared == sorted(shared)
    assert shared


def test_each_driver_gets_its_part_and_the_shared_places(tmp_path: Path) -> None:
    drivers = members(2)
    (tmp_path / "1").write_bytes(b"part")
    order = SharedOrder(drivers, BOUND_NS)
    order.send(WholeOrder(9, [3, 5], [tmp_path / "1", tmp_path / "missing"], ["note"]))
    places = b"\3\0\0\0\5\0\0\0"
    assert heard(drivers[0]) == [("order", b"part"), ("ordered", places)]
    assert heard(drivers[1]) == [("ordered", places)]
    assert all(member.on_order == order.take for member in drivers)
