# SPDX-License-Identifier: Apache-2.0
"""In what the two servers differ: schemas, statistics and settings, each as a sentence that names the thing."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import duckdb

from ...common.units import count
from ...schemas import Folder
from ..database import AnalysisDatabase, Row
from ..model import ServerDifference, Servers
from .causes import is_told
from .seen_through import Objects
from .server_events import event_differences
from .variables import setting_differences

# What each fact is called in a sentence.
WORDS = {
    "type": "type",
    "nullable": "may be NULL",
    "default": "default",
    "extra": "extra",
    "charset": "character set",
    "collation": "collation",
    "expression": "generated as",
    "position": "place in the table",
    "engine": "engine",
    "row_format": "row format",
    "rows": "rows, as estimated",
    "columns": "columns",
    "prefix": "prefix lengths",
    "order": "order",
    "not_unique": "not unique",
    "visible": "visible to the optimizer",
    "cardinality": "cardinality",
    "to_table": "refers to",
    "to_columns": "refers to the columns",
    "on_update": "ON UPDATE",
    "on_delete": "ON DELETE",
    "method": "partitioned by",
    "partitions": "partitions",
    "bounds": "bounds of partitions",
    "updated": "statistics were last updated",
    "on": "runs on",
    "does": "does",
    "is": "is a",
}
KINDS = {
    "foreign_key": "foreign key",
    "foreign_key_rule": "foreign key",
    "partition": "partitions",
    "statistics": "table",
}
# Facts that follow from another one: where that differs, they are not said again.
FOLLOW = {
    "charset": ("type",),
    "collation": ("charset", "type"),
    "prefix": ("columns",),
    "order": ("columns",),
    "bounds": ("partitions",),
}
# How much a kind of difference weighs, most first; what is not named comes after.
WEIGHTS = {
    "schema": 0,
    "table": 1,
    "column": 2,
    "index": 2,
    "event": 2,
    "routine": 2,
    "view": 2,
    "trigger": 2,
    "setting": 3,
    "partition": 3,
    "foreign_key": 4,
    "histogram": 4,
    "foreign_key_rule": 5,
    "statistics": 6,
}
LIGHT_FACTS = frozenset({"rows", "cardinality", "row_format", "position", "default", "extra"})
MAX_VALUE = 60


class Side(NamedTuple):
    """One server, as a run or a folder of plans keeps it: its `target`, and where its schema facts are."""

    target: dict[str, Any]
    facts: str

    @property
    def variables(self) -> dict[str, Any]:
        """Its global variables."""
        return self.target.get("variables") or {}

    @property
    def family(self) -> str:
        """`mariadb` or `mysql`."""
        return "mariadb" if "mariadb" in str(self.target.get("version", "")).lower() else "mysql"

    @property
    def release(self) -> tuple[str, list[str]]:
        """The family, and the first two numbers of the version."""
        return self.family, re.findall(r"\d+", str(self.target.get("version", "")))[:2]


def side_of(run: Folder) -> Side:
    """Return the server of a run."""
    return Side(run.info.get("target") or {}, run.source("schema_facts"))


def compare_servers(database: AnalysisDatabase, a: Side, b: Side) -> Servers:
    """Return in what two servers differ. The database has the view tape_digest."""
    con = database.con
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW schema_fact AS SELECT 'a' AS run, * FROM {a.facts}"
        f" UNION ALL SELECT 'b' AS run, * FROM {b.facts}"
    )
    for letter, side in zip("ab", (a, b), strict=True):
        database.set_variable(f"family_{letter}", side.family, "VARCHAR")
    database.set_variable("one_version", a.release == b.release, "BOOLEAN")
    settings = setting_differences(a.variables, b.variables, a.family == b.family)
    known = con.execute(
        "SELECT run, count(*) FILTER (kind = 'schema'),"
        " string_agg(DISTINCT name, '; ' ORDER BY name) FILTER (kind = 'problem' AND name <> '') FROM schema_fact"
        " GROUP BY run"
    ).fetchall()
    problem = _problem({run: (objects, text) for run, objects, text in known})
    both = {run for run, schemas, _ in known if schemas} == {"a", "b"}
    rows = database.query("servers/schema_differences") if both else []
    events = event_differences(database, {"a": a.variables, "b": b.variables}) if both else ()
    objects = Objects.of(database)
    found = sorted([*_schema_differences(rows, objects), *events, *settings, *_default_collations(con)], key=_weight)
    more = (rows[0]["differences"] if rows else 0) - len(rows)
    told = tuple(each for each in found if is_told(each))
    return Servers(told, more, problem, tuple(each for each in found if not is_told(each)))


def _default_collations(con: duckdb.DuckDBPyConnection) -> Iterable[ServerDifference]:
    """Yield the character sets that have another default collation. The connection has the view schema_fact."""
    rows = con.execute(
        "SELECT name, min(facts ->> '$.collation') FILTER (run = 'a') AS a,"
        " min(facts ->> '$.collation') FILTER (run = 'b') AS b FROM schema_fact WHERE kind = 'charset'"
        " GROUP BY name HAVING a <> b ORDER BY name = 'utf8mb4' DESC, name"
    )
    for name, a, b in rows.fetchall():
        text = f"character set {name}: default collation {a} in A, {b} in B"
        yield ServerDifference("charset", f"{name} collation", text, a, b)


def _problem(known: dict[str, tuple[int, str | None]]) -> str | None:
    """Return why the schemas were not compared, or not wholly."""
    lacking = [letter.upper() for letter in ("a", "b") if not known.get(letter, (0, None))[0]]
    reasons: dict[str, list[str]] = {}
    for letter, (_, text) in sorted(known.items()):
        if text:
            reasons.setdefault(text, []).append(letter.upper())
    said = "; ".join(f"{' and '.join(letters)}: {text}" for text, letters in reasons.items())
    if lacking:
        why = f" ({said})" if said else ""
        return f"The schemas of the servers were not compared: nothing is known of {' and '.join(lacking)}'s{why}."
    return f"The schemas of the servers were not compared wholly: {said}." if said else None


def _weight(difference: ServerDifference) -> tuple[bool, bool, int, bool, int]:
    """Order differences: what the tape uses first; inside that by kind, then by time on the tape."""
    unused = difference.kind not in ("setting", "schema") and not difference.digests
    light = difference.name.rpartition(" ")[2] in LIGHT_FACTS
    return difference.folded, unused, WEIGHTS.get(difference.kind, 9) + 4 * light, light, -difference.tape_ns


def _schema_differences(rows: Sequence[Row], objects: Objects) -> Iterable[ServerDifference]:
    """Yield the differences of schemas; a fact that follows from another one that differs is left out."""
    seen = {(row["kind"], row["db"], row["tbl"], row["name"], row["fact"]) for row in rows}
    other_rows = {(row["db"], row["tbl"]) for row in rows if row["fact"] == "rows"}
    for row in rows:
        place = (row["kind"], row["db"], row["tbl"], row["name"])
        follows = any((*place, fact) in seen for fact in FOLLOW.get(row["fact"], ()))
        if follows or (row["fact"] == "cardinality" and (row["db"], row["tbl"]) in other_rows):
            continue
        a, b = (None if row[side] is None else str(row[side]) for side in ("a", "b"))
        name = f"{_object(row)} {row['fact']}" if row["fact"] else _object(row)
        text = SAID.get(row["what"], _differs)(row)
        acts = row["kind"] in ("trigger", "routine")
        writes = frozenset().union(*(objects.writes(_body(row, side)) for side in (a, b))) if acts else frozenset[str]()
        yield ServerDifference(
            *(row["kind"], name, text, a, b, row["tbl"], bool(row["folded"]), row["digests"], row["tape_ns"]),
            writes=writes,
        )


def _body(row: Row, facts: str | None) -> object:
    """Return what a trigger or routine does on a side: of one that a side lacks, it is among the other side's facts."""
    return facts if row["fact"] else loaded(facts).get("does")


def _object(row: Row) -> str:
    """Return an object's name: `orders.k_user`; the schema is named where the table is not."""
    return ".".join(part for part in (row["tbl"] or row["db"], row["name"]) if part)


def _lacks(letter: str) -> Callable[[Row], str]:
    def say(row: Row) -> str:
        other = row["b"] if letter == "A" else row["a"]
        kind, where = KINDS.get(row["kind"], row["kind"]), f" on {row['tbl']}"
        if row["kind"] in ("schema", "table", "routine"):
            kind = _kind_of(row["kind"], other)
            return f"{letter} lacks the {kind} {_object(row)}"
        if row["kind"] == "partition":
            return f"{row['tbl']} is not partitioned in {letter}"
        if row["kind"] == "histogram":
            return f"{letter} lacks the histogram of {_object(row)}"
        return f"{letter} lacks {kind} {row['name']}{where}{_of_columns(other)}"

    return say


def _kind_of(kind: str, facts: str | None) -> str:
    """Return what an object is: a table may be a view, a routine is a procedure or a function."""
    said = loaded(facts)
    if kind == "table" and str(said.get("type", "")).upper() == "VIEW":
        return "view"
    return str(said.get("is", kind)).lower() if kind == "routine" else KINDS.get(kind, kind)


def _of_columns(facts: str | None) -> str:
    """Return ` (a, b)`: the columns of an index or key."""
    found = loaded(facts).get("columns")
    return f" ({_shown(str(found).replace(',', ', '))})" if found else ""


def loaded(facts: str | None) -> dict[str, Any]:
    """Return an object's facts; nothing for what is none."""
    try:
        found = json.loads(facts or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _differs(row: Row) -> str:
    fact, a, b = row["fact"], row["a"], row["b"]
    kind = KINDS.get(row["kind"], row["kind"])
    if fact == "visible":
        return f"index {row['name']} on {row['tbl']} is invisible to the optimizer in {'A' if a == 'NO' else 'B'}"
    if fact == "not_unique":
        return f"index {row['name']} on {row['tbl']} is unique in {'A' if a == '0' else 'B'} alone"
    if fact == "definition" or (fact == "does" and row["kind"] == "routine"):
        return f"{kind} {_object(row)}: A and B define it differently"
    if fact == "updated":
        return f"statistics of {row['tbl']} are of {_shown(a)} in A, of {_shown(b)} in B (UTC)"
    if fact in ("rows", "cardinality") and all(str(value).isdigit() for value in (a, b)):
        a, b = count(int(a)), count(int(b))
    where = f" on {row['tbl']}" if row["kind"] in ("index", "trigger", "foreign_key", "foreign_key_rule") else ""
    name = row["name"] if where else _object(row)
    return f"{kind} {name}{where}: {WORDS.get(fact, fact)} {_shown(a)} in A, {_shown(b)} in B"


def _shown(value: object) -> str:
    """Return a value in a few words; nothing is `none`."""
    text = "none" if value is None else str(value) or "''"
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "..."


SAID: dict[str, Callable[[Row], str]] = {"a_lacks": _lacks("A"), "b_lacks": _lacks("B")}
