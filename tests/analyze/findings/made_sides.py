# SPDX-License-Identifier: Apache-2.0
"""Helpers that build comparison sides with invented schema properties. Another helper opens a database with a tape's
digests.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from querytape.analyze.database import AnalysisDatabase, open_analysis
from querytape.analyze.findings.servers import Side, compare_servers
from querytape.analyze.model import Servers
from querytape.schemas import open_folder


def facts_of(*rows: tuple[str, str, str, str, str], **variables: str) -> Side:
    """Return a side with the given schema properties (kind, schema, table, name, JSON) and global variables."""
    facts = f"(FROM (VALUES {', '.join(map(str, rows))}) AS v(kind, db, tbl, name, facts))"
    return Side({"variables": dict[str, str | None](variables)} if variables else {}, facts)


@contextmanager
def database_of_tape(tape: Path) -> Iterator[AnalysisDatabase]:
    """Open a database that contains the digests of a tape."""
    database = open_analysis()
    try:
        database.con.execute(f"CREATE TEMP VIEW tape_digest AS FROM {open_folder('tape', tape).source('digests')}")
        yield database
    finally:
        database.close()


def compared(tape: Path, a: Side, b: Side) -> Servers:
    """Compare two sides with respect to the objects that a tape uses."""
    with database_of_tape(tape) as database:
        return compare_servers(database, a, b)
