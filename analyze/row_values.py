# SPDX-License-Identifier: Apache-2.0
"""Parse the statements of a tape into a table of the rows that they read or write. Values identify the rows."""

from collections.abc import Iterable

import duckdb

from ..common.duck import open_database, sql_text
from ..native.bindings.grammar import Wanted, parse_statements
from ..schemas import Folder
from ..schemas.executed_statements import executed_statements
from .database import RACES, SUSPECTS, AnalysisDatabase

# The columns of parse_statements.
COLUMNS = (
    "id BIGINT, what VARCHAR, tbl VARCHAR, name VARCHAR, role VARCHAR, op VARCHAR, tbl2 VARCHAR, name2 VARCHAR,"
    " plain BOOLEAN, all_rows BOOLEAN, value VARCHAR, parameter BIGINT"
)


def parse_events(
    database: AnalysisDatabase, tape: Folder, digests: Iterable[str], table: str, wanted: Wanted, memory: str
) -> None:
    """Parse the events of some digests into a table. Column `id` is session * 2^31 + seq.

    `wanted`: the kind of parts to store. The kind `keys` uses only events that did not fail on the tape, because failed
    events wrote nothing.
    """
    sound = "coalesce(errno, 0) = 0" if wanted == "keys" else "true"
    named = ", ".join(sql_text(digest) for digest in digests)
    if not named:
        database.con.execute(f"CREATE OR REPLACE TABLE {table} ({COLUMNS})")
        return
    with open_database(memory=memory, keep_order=False, large_arrow=True) as reading:
        parse_query(database, reading, executed_statements(tape.source("events"), named, sound), table, wanted)


def parse_query(
    database: AnalysisDatabase, reading: duckdb.DuckDBPyConnection, query: str, table: str, wanted: Wanted = "parts"
) -> None:
    """Parse the statements of a query (id, text, digest) into a table.

    `reading` streams the rows, so memory use stays small.
    """
    stream = parse_statements(reading.sql(query), wanted)
    database.con.register("parsed_stream", stream)
    try:
        database.con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM parsed_stream")
    finally:
        database.con.unregister("parsed_stream")
        stream.close()


def find_values(database: AnalysisDatabase, tape: Folder, memory: str) -> None:
    """Create races_found and limits_found, which results.sql reads, from the values in the differing statements."""
    digests = [row["digest"] for row in database.query(f"summary/{SUSPECTS}")]
    parse_events(database, tape, digests, "statement_values", "rows", memory)
    database.run(f"summary/{RACES}")
