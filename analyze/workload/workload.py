# SPDX-License-Identifier: Apache-2.0
"""Know the workload of a tape: parse its digests, find its transactions, run the analyses of sql/workload."""

import duckdb

from ...common.duck import open_database, sql_text
from ...native.bindings.grammar import parse_statements
from ...schemas import Folder, ddl, event_selection
from ..database import WORKLOAD, AnalysisDatabase, Row

# The text of each digest that is parsed: its sample, or the normalised text where the tape has no whole sample.
TEXTS = """
    SELECT {number} AS id,
        CASE WHEN octet_length(sample) = sample_bytes THEN sample ELSE encode(normalized) END AS text,
        digest
    FROM {digests}
"""
NUMBER = "row_number() OVER (ORDER BY digest)"
# The statements that write or lock rows by values: those of digests that have such a condition.
KEYS = """
    SELECT session * 2147483648 + seq AS id, statement, digest, NULL::BLOB AS params
    FROM {events}
    WHERE command = 'query' AND statement IS NOT NULL AND coalesce(errno, 0) = 0 AND digest IN ({wanted})
    UNION ALL
    SELECT e.session * 2147483648 + e.seq, coalesce(e.statement, p.statement), e.digest, e.params
    FROM {events} AS e
    LEFT JOIN (
        SELECT session, stmt, any_value(statement) AS statement
        FROM {events}
        WHERE command = 'prepare' AND digest IN ({wanted})
        GROUP BY session, stmt
    ) AS p ON e.session = p.session AND e.stmt = p.stmt
    WHERE e.command = 'execute' AND coalesce(e.errno, 0) = 0 AND e.digest IN ({wanted})
"""
WITH_KEYS = """
    SELECT DISTINCT d.digest
    FROM workload_digests AS d
    JOIN digest_parts AS p USING (id)
    WHERE p.what = 'table' AND p.role IN ('write', 'lock')
    INTERSECT
    SELECT DISTINCT d.digest
    FROM workload_digests AS d
    JOIN digest_parts AS p USING (id)
    WHERE p.what = 'column' AND p.role = 'filter' AND p.op = '=' AND p.plain AND p.all_rows
"""


def know_workload(database: AnalysisDatabase, tape: Folder, memory: str) -> dict[str, list[Row]]:
    """Return the rows of every analysis of the workload, by name. The tape is attached as tape_*."""
    event_selection.define_macros(database.con)
    database.run("workload/digests")
    with open_database(memory=memory, keep_order=False, large_arrow=True) as reading:
        _parse(database, reading, TEXTS.format(number=NUMBER, digests=tape.source("digests")), "digest_parts")
        database.con.execute(f"CREATE OR REPLACE TABLE found_transactions AS {ddl('transactions')}")
        database.run("workload/events")
        database.run("workload/transactions")
        _find_keys(database, reading, tape)
    database.run("workload/keys")
    return {name: database.query(f"workload/{name}") for name in WORKLOAD}


def _find_keys(database: AnalysisDatabase, reading: duckdb.DuckDBPyConnection, tape: Folder) -> None:
    """Make row_keys: the values by which each event writes or locks rows."""
    digests = [row[0] for row in database.con.execute(WITH_KEYS).fetchall()]
    wanted = ", ".join(sql_text(digest) for digest in digests) or "NULL"
    _parse(database, reading, KEYS.format(events=tape.source("events"), wanted=wanted), "row_keys", only_values=True)


def _parse(
    database: AnalysisDatabase, reading: duckdb.DuckDBPyConnection, query: str, table: str, *, only_values: bool = False
) -> None:
    """Parse the statements of a query (id, text, digest) into a table; `reading` streams them, no rows are kept."""
    stream = parse_statements(reading.sql(query), only_values=only_values)
    database.con.register("parsed_stream", stream)
    try:
        database.con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM parsed_stream")
    finally:
        database.con.unregister("parsed_stream")
        stream.close()
