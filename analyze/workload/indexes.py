# SPDX-License-Identifier: Apache-2.0
"""Find the indexes of a server that no digest of a tape could use."""

from collections.abc import Iterable
from typing import TypedDict

from ...common.units import plural
from ..tape_rows import TapeAnswers, Workload

# An index can serve a column in these roles, for lookups, sorting or grouping.
SERVED = frozenset({"filter", "range", "join", "group", "order"})


class Index(TypedDict):
    """An index of a server.

    A column is None if the index has an expression in its place. `uses` is None if uses were not counted.
    """

    schema: str
    table: str
    name: str
    columns: list[str | None]
    unique: bool
    foreign_key: bool
    uses: int | None


class IndexUse(TypedDict):
    """The result of servers/index_use.py for a server, as a dict."""

    basis: str | None
    uptime_s: int | None
    indexes: list[Index]
    unknown: list[str]


class IndexReport(TypedDict):
    """The unused indexes of a server. `asked`: number of indexes in the tape's schemas."""

    basis: str | None
    uptime_s: int | None
    unknown: list[str]
    asked: int
    unused: list[Index]


def index_report(answers: TapeAnswers, workload: Workload, use: IndexUse) -> IndexReport:
    """Return the report on a server's indexes. If the tape names schemas, only their indexes count."""
    schemas = {str(row["db"]).lower() for row in answers["accounts"] if row["db"]}
    schemas |= {row["name"].partition(".")[0].strip("`") for row in answers["tables"] if "." in row["name"]}
    indexes = [index for index in use["indexes"] if not schemas or index["schema"].lower() in schemas]
    failed = sum(row["digests"] for row in workload["parsed"] if row["what"] == "failed")
    unknown = list(use["unknown"])
    if failed:
        unknown.append(f"the columns of {plural(failed, 'unparsed digest')}")
    return {
        "basis": use["basis"],
        "uptime_s": use["uptime_s"],
        "unknown": unknown,
        "asked": len(indexes),
        "unused": unused_indexes(workload, indexes),
    }


def unused_indexes(workload: Workload, indexes: Iterable[Index]) -> list[Index]:
    """Return the indexes that no digest could use and that have no counted use. Unknown counts are treated as no use.

    An index can serve a digest that uses its first column in any role except `set`, also inside an expression. If the
    table of a column is unknown, the column may belong to any table. An index on an expression is treated as used.
    """
    named = {
        (_table(row["table_name"]), row["column_name"].strip("`"))
        for row in workload["columns"]
        if row["role"] in SERVED
    }
    found = []
    for index in indexes:
        first = index["columns"][0]
        if first is None or index["uses"]:
            continue
        if (index["table"].lower(), first.lower()) in named or (None, first.lower()) in named:
            continue
        found.append(index)
    return sorted(
        found,
        key=lambda index: (index["unique"] or index["foreign_key"], index["schema"], index["table"], index["name"]),
    )


def _table(name: str | None) -> str | None:
    """Return a table's name without its schema and quotes."""
    return None if name is None else name.rpartition(".")[2].strip("`")
