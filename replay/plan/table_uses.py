# SPDX-License-Identifier: Apache-2.0
"""Find the tables that the sent events of a plan use, with their schemas.

Several drivers can keep the order of commits only if no driver uses a table that another driver locks. The plan of the
order itself compares tables without their schemas, which adds waits inside a driver. Between drivers, a schema for each
customer must not make all drivers share their tables.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb

from ...schemas.names import FACT_LOCKS
from .catalog import Catalog, parts_of

UNKNOWN = "*"  # name of the table of statements whose tables are unknown
USER_LOCKS = "GET_LOCK()"  # name of the table that stands for all user-level locks
GATHER = "CREATE OR REPLACE TEMP TABLE table_uses (schema VARCHAR, digest_no INTEGER, locks BOOLEAN)"
# ADD_WINDOW adds the uses of a window to this table. `facts` is the SQL of FACTS in commit_order.py. The statement also
# reads the events of class session, because a SET can read tables.
ADD_WINDOW = (
    f"INSERT INTO table_uses SELECT schema, digest_no, bool_or(facts & {FACT_LOCKS} <> 0) FROM"
    " (SELECT nullif(lower(db), '') AS schema, digest_no, {facts} AS facts FROM window_events"
    " LEFT JOIN known_digests USING (digest)"
    " WHERE reason IS NULL AND class IS NOT NULL AND command <> 'prepare'"
    " AND (digest_no IS NOT NULL OR class NOT IN ('session', 'transaction'))) GROUP BY ALL"
)


@dataclass(frozen=True)
class NamedTables:
    """What a digest uses.

    - `tables`: the named tables. None means that the tables are unknown. A routine can then also write.
    - `user_locks`: whether it uses user-level locks.
    - `changes_schema`: whether a USE inside the text changes the default schema.
    """

    tables: Sequence[str] | None
    user_locks: bool = False
    changes_schema: bool = False


@dataclass(frozen=True)
class TableUse:
    """A table that a driver uses. `schema`: None if unknown. `locks`: whether some statement writes or locks rows."""

    schema: str | None
    name: str
    locks: bool


def uses_of(
    con: duckdb.DuckDBPyConnection,
    digests: Sequence[NamedTables],
    catalog: Catalog,
) -> list[TableUse]:
    """Return the tables of all sent events, from the table table_uses.

    `digests`: the tables of each digest number.
    """
    found: dict[tuple[str | None, str], bool] = defaultdict(bool)
    listed = con.execute("SELECT schema, digest_no, bool_or(locks) FROM table_uses GROUP BY ALL").fetchall()
    for schema, number, locks in listed:
        named = digests[number] if number is not None else NamedTables(None)
        if named.user_locks:
            found["", USER_LOCKS] = True
        if named.tables is None:
            found[None, UNKNOWN] = True
        for name in named.tables or ():
            found[place_of(name, None if named.changes_schema else schema, catalog)] |= bool(locks)
    return [TableUse(schema, name, locks) for (schema, name), locks in sorted(found.items(), key=str)]


def place_of(name: str, schema: str | None, catalog: Catalog) -> tuple[str | None, str]:
    """Return the schema and the name of a table. `schema` is the default schema of the statement.

    Tables that foreign keys join have the same name. If a key leads into another schema, the schema is None.
    """
    parts = parts_of(name)
    own, table = parts[-2] if len(parts) > 1 else schema, parts[-1]
    together = catalog.together.get(table, table)
    return None if together in catalog.across else own, together


def shared_tables(drivers: Sequence[Collection[TableUse]]) -> list[str]:
    """Return the tables that one driver locks and another driver uses, as `schema.name`.

    A table of an unknown schema is in every schema. A statement whose tables are unknown uses the tables of all
    drivers. If that needs an order between drivers, the first name of the result is UNKNOWN.
    """
    schemas: dict[str, set[str | None]] = defaultdict(set)
    for uses in drivers:
        for use in uses:
            schemas[use.name].add(use.schema)
    using: dict[tuple[str | None, str], set[int]] = defaultdict(set)
    locked = set()
    for number, uses in enumerate(drivers):
        for use in uses:
            place = None if None in schemas[use.name] else use.schema, use.name
            using[place].add(number)
            if use.locks:
                locked.add(place)
    shared = [(schema, name) for schema, name in locked if len(using[schema, name]) > 1 and name != UNKNOWN]
    found = sorted(f"{schema}.{name}" if schema else name for schema, name in shared)
    unknown = any(use.name == UNKNOWN for uses in drivers for use in uses)
    return [UNKNOWN, *found] if unknown and sum(map(bool, drivers)) > 1 else found
