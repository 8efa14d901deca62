# SPDX-License-Identifier: Apache-2.0
"""The lead's side of an order of commits that several drivers keep together.

    lead: plan of all sessions ──order of its sessions──► each driver
    driver ──finished commits──► lead ──► all other drivers

Each driver counts the finished commits of all drivers, so a wait for another driver ends later than a wait inside one
driver, but never too early. If sessions of several drivers wait in a circle, the lead lets one of them go at a time.
"""

import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.duck import sql_text, write_parquet
from ...schemas import Folder
from ..plan.make_plan import PlanRequest, make_plan
from ..run_folder import open_storage
from .channel import Message
from .member import Member

PIECE = 1 << 20
APART = 8  # order_bound_ns / APART is the minimum time between two broken waits, as in commit_order.c
# The places of the plan (a table, or one use of a table) that one driver waits for and another driver finishes.
TURNS = """
    CREATE OR REPLACE TEMP TABLE turns AS
    SELECT DISTINCT driver, part, place
    FROM (SELECT driver, unnest(string_split(waits, '|')) AS turn FROM whole_order JOIN owners USING (session)) AS each,
        (VALUES (1), (2)) AS parts(part),
        unnest(regexp_extract_all(split_part(turn, ';', part), '(\\d+):', 1)) AS places(place)
"""
SHARED = """
    SELECT DISTINCT w.place::INTEGER AS place
    FROM turns AS w
    JOIN turns AS m ON w.place = m.place AND w.driver <> m.driver AND w.part = 1 AND m.part = 2
    ORDER BY 1
"""


@dataclass(frozen=True)
class WholeOrder:
    """The order of all sessions. `tables`: places of the plan. `shared`: the places whose commits drivers pass on.

    - `files`: the order of the sessions of each driver. A file is missing if none of its events waits or commits.
    - `notes`: assumptions of the order that the tape does not confirm.
    """

    tables: int
    shared: list[int]
    files: list[Path]
    notes: list[str]


def order_all(request: PlanRequest, parts: Sequence[Folder]) -> WholeOrder:
    """Plan the order of the whole tape, and divide it among the drivers. `parts`: the tapes of each driver."""
    plan = make_plan(request)
    files = [request.spill / f"order-{number}.parquet" for number in range(len(parts))]
    if not plan.order.exists():
        return WholeOrder(plan.order_tables, [], files, plan.order_notes)
    with open_storage(request.spill) as con:
        owners = " UNION ALL ".join(
            f"SELECT session, {number} AS driver FROM {part.source('sessions')}" for number, part in enumerate(parts)
        )
        con.execute(f"CREATE TEMP TABLE owners AS {owners}")
        con.execute(f"CREATE TEMP VIEW whole_order AS FROM read_parquet({sql_text(plan.order)})")
        con.execute(TURNS)
        shared = [place for (place,) in con.execute(SHARED).fetchall()]
        for number, file in enumerate(files):
            write_parquet(
                con,
                f"SELECT o.* FROM whole_order AS o SEMI JOIN (FROM owners WHERE driver = {number}) USING (session)",
                file,
            )
    return WholeOrder(plan.order_tables, shared, files, plan.order_notes)


class SharedOrder:
    """Passes the finished commits of each driver to the other drivers, and breaks circles of waits.

    The threads that listen to the drivers call `take`. `bound_ns`: how long a wait without progress may last.
    """

    def __init__(self, members: Sequence[Member], bound_ns: int) -> None:
        self._members = members
        self._bound_ns = bound_ns
        self._stuck_since: int | None = None
        self._next_ns = 0

    def send(self, order: WholeOrder) -> None:
        """Send each driver the order of its sessions, in place of the order that it has planned alone."""
        shared = array("i", order.shared).tobytes()
        for member, file in zip(self._members, order.files, strict=True):
            member.on_order = self.take
            for piece in pieces_of(file):
                member.send("order", piece)
            member.send("ordered", shared, tables=order.tables, notes=order.notes)

    def take(self, member: Member, message: Message) -> None:
        """Take a message of a driver about the order."""
        if message.kind == "stuck":
            due = message.values["due"]
            member.stuck = None if due is None else (not message.values["cause"], int(due))
            return
        for other in self._members:
            if other is not member and not other.over:
                other.send("finished", message.body)

    def break_circle(self, now_ns: int | None = None) -> None:
        """Let a session go if sessions have been stuck for some time. The earliest wait on the tape comes first.

        Waits that may be the cause come before all others.
        """
        now = time.monotonic_ns() if now_ns is None else now_ns
        stuck = [(member.stuck, member.number, member) for member in self._members if member.stuck and not member.over]
        if not stuck:
            self._stuck_since = None
            return
        if self._stuck_since is None:
            self._stuck_since = now
        if now - self._stuck_since < self._bound_ns // APART or now < self._next_ns:
            return
        (is_effect, _), _, first = min(stuck)
        first.stuck = None
        first.send("let_go")
        self._next_ns = now + (self._bound_ns // APART if is_effect else self._bound_ns)


def pieces_of(file: Path) -> Iterable[bytes]:
    """Yield the content of a file in pieces that fit into messages. Yields nothing for a missing file."""
    if not file.exists():
        return
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            yield piece
