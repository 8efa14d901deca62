# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests on real servers: tables, and the causes that a report names for one different setting."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from querytape.analyze import Report
from querytape.analyze.database import Row
from querytape.analyze.findings.causes import with_causes
from querytape.analyze.model import ServerDifference, Servers
from querytape.native.bindings.statements import Normalizer
from querytape.schemas import Folder
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.shapes import answers_of, entry_of, plan_of

SETUP = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(3), note VARCHAR(300), KEY k (note))",
    "INSERT INTO shop.t (c, note) SELECT 'a', REPEAT('x', 200) FROM (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) AS s",
    *("INSERT INTO shop.t (c, note) SELECT c, CONCAT(REPEAT(CHAR(97 + id % 26), 200), id) FROM shop.t",) * 11,
    "CREATE TABLE shop.keyed (id INT PRIMARY KEY, n INT, KEY k (n)) ENGINE=MyISAM",
    "INSERT INTO shop.keyed SELECT id, id * 7 % 5000 FROM shop.t",
)


def started(factory: ServerFactory, kind: str, config: Mapping[str, str] | None = None) -> Server:
    server = factory(kind, dict(config or {}))
    for statement in SETUP:
        server.execute(statement)
    return server


def rows_of(server: Server, statement: str, before: tuple[str, ...] = (), times: int = 1) -> Any:
    """Run a statement in a new session and return its rows."""
    with closing(server.connect()) as con, con.cursor() as cursor:
        for text in before:
            cursor.execute(text)
        for _ in range(times):
            cursor.execute(statement)
        return cursor.fetchall()


def variables(server: Server) -> dict[str, str]:
    """Return the server's global variables and the related properties that a run stores."""
    with closing(server.connect()) as con:
        return gather(con).variables


def settable(value: str) -> str:
    return value if value.isdigit() or value in ("ON", "OFF") else repr(value)


def explaining(
    statement: str, kind: str, differences: list[ServerDifference], plans: Row | None = None, **more: Any
) -> list[str]:
    """Return the names of the differences that explain a changed result or a slower statement.

    `kind`: "results", or the class of the slower statement. `plans`: the statement's plans on both sides.
    """
    entry = {
        "digest": "d",
        "verdict": "slower" if kind != "results" else "same",
        "text": Normalizer().normalize(statement.encode()).text,
        "class": kind,
    }
    told: list[Row] = [{"digest": "d", "kind": "data"}] if kind == "results" else []
    tables = {"d": frozenset({"n"} if "shop.n" in statement else ())}
    inserting = {"digest": "i", "verdict": "same", "text": "insert into n values ()", "class": "write"}
    written = {row["digest"]: Normalizer().properties(str(row["text"]).encode()) for row in (entry, inserting)}
    report = Report(
        Folder("tape", Path("t"), {}), [], [], digests=[entry_of(entry), entry_of(inserting)], written=written, tables={**tables, "i": frozenset({"n"})},
        answers=answers_of(**{"results": told, **more}), servers=Servers((), quiet=tuple(differences)), query_plans={"d": plan_of(plans)} if plans else {},
    )  # fmt: skip
    return [each.name for each in with_causes(report).differences if "d" in each.changed]
