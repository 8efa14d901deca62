# SPDX-License-Identifier: Apache-2.0
"""Which indexes of a server no digest of a tape could use."""

from collections.abc import Iterable
from typing import TypedDict

from ...common.units import plural
from ..tape_rows import TapeAnswers, Workload

# A statement looks rows up, or sorts and groups them, by columns in these roles.
SERVED = frozenset({"filter", "range", "join", "group", "order"})


class Index(TypedDict):
    """An index of a server. `columns`: None for an expression; `uses`: None where nothing counted them."""

    schema: str
    table: str
    name: str
    columns: list[str | None]
    unique: bool
    foreign_key: bool
    uses: int | None


class IndexUse(TypedDict):
    """What servers/index_use.py learned of a server, as a dict."""

    basis: str | None
    uptime_s: int | None
    indexes: list[Index]
    unknown: list[str]


class IndexReport(TypedDict):
    """What is to be said of a server's indexes. `asked`: how many there are in the tape's schemas."""

    basis: str | None
    uptime_s: int | None
    unknown: list[str]
    asked: int
    unused: list[Index]


def index_report(answers: TapeAnswers, workload: Workload, use: IndexUse) -> IndexReport:
    """Return what is to be said of a server's indexes. Only schemas of the tape count, where it knows any."""
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
    """Return the indexes that no digest could use and that the server did not count either; unknown counts stay in.

    An index can serve a digest that names its first column in any role but `set`, in an expression too; where the table
    of a column is not known, any table's. An index on an expression is taken as used.
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
