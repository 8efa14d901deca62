# SPDX-License-Identifier: Apache-2.0
"""Read the columns of tapes and runs from the SQL that defines them."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

FORMAT_VERSION = 1
_TABLE = re.compile(r"^CREATE TABLE (\w+) \(.*?^\);", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r'^    "?(\w+)"? ([A-Z]+(?:\[\])?)( NOT NULL)?', re.MULTILINE)
# Limit in nanoseconds for times relative to the epoch or the start of the run. The sum of a time and a duration then
# fits into 64 bits.
MAX_TIME_NS = 1 << 62
MAX_NUMBER = (1 << 31) - 1
_NUMBERS = {"session": 1, "seq": 1, "clone": 0, "file": 0, "stmt": 0}
_POSITIVE = {"start_ns": MAX_TIME_NS, "flags": (1 << 63) - 1, "actions": (1 << 63) - 1, "offset": (1 << 63) - 1}


@dataclass(frozen=True)
class Column:
    """A column as declared in SQL."""

    name: str
    type: str
    not_null: bool

    @property
    def limits(self) -> tuple[int, int] | None:
        """The valid range of an integer column from which other values are computed.

        Other columns have the range None.
        """
        if "INT" not in self.type:
            return None
        if self.name in _NUMBERS:
            return _NUMBERS[self.name], MAX_NUMBER
        if self.name in _POSITIVE:
            return 0, _POSITIVE[self.name]
        return (-MAX_TIME_NS, MAX_TIME_NS) if self.name.endswith("_ns") else None


def ddl(kind: str) -> str:
    """Return the SQL text of `tape` or `run`, including comments."""
    return (files(__package__) / f"{kind}.sql").read_text(encoding="utf-8")


@cache
def declared(kind: str, table: str) -> tuple[Column, ...]:
    """Return the columns of a table of `tape` or `run` in order. Raises KeyError if the table is unknown.

    The SQL is parsed line by line, one column per line. DuckDB therefore need not be started.
    """
    for match in _TABLE.finditer(ddl(kind)):
        if match[1] == table:
            return tuple(Column(line[1], line[2], bool(line[3])) for line in _COLUMN.finditer(match[0]))
    raise KeyError(f"{kind}.sql defines no table {table!r}")


@cache
def columns(kind: str, table: str) -> tuple[tuple[str, str], ...]:
    """Return (name, DuckDB type) of each column of a table in order. Raises KeyError if the table is unknown."""
    return tuple((column.name, column.type) for column in declared(kind, table))


def select_list(kind: str, table: str, have: set[str]) -> str:
    """Return a SELECT list of all columns of a table in order.

    Existing columns are cast to their declared type. Missing columns become NULL.
    """
    parts = []
    for name, type_ in columns(kind, table):
        value = f'"{name}"' if name in have else "NULL"
        parts.append(f'CAST({value} AS {type_}) AS "{name}"')
    return ", ".join(parts)
