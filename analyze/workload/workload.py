# SPDX-License-Identifier: Apache-2.0
"""Analyse the workload of a tape: parse its digests, find its transactions, run the analyses of sql/workload."""

from ...common.duck import open_database
from ...schemas import Folder, ddl, event_selection
from ..database import WORKLOAD, AnalysisDatabase, Row
from ..row_values import parse_events, parse_query

# The text to parse for each digest: its sample, or the normalised text if the tape has no complete sample.
TEXTS = """
    SELECT {number} AS id,
        CASE WHEN octet_length(sample) = sample_bytes THEN sample ELSE encode(normalized) END AS text,
        digest
    FROM {digests}
"""
NUMBER = "row_number() OVER (ORDER BY digest)"
# Digests whose statements write or lock rows that they identify by values.
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
    """Return the rows of every workload analysis by name. The tape must be attached as tape_*."""
    event_selection.define_macros(database.con)
    database.run("workload/digests")
    with open_database(memory=memory, keep_order=False, large_arrow=True) as reading:
        parse_query(database, reading, TEXTS.format(number=NUMBER, digests=tape.source("digests")), "digest_parts")
        database.con.execute(f"CREATE OR REPLACE TABLE found_transactions AS {ddl('transactions')}")
        database.run("workload/events")
        database.run("workload/transactions")
    digests = [row[0] for row in database.con.execute(WITH_KEYS).fetchall()]
    parse_events(database, tape, digests, "row_keys", "keys", memory)
    database.run("workload/keys")
    return {name: database.query(f"workload/{name}") for name in WORKLOAD}
