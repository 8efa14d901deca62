# SPDX-License-Identifier: Apache-2.0
"""Send queries to a server that may reject or not support them, and check the shape of the answers."""

from collections.abc import Sequence
from typing import Any, cast

import pymysql
from pymysql.connections import Connection

from ..common.errors import TargetError
from ..common.text import printable

Rows = Sequence[Sequence[Any]]
OWN_SCHEMAS = frozenset({"information_schema", "performance_schema", "mysql", "sys"})
# A session's sql_select_limit also cuts the results of SHOW and information_schema.
ALL_ROWS = "SET SESSION sql_select_limit = 18446744073709551615"
OWN_LIMIT = "SET SESSION sql_select_limit = DEFAULT"


def query_or_none(con: "Connection[Any]", query: str, columns: int = 1) -> Rows | None:
    """Return the rows of a query, with at least `columns` columns.

    Returns None if the server rejects or does not support the query. Raises TargetError if the connection is lost or
    the rows have fewer columns.
    """
    try:
        with con.cursor() as cursor:
            cursor.execute(query)
            rows = cast(Rows, cursor.fetchall())
    except (pymysql.Error, OSError) as error:
        if not con.open:
            raise TargetError(f"{query}: {printable(' '.join(map(str, error.args)), 1000)}") from error
        return None
    if rows and len(rows[0]) < columns:
        raise TargetError(f"{query}: expected {columns} columns, found {len(rows[0])}")
    return rows


def whole(value: object) -> int | None:
    """Return a server's value as a non-negative integer, or None for any other value."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None
