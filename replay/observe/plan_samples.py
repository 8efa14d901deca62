# SPDX-License-Identifier: Apache-2.0
"""Chooses statements of each digest to be explained, spread over their parameters."""

from collections.abc import Collection
from contextlib import suppress

import duckdb

from ...common.duck import load_sql
from ...schemas import FLAGS, Folder
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
    for table in ("events", "digests"):
        con.execute(f"CREATE OR REPLACE TEMP VIEW tape_{table} AS FROM {tape.source(table)}")
    con.execute("SET VARIABLE wanted = CAST($1 AS VARCHAR[])", [None if digests is None else sorted(digests)])
    con.execute(f"SET VARIABLE per_digest = {int(per_digest)}")
    con.execute(f"SET VARIABLE max_bytes = {MAX_BYTES}")
    con.execute(f"SET VARIABLE unwanted_flags = {sum(FLAGS[name] for name in UNWANTED)}")
    samples = []
    for digest, number, why, db, statement in con.execute(load_sql(__package__, "plan_samples.sql")).fetchall():
        with suppress(UnicodeDecodeError):
            samples.append(Sample(digest, db, bytes(statement).decode("utf-8"), number, why))
    return samples


def explainable(con: duckdb.DuckDBPyConnection, tape: Folder) -> int:
    """Return how many digests of a tape are reads or writes: those that could be explained if there is a sample."""
    ((digests,),) = con.execute(
        f"SELECT count(*) FROM {tape.source('digests')} WHERE class IN ('read', 'write')"
    ).fetchall()
    return int(digests)
