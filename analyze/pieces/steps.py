# SPDX-License-Identifier: Apache-2.0
"""Split the text of an analysis into steps (tables that can be computed in pieces) and the SELECT that reads them.

The file of an analysis contains three kinds of statements in this order:
- CREATE OR REPLACE TEMP TABLE name AS SELECT keys, aggregates FROM ... WHERE ... GROUP BY ALL. Its aggregates use the
  functions in FUNCTIONS, which can be computed in pieces. Without GROUP BY ALL, the rows of all pieces are collected
  unchanged.
- CREATE OR REPLACE TEMP VIEW or MACRO, for expressions that several of its tables use.
- One SELECT at the end. It reads only these small tables, not events or outcomes.
FROM, WHERE and GROUP BY begin a line. The file is plain SQL that also runs as a whole.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Functions of an aggregate. RANKED functions return the value at a rank. The other functions are sums, extremes and
# fixed-point means.
RANKED = ("quantile_disc", "median", "middle_interval")
FUNCTIONS = ("count", "sum", "min", "max", "arg_min", "mean_of", *RANKED)
# Tables and views that exist only in pieces. Steps that read none of them are computed once.
IN_PIECES = ("joined", "outcome", "matched_events", "paired_times", "failure")
_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|.", re.S)
_CREATE = re.compile(r"CREATE OR REPLACE TEMP (TABLE|VIEW|MACRO) (\w+)(?:\([^)]*\))? AS\s+(.*)", re.S)
_AGGREGATE = re.compile(rf"({'|'.join(FUNCTIONS)})\(")


@dataclass(frozen=True)
class Aggregate:
    """One column: FUNCTION(arguments) FILTER (where)::cast AS name."""

    name: str
    function: str
    arguments: str
    where: str
    cast: str

    @property
    def ranked(self) -> bool:
        """Return whether the aggregate is the value at a rank. Finding such a value takes two passes."""
        return self.function in RANKED

    @property
    def sql(self) -> str:
        """The SQL text of the column."""
        return f"{self.function}({self.arguments}){self.filter}{self.cast} AS {self.name}"

    @property
    def filter(self) -> str:
        """The FILTER clause of the aggregate, or ""."""
        return f" FILTER ({self.where})" if self.where else ""


@dataclass(frozen=True)
class Step:
    """One table, view or macro with its text and its query.

    `keys`: (expression, name) of the GROUP BY columns. `rows`: the FROM clause without FROM and WHERE.
    """

    name: str
    text: str
    query: str
    is_table: bool = True
    grouped: bool = False
    keys: tuple[tuple[str, str], ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    rows: str = ""
    where: str = ""

    def reads(self, others: Iterable[str]) -> set[str]:
        """Return the tables and views among `others` that the step reads."""
        return {other for other in others if re.search(rf"\b{other}\b", self.query)}


@dataclass(frozen=True)
class Analysis:
    """The steps of one file and its last SELECT."""

    name: str
    steps: tuple[Step, ...]
    select: str


def parse(name: str, text: str) -> Analysis:
    """Return the steps of an analysis. Raises ValueError if its text cannot be computed in pieces."""
    *steps, select = statements(text)
    return Analysis(name, tuple(_step(text) for text in steps), select)


def statements(text: str) -> list[str]:
    """Return the statements of a text, without comments."""
    plain = "".join(token for token in _TOKEN.findall(text) if not token.startswith("--"))
    return [part.strip() for part in _split(plain, ";") if part.strip()]


def _step(text: str) -> Step:
    made = _CREATE.fullmatch(text)
    if made is None:
        raise ValueError(f"expected CREATE OR REPLACE TEMP TABLE, VIEW or MACRO: {text[:60]}")
    kind, name, query = made.groups()
    if kind != "TABLE" or not query.endswith("\nGROUP BY ALL"):
        return Step(name, text, query, is_table=kind == "TABLE")
    listed, rows = _cut(query.removesuffix("\nGROUP BY ALL"), "\nFROM ")
    rows, where = _cut(rows, "\nWHERE ")
    items = [item.strip() for item in _split(listed.removeprefix("SELECT"), ",")]
    first = next((place for place, item in enumerate(items) if _AGGREGATE.match(item)), len(items))
    keys = tuple(_named(item) for item in items[:first])
    return Step(name, text, query, True, True, keys, tuple(_aggregate(item) for item in items[first:]), rows, where)


def _named(item: str) -> tuple[str, str]:
    """Return the expression and the name of a column."""
    expression, _, name = item.rpartition(" AS ")
    return (expression, name) if expression else (item, item)


def _aggregate(item: str) -> Aggregate:
    expression, name = _named(item)
    match = _AGGREGATE.match(expression)
    if match is None:
        raise ValueError(f"expected one of {', '.join(FUNCTIONS)}: {item}")
    end = _closing(expression, match.end())
    arguments, rest, where = expression[match.end() : end], expression[end + 1 :], ""
    if rest.startswith(" FILTER ("):
        close = _closing(rest, len(" FILTER ("))
        where, rest = rest[len(" FILTER (") : close], rest[close + 1 :]
    if not re.fullmatch(r"(::\w+)?", rest):
        raise ValueError(f"unexpected text after the aggregate: {item}")
    return Aggregate(name, match[1], arguments, where, rest)


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """Yield (index, character) for all characters outside brackets and quotes."""
    depth, place = 0, 0
    for token in _TOKEN.findall(text):
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
        elif depth == 0:
            yield place, token
        place += len(token)


def _closing(text: str, start: int) -> int:
    """Return the index of the closing bracket. The opening bracket is just before `start`."""
    depth, place = 1, start
    for token in _TOKEN.findall(text[start:]):
        depth += (token in ("(", "[", "{")) - (token in (")", "]", "}"))
        if depth == 0:
            return place
        place += len(token)
    raise ValueError(f"missing closing bracket: {text}")


def _split(text: str, mark: str) -> list[str]:
    """Split a text at a character outside brackets and quotes."""
    edges = [place for place, token in _outside(text) if token == mark]
    return [text[a:b] for a, b in zip([0, *(edge + 1 for edge in edges)], [*edges, len(text)], strict=True)]


def _cut(text: str, words: str) -> tuple[str, str]:
    """Split a text at words that begin a line outside brackets. Returns the text before and after the words."""
    for place, token in _outside(text):
        if token == "\n" and text.startswith(words, place):
            return text[:place], text[place + len(words) :]
    return text, ""
