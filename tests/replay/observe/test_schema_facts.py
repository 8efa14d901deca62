# SPDX-License-Identifier: Apache-2.0
"""Tests of the schema properties that a run keeps of its target."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.replay import parse_target
from querytape.replay.observe import schema_facts
from querytape.replay.observe.schema_facts import collect, keep_schema_facts, tape_schemas
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server
from querytape.servers.target import Target

from tests.helpers.duck import database
from tests.helpers.tapes import make_tape


def test_schemas_of_a_tape_are_found(tmp_path: Path) -> None:
    """A tape uses the default schemas of its events and the schemas in its statements. The server's own schemas do not
    count.
    """
    events = [
        {"statement": "SELECT * FROM a JOIN `other`.b", "db": "shop"},
        {"statement": "SELECT * FROM information_schema.TABLES", "db": "mysql"},
        {"statement": "SELECT 1", "db": None},
    ]
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", events))
    with database() as con:
        assert tape_schemas(con, tape) == ["other", "shop"]
        assert tape_schemas(con, tape, "plain") == ["other", "plain", "shop"]


def test_schema_facts_of_a_real_server(any_shop: Server, tmp_path: Path) -> None:
    """Schema properties use the schema name of the tape. Each object appears once. An index has its columns in order."""
    any_shop.execute("CREATE TABLE shop.i (a INT, b VARCHAR(9), c INT, KEY k (c, b(3), a))")
    with database() as con, closing(parse_target(any_shop.url(), environ={}).connect()) as server:
        rows = keep_schema_facts(con, server, {"tape_shop": "shop"}, tmp_path / "f.parquet")
        found = con.execute(f"FROM '{tmp_path}/f.parquet'").fetchall()
    assert rows == len(found) == len({row[:4] for row in found})
    facts = {row[:4]: json.loads(row[4]) for row in found}
    index = facts["index", "tape_shop", "i", "k"]
    assert (index["columns"], index["prefix"], index["not_unique"]) == ("c,b,a", ",3,", "1")
    assert facts["column", "tape_shop", "i", "b"]["type"] == "varchar(9)"
    assert not [row for row in found if row[0] == "problem"]


def test_small_sort_buffer_loses_no_facts(any_shop: Server, tmp_path: Path) -> None:
    """The query raises the sort buffer of its own session and restores it afterwards."""
    columns = ", ".join(f"c{n} VARCHAR(60)" for n in range(12))
    keys = ", ".join(f"KEY k{n} (c{n})" for n in range(12))
    any_shop.execute(f"CREATE TABLE shop.i ({columns}, {keys})")
    found = []
    with closing(parse_target(any_shop.url(), environ={}).connect()) as server, server.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.sort_buffer_size")
        before = cursor.fetchall()
        for small in (False, True):
            if small:
                cursor.execute("SET SESSION sort_buffer_size = 1024")
            found.append({fact for fact in map(str, collect(server, {"shop": "shop"})) if "cardinality" not in fact})
        cursor.execute("SELECT @@SESSION.sort_buffer_size")
        assert cursor.fetchall() == before
    assert found[0] == found[1]
    assert not any("problem" in fact for fact in found[1])


def test_check_constraints_are_named_by_their_conditions(any_shop: Server) -> None:
    """MySQL and MariaDB give the same text of a condition. The check that MariaDB adds to JSON columns is left out."""
    any_shop.execute(
        "CREATE TABLE shop.priced (a INT CHECK (a > 0 AND a < 10), b VARCHAR(5), j JSON,"
        " CONSTRAINT known CHECK (b IN ('x', 'y')))"
    )
    with closing(any_shop.connect()) as server:
        found = [fact for fact in collect(server, {"shop": "shop"}) if fact.kind in ("check", "problem")]
    assert [(fact.table, fact.name) for fact in found] == [("priced", "a > 0 and a < 10"), ("priced", "b in 'x','y'")]


TRIGGER = "CREATE TRIGGER shop.stamp BEFORE INSERT ON shop.log FOR EACH ROW SET NEW.conn = 1"
EVENT = "CREATE EVENT shop.sweep ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.log"


@pytest.mark.parametrize("writes", [True, False])
def test_invisible_triggers_and_events_are_unknown(any_shop: Server, writes: bool) -> None:
    """Hidden triggers and events are not treated as missing. A warning with the GRANT appears only if they can act."""
    for statement in (TRIGGER, EVENT, "CREATE USER blind@'%' IDENTIFIED BY 'x'"):
        any_shop.execute(statement)
    any_shop.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO blind@'%'")
    try:
        account = Target("blind", "127.0.0.1", "127.0.0.1", any_shop.port, password="x")
        with closing(account.connect()) as server, server.cursor() as cursor:
            found = list(collect(server, {"shop": "shop"}, writes))
            cursor.execute("SELECT @@GLOBAL.event_scheduler")
            runs = (cursor.fetchone() or ("",))[0] == "ON"
    finally:
        any_shop.execute("DROP USER blind@'%'")
        any_shop.execute("DROP EVENT shop.sweep")
    assert not [fact for fact in found if fact.kind in ("trigger", "event")]
    problems = {fact.facts["unknown"]: fact.name for fact in found if fact.kind == "problem"}
    assert ("GRANT TRIGGER" in problems["trigger"]) == writes
    assert ("EVENT ON `shop`.* TO 'blind'@'%'" in problems["event"]) == runs


class Cursor:
    """A cursor of a server that gives the same answer to every query."""

    def __init__(self, server: "Fake") -> None:
        self.server = server
        self.description = [(name,) for name in ("TABLE_NAME", 7, "ENGINE")]

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def execute(self, statement: str, _: object = None) -> None:
        """Fail if the server of this test is set to fail."""
        if self.server.error and statement.startswith("SELECT"):
            raise self.server.error

    def fetchall(self) -> Sequence[Sequence[Any]]:
        return self.server.rows


class Fake:
    """A server whose answers do not match the queries."""

    def __init__(
        self, rows: Sequence[Sequence[Any]] = (), error: Exception | None = None, is_open: bool = True
    ) -> None:
        self.rows, self.error, self.open = rows, error, is_open

    def cursor(self) -> Cursor:
        return Cursor(self)


def test_refused_query_is_a_problem() -> None:
    """Each refused source is named, except sources that only some servers have. If the connection is lost, the search
    ends.
    """
    found = list(collect(Fake(error=pymysql.err.OperationalError(1142, "denied")), {"s": "s"}))  # type: ignore[arg-type]
    assert {fact.kind for fact in found} == {"problem"}
    assert any("information_schema.STATISTICS: 1142 denied" in fact.name for fact in found)
    assert not any("COLUMN_STATISTICS" in fact.name for fact in found)
    lost = list(collect(Fake(error=pymysql.err.OperationalError(2013, "lost"), is_open=False), {"s": "s"}))  # type: ignore[arg-type]
    assert "not examined" in lost[1].name
    for told in (found, lost):
        unknown = {fact.facts["unknown"] for fact in told}
        assert unknown >= {"schema", "table", "column", "index", "foreign_key", "partition", "statistics"}


@pytest.mark.parametrize("rows", [[()], [(1,)], [("s", b"\xff" * 9000, None)] * 3, [("s",) * 40]])
def test_hostile_answers_give_problems_or_short_texts(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_facts, "MAX_ROWS", 2)
    found = list(collect(Fake(rows), {"s": "s"}))  # type: ignore[arg-type]
    assert all(len(text) <= 4000 for fact in found for text in (*fact[:4], *fact.facts.values()))


def test_long_definitions_stay_different() -> None:
    """Two long texts with the same beginning still differ after they are shortened."""
    kept = {schema_facts._text("x" * 5000 + end) for end in "ab"}
    assert [len(text) for text in kept] == [4000, 4000]
