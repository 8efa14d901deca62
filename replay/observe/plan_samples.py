# SPDX-License-Identifier: Apache-2.0
"""Chooses statements of each digest to be explained, or asked in quick mode, spread over their parameters."""

from collections.abc import Collection
from contextlib import suppress
from typing import Any, NamedTuple

import duckdb

from ...common.duck import load_sql
from ...schemas import FLAGS, Folder, ddl
from .explain import Sample

MAX_BYTES = 1 << 20
# Statements that are not whole, not a client's own, or without their values.
UNWANTED = ("truncated", "redacted", "placeholder", "system", "routine", "unbound", "sql_prepare")


def plan_samples(
    con: duckdb.DuckDBPyConnection, tape: Folder, per_digest: int, digests: Collection[str] | None = None
) -> list[Sample]:
    """Return at most `per_digest` statements of each digest, those of the digests with most time first.

    `digests`: only of these. What is no UTF-8 is left out.
    """
    samples = []
    for digest, number, why, db, statement, _, _ in _chosen(con, tape, per_digest, digests, prepared=False):
        with suppress(UnicodeDecodeError):
            samples.append(Sample(digest, db, bytes(statement).decode("utf-8"), number, why))
    return samples


class Place(NamedTuple):
    """Where a statement is on its tape."""

    digest: str
    session: int
    seq: int


def sample_places(
    con: duckdb.DuckDBPyConnection, tape: Folder, per_digest: int, digests: Collection[str]
) -> list[Place]:
    """Return the events of the same choice, executions of prepared statements among them."""
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
    """Return how many digests of a tape are reads or writes: those that could be explained if there is a sample."""
    ((digests,),) = con.execute(
        f"SELECT count(*) FROM {tape.source('digests')} WHERE class IN ('read', 'write')"
    ).fetchall()
    return int(digests)
