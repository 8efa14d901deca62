# SPDX-License-Identifier: Apache-2.0
"""Ask a server something that it may refuse or not know, and believe no answer of another shape."""

from collections.abc import Sequence
from typing import Any, cast

import pymysql
from pymysql.connections import Connection

from ..common.errors import TargetError
from ..common.text import printable

Rows = Sequence[Sequence[Any]]
OWN_SCHEMAS = frozenset({"information_schema", "performance_schema", "mysql", "sys"})
# A server's sql_select_limit cuts the lists of SHOW and information_schema as well.
ALL_ROWS = "SET SESSION sql_select_limit = 18446744073709551615"
OWN_LIMIT = "SET SESSION sql_select_limit = DEFAULT"


def query_or_none(con: "Connection[Any]", query: str, columns: int = 1) -> Rows | None:
    """Return a statement's rows of at least so many columns, None where the server refuses or does not know it.

    Raises TargetError where the connection is lost, or the answer is another.
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
    """Return a server's number, None for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None
