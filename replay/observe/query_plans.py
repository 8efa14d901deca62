# SPDX-License-Identifier: Apache-2.0
"""Keeps query plans: EXPLAIN of a sample of each of the costliest statements, once the run is over.

EXPLAIN runs nothing (a derived table may be filled on very old servers), each has a time limit, and the connection is
read only where the replay is. On MySQL 8 the server's own digest is kept as well, which performance_schema and
monitoring know.
"""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pymysql

from ...common.duck import load_sql, write_parquet
from ...common.errors import TargetError
from ...native.bindings.statements import Normalizer
from ...schemas import CLASSES, Folder, columns
from ...servers.target import Target, fault_text
from ..options import READ_ONLY

MAX_DIGESTS = 40
MAX_S = 30.0  # for all of them
SETTINGS = (
    "SET SESSION explain_json_format_version = 1",
    "SET SESSION max_execution_time = 2000",
    "SET SESSION max_statement_time = 2",
)


@dataclass(frozen=True)
class Sample:
    """A statement to be explained, in the schema in which it was sent."""

    digest: str
    db: str | None
    statement: str


def keep_query_plans(
    con: duckdb.DuckDBPyConnection, tape: Folder, run: Folder, target: Target, schemas: dict[str, str], writes: bool
) -> int:
    """Write `query_plans.parquet` of a run; return how many statements were explained. 0 where the target is gone."""
    samples = list(costliest(con, tape, run))
    rows: list[tuple[str, str, str | None, str | None]] = []
    with suppress(TargetError, pymysql.Error, OSError), closing(target.connect()) as server:
        for statement in (*SETTINGS, *(() if writes else (READ_ONLY,))):
            with suppress(pymysql.Error), server.cursor() as cursor:
                cursor.execute(statement)
        until = time.monotonic() + MAX_S
        for sample in samples:
            if time.monotonic() > until:
                break
            if not only_explains(sample.statement):
                continue
            rows += explain(server, sample, schemas)
    if rows:
        write(con, rows, run.path / "query_plans.parquet")
    return len({row[0] for row in rows if row[1] == "json" and row[2] is not None})


def costliest(con: duckdb.DuckDBPyConnection, tape: Folder, run: Folder) -> Iterator[Sample]:
    """Yield a sample of each of the digests that took the most time in the run."""
    for table, source in (("run_outcomes", run.source("outcomes")), ("tape_events", tape.source("events"))):
        con.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS FROM {source}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_digests AS FROM {tape.source('digests')}")
    for digest, db, sample in con.execute(load_sql(__package__, "costliest.sql"), [MAX_DIGESTS]).fetchall():
        with suppress(UnicodeDecodeError):
            yield Sample(digest, db, bytes(sample).decode("utf-8"))


def only_explains(statement: str) -> bool:
    """Whether EXPLAIN before this text is a read without a danger: a tape's sample may be anything."""
    seen = Normalizer().normalize(f"EXPLAIN FORMAT=JSON {statement}".encode())
    return CLASSES[seen.class_] == "read" and seen.danger == 0


def explain(server: Any, sample: Sample, schemas: dict[str, str]) -> list[tuple[str, str, str | None, str | None]]:
    """Return (digest, kind, text, error) for a statement's plan as JSON and as a tree, and the server's own digest."""
    rows: list[tuple[str, str, str | None, str | None]] = []
    if sample.db:
        with suppress(pymysql.Error):
            server.select_db(schemas.get(sample.db, sample.db))
    for kind, statement, arguments in (
        ("json", f"EXPLAIN FORMAT=JSON {sample.statement}", None),
        ("tree", f"EXPLAIN FORMAT=TREE {sample.statement}", None),
        ("server_digest", "SELECT STATEMENT_DIGEST(%s)", (sample.statement,)),
    ):
        try:
            with server.cursor() as cursor:
                cursor.execute(statement, arguments)
                answer = cursor.fetchall()
            rows.append((sample.digest, kind, "\n".join(str(row[0]) for row in answer if row), None))
        except pymysql.err.OperationalError as error:
            if not server.open:
                raise
            if kind == "json":
                rows.append((sample.digest, kind, None, fault_text(error)))
        except pymysql.Error as error:
            if kind == "json":
                rows.append((sample.digest, kind, None, fault_text(error)))
    return rows


def write(con: duckdb.DuckDBPyConnection, rows: list[tuple[str, str, str | None, str | None]], path: Path) -> None:
    """Write the rows as a table of the run."""
    listed = ", ".join(f'"{name}" {type_}' for name, type_ in columns("run", "query_plans"))
    con.execute(f"CREATE OR REPLACE TEMP TABLE new_plans ({listed})")
    con.executemany("INSERT INTO new_plans VALUES (?, ?, ?, ?)", [list(row) for row in rows])
    write_parquet(con, "FROM new_plans", path)
