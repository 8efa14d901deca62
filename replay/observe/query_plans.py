# SPDX-License-Identifier: Apache-2.0
"""Choose statements of a tape to explain, and keep query plans of the costliest statements after the run.

Plans are requested by the rules of `explain.py`: no write, and a time limit for each plan. On MySQL 8 the server's own
digest is also kept. performance_schema and monitoring tools use this digest.
"""

import time
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from typing import Any, NamedTuple

import duckdb
import pymysql

from ...common.duck import load_sql, write_rows
from ...common.errors import TargetError
from ...schemas import FLAGS, Folder, columns, ddl
from ...servers.target import Target
from .explain import Explainer, Sample

MAX_DIGESTS = 40
MAX_S = 30.0  # time limit for all plans together, in seconds
MAX_BYTES = 1 << 20
# Flags of statements that are incomplete, were not sent by a client, or lack their values.
UNWANTED = ("truncated", "redacted", "placeholder", "system", "routine", "unbound", "sql_prepare")


def keep_query_plans(
    con: duckdb.DuckDBPyConnection, tape: Folder, run: Folder, target: Target, schemas: dict[str, str]
) -> int:
    """Write `query_plans.parquet` of a run.

    Return the number of explained statements, or 0 if the target is unreachable.
    """
    samples = list(costliest(con, tape, run))
    rows: list[tuple[str, str, str | None, str | None]] = []
    with suppress(TargetError, pymysql.Error, OSError), closing(Explainer(target, schemas)) as server:
        until = time.monotonic() + MAX_S
        for sample in samples:
            if time.monotonic() > until:
                break
            rows += [(sample.digest, *plan) for plan in server.explain(sample)]
    write_rows(con, columns("run", "query_plans"), rows, run.path / "query_plans.parquet")
    return len({row[0] for row in rows if row[1] == "json" and row[2] is not None})


def costliest(con: duckdb.DuckDBPyConnection, tape: Folder, run: Folder) -> Iterator[Sample]:
    """Yield one sample of each digest that is among the costliest digests of the run."""
    con.execute(ddl("names"))
    for table, source in (("run_outcomes", run.source("outcomes")), ("tape_events", tape.source("events"))):
        con.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS FROM {source}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_digests AS FROM {tape.source('digests')}")
    for digest, db, sample in con.execute(load_sql(__package__, "costliest.sql"), [MAX_DIGESTS]).fetchall():
        with suppress(UnicodeDecodeError):
            yield Sample(digest, db, bytes(sample).decode("utf-8"))


def plan_samples(
    con: duckdb.DuckDBPyConnection, tape: Folder, per_digest: int, digests: Collection[str] | None = None
) -> list[Sample]:
    """Return at most `per_digest` statements of each digest. The digests with the most time come first.

    `digests`: only these digests. Statements that are not UTF-8 are omitted.
    """
    samples = []
    for digest, number, why, db, statement, _, _ in _chosen(con, tape, per_digest, digests, prepared=False):
        with suppress(UnicodeDecodeError):
            samples.append(Sample(digest, db, bytes(statement).decode("utf-8"), number, why))
    return samples


class Place(NamedTuple):
    """The position of a statement on its tape."""

    digest: str
    session: int
    seq: int


def sample_places(
    con: duckdb.DuckDBPyConnection, tape: Folder, per_digest: int, digests: Collection[str]
) -> list[Place]:
    """Return the positions of the statements that `plan_samples` chooses, plus executions of prepared statements."""
    rows = _chosen(con, tape, per_digest, digests, prepared=True)
    return [Place(row[0], row[5], row[6]) for row in rows]


def _chosen(
    con: duckdb.DuckDBPyConnection, tape: Folder, per_digest: int, digests: Collection[str] | None, *, prepared: bool
) -> list[tuple[Any, ...]]:
    """Return the rows of plan_samples.sql."""
    con.execute(ddl("names"))
    for table in ("events", "digests"):
        con.execute(f"CREATE OR REPLACE TEMP VIEW tape_{table} AS FROM {tape.source(table)}")
    con.execute("SET VARIABLE wanted = CAST($1 AS VARCHAR[])", [None if digests is None else sorted(digests)])
    con.execute(f"SET VARIABLE per_digest = {int(per_digest)}")
    con.execute(f"SET VARIABLE max_bytes = {MAX_BYTES}")
    con.execute(f"SET VARIABLE unwanted_flags = {sum(FLAGS[name] for name in UNWANTED)}")
    con.execute(f"SET VARIABLE prepared = {prepared}")
    return con.execute(load_sql(__package__, "plan_samples.sql")).fetchall()


def explainable(con: duckdb.DuckDBPyConnection, tape: Folder) -> int:
    """Return how many digests of a tape are reads or writes. Only reads and writes can be explained."""
    ((digests,),) = con.execute(
        f"SELECT count(*) FROM {tape.source('digests')} WHERE class IN ('read', 'write')"
    ).fetchall()
    return int(digests)
