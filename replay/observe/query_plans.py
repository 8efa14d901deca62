# SPDX-License-Identifier: Apache-2.0
"""Keeps query plans: EXPLAIN of a sample of each of the costliest statements, once the run is over.

Asked as `explain.py` says: without a write, each within a time. On MySQL 8 the server's own digest is kept as well,
which performance_schema and monitoring know.
"""

import time
from collections.abc import Iterator
from contextlib import closing, suppress

import duckdb
import pymysql

from ...common.duck import load_sql, write_rows
from ...common.errors import TargetError
from ...schemas import Folder, columns, ddl
from ...servers.target import Target
from .explain import Explainer, Sample

MAX_DIGESTS = 40
MAX_S = 30.0  # for all of them


def keep_query_plans(
    con: duckdb.DuckDBPyConnection, tape: Folder, run: Folder, target: Target, schemas: dict[str, str]
) -> int:
    """Write `query_plans.parquet` of a run; return how many statements were explained. 0 where the target is gone."""
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
    """Yield a sample of each of the digests that took the most time in the run."""
    con.execute(ddl("names"))
    for table, source in (("run_outcomes", run.source("outcomes")), ("tape_events", tape.source("events"))):
        con.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS FROM {source}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_digests AS FROM {tape.source('digests')}")
    for digest, db, sample in con.execute(load_sql(__package__, "costliest.sql"), [MAX_DIGESTS]).fetchall():
        with suppress(UnicodeDecodeError):
            yield Sample(digest, db, bytes(sample).decode("utf-8"))
