# SPDX-License-Identifier: Apache-2.0
"""Switches a server's query cache off for one run of a comparison, or empties it before; sets it back afterwards.

What is to be set back is kept in a file before anything is changed, so that a comparison that was killed can be
continued: it sets the server back then.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from ..common.errors import TargetError
from ..common.files import publish
from ..common.text import printable
from ..servers.queries import query_or_none
from ..servers.target import Target, fault_text

KEEP, OFF, FLUSH = "keep", "off", "flush"
MODES = (KEEP, OFF, FLUSH)
KEPT = "query_cache.json"  # behind the side's letter, in a comparison's folder: what is to be set back
TYPES = ("OFF", "ON", "DEMAND")
RIGHTS = {OFF: "SUPER (or SYSTEM_VARIABLES_ADMIN)", FLUSH: "RELOAD"}


@contextmanager
def query_cache(target: Target, mode: str, kept: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Have the query cache as `mode` says during the block. A server that has none is left alone.

    `kept`: the file with what is to be set back. Raises TargetError where the server does not let it be changed.
    """
    changed = False
    if mode != KEEP:
        with closing(target.connect()) as con:
            now = _type(con)
            if mode == FLUSH and now is not None:
                _change(con, "RESET QUERY CACHE", target, mode)
            if mode == OFF and now not in (None, "OFF"):
                changed = True
                with publish(kept) as temporary:
                    temporary.write_text(json.dumps({"target": target.name, "query_cache_type": now}), encoding="utf-8")
                _change(con, "SET GLOBAL query_cache_type = OFF", target, mode)
                say(f"{target.name}: query_cache_type {now} is OFF for this run")
    try:
        yield
    finally:
        if changed:
            set_back(target, kept, say)


def set_back(target: Target, kept: Path, say: Callable[[str], None]) -> None:
    """Set the query cache back to what the file says, and remove it; nothing where there is no file.

    Raises TargetError where that fails: the file stays, and the error has the statement.
    """
    if not kept.exists():
        return
    try:
        said = json.loads(kept.read_text(encoding="utf-8"))
        before, name = said["query_cache_type"], said["target"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TargetError(f"{kept}: not what --query-cache off keeps: {error}") from error
    if before not in TYPES:
        raise TargetError(f"{kept}: not what --query-cache off keeps")
    statement = f"SET GLOBAL query_cache_type = {before}"
    if name != target.name:
        by_hand = f"do it by hand: {statement}; then remove {kept}"
        raise TargetError(
            f"{printable(str(name), 100)}: its query cache is still off; {target.name} is another server; {by_hand}"
        )
    try:
        with closing(target.connect()) as con:
            _change(con, statement, target, OFF)
            if _type(con) != before:
                raise TargetError("it did not take it")
    except TargetError as error:
        raise TargetError(
            f"{target.name}: its query cache is still off: {error}; do it by hand: {statement}; then remove {kept}"
        ) from error
    kept.unlink()
    say(f"{target.name}: query_cache_type is {before} again")


def _type(con: "Connection[Any]") -> str | None:
    """Return query_cache_type; None of a server without a query cache, or whose cache has no room."""
    rows = query_or_none(
        con, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('query_cache_type', 'query_cache_size')", 2
    )
    found = {str(row[0]).lower(): str(row[1]).upper() for row in rows or ()}
    kind = found.get("query_cache_type")
    return kind if kind in TYPES and found.get("query_cache_size") != "0" else None


def _change(con: "Connection[Any]", statement: str, target: Target, mode: str) -> None:
    try:
        with con.cursor() as cursor:
            cursor.execute(statement)
    except (pymysql.Error, OSError) as error:
        reason = printable(fault_text(error), 300)
        raise TargetError(f"--query-cache {mode}: {target.name}: {reason}; it needs {RIGHTS[mode]}") from error
