# SPDX-License-Identifier: Apache-2.0
"""Query a server's indexes and how often each index was used.

The counts come from the performance schema or from MariaDB's userstat.
"""

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from .queries import OWN_SCHEMAS, Rows, query_or_none, whole
from .target import Target

INDEXES = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COLUMN_NAME"
    " FROM information_schema.STATISTICS ORDER BY 1, 2, 3, 5"
)
FOREIGN_KEYS = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE"
    " WHERE REFERENCED_TABLE_NAME IS NOT NULL AND ORDINAL_POSITION = 1 UNION"
    " SELECT REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME"
    " FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND ORDINAL_POSITION = 1"
)
COUNTED = (
    "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_STAR"
    " FROM performance_schema.table_io_waits_summary_by_index_usage WHERE INDEX_NAME IS NOT NULL"
)
INSTRUMENT = (
    "SELECT ENABLED FROM performance_schema.setup_instruments"
    " WHERE NAME = 'wait/io/table/sql/handler' AND ENABLED = 'YES'"
)
USER_STATISTICS = "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ FROM information_schema.INDEX_STATISTICS"


@dataclass
class IndexUse:
    """Indexes of a server, except primary keys: schema, table, name, columns, unique, foreign_key, uses.

    - `uses`: how many times the server has used the index since counting began. None means unknown.
    - `basis`: the source of these counts. None if the server does not count uses.
    - `uptime_s`: uptime of the server in seconds.
    - `unknown`: descriptions of missing information.
    """

    basis: str | None = None
    uptime_s: int | None = None
    indexes: list[dict[str, Any]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def ask_index_use(target: Target) -> IndexUse:
    """Return the indexes of all schemas except the server's own.

    Nothing is changed on the server. Raises TargetError.
    """
    with closing(target.connect(answer_s=60)) as con:
        found = IndexUse()
        uptime = query_or_none(con, "SHOW GLOBAL STATUS LIKE 'Uptime'", 2)
        found.uptime_s = whole(uptime[0][1]) if uptime else None
        rows = query_or_none(con, INDEXES, 6)
        if rows is None:
            found.unknown.append("the indexes (information_schema.STATISTICS cannot be read)")
            return found
        keys = query_or_none(con, FOREIGN_KEYS, 3)
        if keys is None:
            found.unknown.append("the indexes that foreign keys need")
        counts = _counts(con, found)
        _fill(found, rows, keys or (), counts)
        return found


def _counts(con: Any, found: IndexUse) -> dict[tuple[str, ...], int] | None:
    """Return the number of uses by (schema, table, index).

    Unused indexes may be missing. Returns None if the server does not count uses.
    """
    enabled = query_or_none(con, INSTRUMENT)
    counted = query_or_none(con, COUNTED, 4) if enabled else None
    if counted is not None:
        found.basis = "the performance schema"
        return {_names(row): _uses(row[3]) for row in counted}
    switched = query_or_none(con, "SELECT @@GLOBAL.userstat")
    counted = query_or_none(con, USER_STATISTICS, 4) if switched and str(switched[0][0]) == "1" else None
    if counted is not None:
        found.basis = "userstat"
        found.unknown.append(
            "the time when userstat began to count (someone may have enabled or flushed userstat at any time)"
        )
        return {_names(row): _uses(row[3]) for row in counted}
    found.unknown.append("the number of uses of each index (performance_schema and userstat are off)")
    return None


def _names(row: Any) -> tuple[str, ...]:
    return tuple(str(part).lower() for part in row[:3])


def _uses(value: object) -> int:
    """Return the number of uses. For an invalid value, return 1, so that the index is not reported as unused."""
    uses = whole(value)
    return 1 if uses is None else uses


def _fill(found: IndexUse, rows: Rows, keys: Rows, counts: dict[tuple[str, ...], int] | None) -> None:
    foreign = {_names(row) for row in keys}
    indexes: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        if str(row[0]).lower() in OWN_SCHEMAS or str(row[2]) == "PRIMARY":
            continue
        index = indexes.setdefault(
            _names(row),
            {
                "schema": str(row[0]),
                "table": str(row[1]),
                "name": str(row[2]),
                "columns": [],
                "unique": str(row[3]) == "0",
                "foreign_key": False,
                "uses": None if counts is None else counts.get(_names(row), 0),
            },
        )
        index["columns"].append(None if row[5] is None else str(row[5]))
    for (schema, table, _), index in indexes.items():
        first = index["columns"][0]
        index["foreign_key"] = first is not None and (schema, table, first.lower()) in foreign
    found.indexes = list(indexes.values())
