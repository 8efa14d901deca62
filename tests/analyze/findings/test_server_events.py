# SPDX-License-Identifier: Apache-2.0
"""Events and triggers that one side runs: they change tables that no client's write explains."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from querytape.analyze import Report, build
from querytape.analyze.answer.parts import ELSE
from querytape.analyze.answer.to_do import to_do
from querytape.analyze.database import open_analysis
from querytape.analyze.findings.causes import with_causes
from querytape.analyze.findings.results import RACE, SERVER_WRITES, against_b
from querytape.analyze.findings.server_events import name_server_writes
from querytape.analyze.findings.servers import Side, compare_servers
from querytape.analyze.model import ServerDifference, Servers
from querytape.replay import parse_target
from querytape.replay.observe.schema_facts import keep_schema_facts
from querytape.servers.sandbox import Server

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow

SWEEP = "CREATE EVENT shop.sweep ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.cart WHERE made < NOW()"
OFTEN = "ALTER EVENT shop.sweep ON SCHEDULE EVERY 1 HOUR"
EMPTY = "CREATE PROCEDURE shop.empty() DELETE FROM shop.cart"
CALLS = "CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY DO CALL shop.empty()"
TRIGGER = "CREATE TRIGGER shop.stamp BEFORE INSERT ON shop.cart FOR EACH ROW CALL shop.note()"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("before", "after", "schedulers", "said"),
    [
        ([SWEEP], [], ("OFF", "ON"), ["event shop.sweep runs in B only (event_scheduler is OFF in A)"]),
        ([SWEEP], [], ("ON", "ON"), []),
        ([SWEEP], [], ("OFF", "OFF"), []),
        ([], [SWEEP], ("ON", "ON"), ["event shop.sweep runs in B only"]),
        ([SWEEP], ["ALTER EVENT shop.sweep DISABLE"], ("ON", "ON"), ["event shop.sweep runs in A only"]),
        ([EMPTY], [CALLS], ("ON", "ON"), ["event shop.nightly runs in B only"]),
        ([SWEEP], [OFTEN], ("ON", "ON"), ["event shop.sweep: A and B define it differently"]),
        ([SWEEP], [OFTEN], ("ON", "OFF"), ["event shop.sweep runs in A only (event_scheduler is OFF in B)"]),
        ([TRIGGER], ["DROP TRIGGER shop.stamp"], ("ON", "ON"), ["B lacks trigger stamp on cart"]),
    ],
)
def test_what_a_server_writes_itself(
    any_shop: Server, before: list[str], after: list[str], schedulers: tuple[str, str], said: list[str], tmp_path: Path
) -> None:
    """An event that only one side runs, and a trigger that only one side has, by name."""
    any_shop.execute("CREATE TABLE shop.cart (id INT PRIMARY KEY, made DATETIME)")
    any_shop.execute("CREATE TABLE IF NOT EXISTS shop.log (id INT)")
    any_shop.execute("CREATE PROCEDURE shop.note() INSERT INTO log VALUES (1)")
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT COUNT(*) FROM cart", "db": "shop"}])
    sides = []
    for place, statements in enumerate((before, after)):
        for statement in statements:
            any_shop.execute(statement)
        file = tmp_path / f"{place}.parquet"
        with duckdb.connect() as con, closing(parse_target(any_shop.url(), environ={}).connect()) as server:
            keep_schema_facts(con, server, {"shop": "shop"}, file)
        sides.append(Side({"variables": {"event_scheduler": schedulers[place]}}, f"read_parquet('{file}')"))
    database = open_analysis()
    database.con.execute(f"CREATE TEMP VIEW tape_digest AS FROM '{tape}/digests.parquet'")
    found = [each for each in compare_servers(database, *sides).differences if each.kind in ("event", "trigger")]
    database.close()
    assert [each.text for each in found] == said
    assert [each.table for each in found] == ["cart"] * len(said)
    assert all(each.is_on(frozenset({"log"})) == (each.kind == "trigger") for each in found)


def other_results(folder: Path) -> Report:
    """Return a comparison in which a read of `cart` differs."""
    tape = make_tape(folder / "t.tape", [{"statement": "SELECT COUNT(*) FROM cart", "errno": 0}])
    runs = [make_run(folder / f"{n}.run", tape, [{"rows_sent": n}]) for n in range(2)]
    return build(tape, runs[:1], runs[1:])


@pytest.mark.parametrize(("scheduler", "said"), [("ON", []), ("OFF", ["event shop.sweep runs in B only"])])
def test_an_event_that_the_account_may_not_see(scheduler: str, said: list[str]) -> None:
    """A side whose events are unknown lacks none; where its scheduler is off, it runs none."""
    unseen = "('problem', '', '', 'the account may not see events', '{\"unknown\": \"event\"}')"
    event = "('event', 'shop', '', 'sweep', '{\"status\": \"ENABLED\", \"does\": \"DELETE FROM cart\"}')"
    rows = [
        f"FROM (VALUES ('schema', 'shop', '', '', '{{}}'), {row}) AS v(kind, db, tbl, name, facts)"
        for row in (unseen, event)
    ]
    sides = [
        Side({"variables": {"event_scheduler": value}}, f"({row})")
        for value, row in zip((scheduler, "ON"), rows, strict=True)
    ]
    database = open_analysis()
    database.con.execute(
        "CREATE TEMP VIEW tape_digest AS SELECT NULL::VARCHAR[] AS tables, 0 AS duration_ns, '' AS digest"
    )
    found = [each.text[:31] for each in compare_servers(database, *sides).differences if each.kind == "event"]
    database.close()
    assert found == said


@pytest.mark.sampled
@pytest.mark.parametrize(("table", "named"), [("cart", True), ("other", False)])
def test_an_event_comes_before_a_race(table: str, named: bool, tmp_path: Path) -> None:
    """Where it writes to a table of the statement, the result counts, and the event is its cause."""
    report = other_results(tmp_path)
    (row,) = report.answers["results"]
    row["reason"] = RACE
    event = ServerDifference("event", "shop.sweep", "event shop.sweep runs in B only", table=table, digests=1)
    report = replace(report, servers=Servers((event,)))
    report.servers = with_causes(report)
    name_server_writes(report)
    assert row["reason"] == (SERVER_WRITES if named else RACE)
    assert bool(against_b(report)) == named
    (task,) = (task for task in to_do(report) if task.part == ELSE)
    assert ("event shop.sweep runs in B only" in task.cause) == named
