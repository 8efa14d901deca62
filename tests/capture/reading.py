# SPDX-License-Identifier: Apache-2.0
"""A capture file's events as rows, for the tests of packets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from querytape.native.packets import open_packets


def events(path: Path, ports: Sequence[int] = (3306,)) -> tuple[list[dict[str, Any]], list[str], dict[str, Any]]:
    """Return every event of a capture file in the order of sessions, the kinds of problems, and the description."""
    reader = open_packets([path], ports)
    found: list[dict[str, Any]] = []
    with duckdb.connect() as con:
        while not reader.stats().finished:
            stream = reader.part(1000, 1 << 20)
            con.register("s", stream)
            cursor = con.execute("SELECT * FROM s")
            names = [column[0] for column in cursor.description or []]
            found += [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            con.unregister("s")
            stream.close()
        con.register("p", reader.problems())
        kinds = [str(row[0]) for row in con.execute('SELECT kind FROM p ORDER BY "offset"').fetchall()]
    described = reader.describe()
    reader.close()
    return sorted(found, key=lambda e: (e["session"], e["seq"])), kinds, described


def said(found: list[dict[str, Any]]) -> list[tuple[str, bytes | None, int | None, int | None]]:
    """Return (command, statement, rows sent, errno) of events."""
    return [(e["command"], e["statement"], e["rows_sent"], e["errno"]) for e in found]
