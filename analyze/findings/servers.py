# SPDX-License-Identifier: Apache-2.0
"""List the differences of the two servers in schemas, statistics, settings and events, one sentence each.

Settings that change how statements run are named. All other settings appear only in a table. A scheduled event that
only one side runs changes data without a client. A statement also uses the tables in the definitions of its views and
routines.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypedDict, cast

import duckdb

from ...common.units import count
from ...schemas import Folder
from ...schemas.json_shapes import ServerInfo
from ..cause_table import TOPICS, gone_modes, is_telling, rank_variables
from ..database import AnalysisDatabase
from ..model import Report, ServerDifference, Servers, Variable, bare_name
from ..rows import SchemaDifferencesRow
from .causes import is_told, tables_of_digests
from .unseen import problem_of

# Fields of a schema object that this module reads by name.
Facts = TypedDict(
    "Facts",
    {
        "type": object,
        "is": object,
        "columns": object,
        "not_unique": object,
        "visible": object,
        "does": object,
        "status": object,
        "every": object,
        "unit": object,
    },
    total=False,
)
Say = Callable[[SchemaDifferencesRow], str]
OF_EVENTS: tuple[Literal["does", "every", "unit"], ...] = ("does", "every", "unit")
# Text for each field of a schema object.
WORDS = {
    "type": "type",
    "nullable": "nullable",
    "default": "default",
    "extra": "extra",
    "charset": "character set",
    "collation": "collation",
    "expression": "generation expression",
    "position": "position in the table",
    "engine": "engine",
    "row_format": "row format",
    "rows": "estimated rows",
    "next_id": "next AUTO_INCREMENT value",
    "columns": "columns",
    "parameters": "parameters",
    "types": "parameter types",
    "modes": "parameter modes",
    "prefix": "prefix lengths",
    "order": "order",
    "not_unique": "not unique",
    "visible": "visible to the optimizer",
    "cardinality": "cardinality",
    "to_table": "referenced table",
    "to_columns": "referenced columns",
    "on_update": "ON UPDATE",
    "on_delete": "ON DELETE",
    "enforced": "enforced",
    "method": "partitioned by",
    "partitions": "partitions",
    "bounds": "partition bounds",
    "updated": "last update of statistics",
    "on": "runs on",
    "does": "does",
    "is": "is a",
}
KINDS = {
    "foreign_key": "foreign key",
    "foreign_key_rule": "foreign key",
    "check": "CHECK",
    "partition": "partitions",
    "statistics": "table",
}
# Maps a field to the fields that it depends on. If one of those fields differs, the dependent field is not reported.
FOLLOW = {
    "charset": ("type",),
    "collation": ("charset", "type"),
    "row_format": ("engine",),
    "prefix": ("columns",),
    "order": ("columns",),
    "bounds": ("partitions",),
    "types": ("parameters",),
    "modes": ("parameters",),
}
NAMED_ON_TABLE = ("index", "trigger", "foreign_key", "foreign_key_rule", "check")
# Sort weight of each kind of difference, most important first. Unlisted kinds come last.
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
    "check": 4,
    "histogram": 4,
    "foreign_key_rule": 5,
    "statistics": 6,
}
LIGHT_FACTS = frozenset({"rows", "next_id", "cardinality", "row_format", "position", "default", "extra"})
MAX_VALUE = 60
LONG_VALUE = 80  # total length of both values; longer lists show only their differences
OWN_DEFAULTS = frozenset({"optimizer_switch"})
# Meaning of an empty value (MySQL 5.7 and earlier, except on Windows).
EMPTY_MEANS = {"innodb_flush_method": "fsync"}
# The largest numbers of 32, 63 and 64 bits. A limit of this size means no limit.
NO_LIMIT = frozenset(str(2**bits - 1) for bits in (32, 63, 64))
OLD_NAMES = {
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
    "storage_engine": "default_storage_engine",
}
# Parts of variable names that differ between any two servers and do not affect how statements run.
SERVERS_OWN = (
    "host",
    "port",
    "socket",
    "dir",
    "file",
    "path",
    "uuid",
    "server_id",
    "gtid",
    "timestamp",
    "uptime",
    "rand_seed",
    "log_error",
    "server_uid",
)
SERVERS_OWN_NAMES = frozenset(
    {"version_compile_machine", "version_compile_os", "license", "pseudo_thread_id", "identity"}
)
WRITERS = frozenset({"event", "trigger"})
UNKNOWN = (
    "SELECT DISTINCT run FROM schema_fact"
    " WHERE kind = 'problem' AND json_valid(facts) AND facts ->> '$.unknown' = 'event'"
)
EVENTS = "SELECT run, db, name, facts FROM schema_fact WHERE kind = 'event' ORDER BY db, name, run"
DEFINITIONS = (
    "SELECT kind, lower(if(kind = 'routine', name, tbl)),"
    " if(json_valid(facts), coalesce(facts ->> '$.definition', facts ->> '$.does'), NULL)"
    " FROM schema_fact WHERE kind IN ('table', 'view', 'routine', 'trigger')"
)
_WRITTEN = re.compile(
    r"\b(?:(?:insert|replace)\b(?:\s+(?:low_priority|delayed|high_priority|ignore|into))*"
    r"|update\b(?:\s+(?:low_priority|ignore))*|delete\b(?:\s+(?:low_priority|quick|ignore))*\s+from"
    r"|truncate\b(?:\s+table)?)\s+(?:[\w$]+\s*\.\s*)?([\w$]+)"
)


@dataclass(frozen=True)
class Objects:
    """Schema objects of both servers, by bare name.

    `tables` includes the views. `views`, `routines` and `triggers` (by table) contain the words of their definitions.
    `written` contains the tables that each routine writes directly.
    """

    tables: frozenset[str]
    views: Mapping[str, frozenset[str]]
    routines: Mapping[str, frozenset[str]]
    triggers: Mapping[str, frozenset[str]]
    written: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, database: AnalysisDatabase) -> Self:
        """Return the objects of both sides. The database has the view schema_fact."""
        found: dict[str, dict[str, frozenset[str]]] = {kind: {} for kind in ("table", "view", "routine", "trigger")}
        written = dict[str, frozenset[str]]()
        for kind, name, definition in database.con.execute(DEFINITIONS).fetchall():
            found[kind][name] = found[kind].get(name, frozenset()) | words_of(definition)
            if kind == "routine":
                written[name] = written.get(name, frozenset()) | written_by(definition)
        return cls(
            frozenset(found["table"] | found["view"]), found["view"], found["routine"], found["trigger"], written
        )

    def behind(self, words: Iterable[str]) -> frozenset[str]:
        """Return the given words and, recursively, the words in the definitions of their views and routines."""
        known, new = set[str](), set(words)
        while new:
            known |= new
            named = (each[word] for word in new for each in (self.views, self.routines) if word in each)
            new = set().union(*named) - known
        return frozenset(known)

    def writes(self, definition: object) -> frozenset[str]:
        """Return the tables that a definition writes, directly or through the routines that it calls."""
        called = self.behind(words_of(definition)) & self.routines.keys()
        return written_by(definition).union(*(self.written[name] for name in called)) & self.tables


def written_by(definition: object) -> frozenset[str]:
    """Return the names after INSERT, UPDATE, DELETE and similar words in a definition."""
    return frozenset(_WRITTEN.findall(str(definition or "").replace("`", "").lower()))


def words_of(definition: object) -> frozenset[str]:
    """Return the words of a definition in lower case."""
    return frozenset(re.findall(r"[\w$]+", str(definition or "").lower()))


def seen_through(
    database: AnalysisDatabase, tables: Mapping[str, frozenset[str]]
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Return the tables and the routines that each digest reaches, directly or through views, routines and triggers.

    `tables`: the tables that each digest names. The database has the views schema_fact and tape_digest.
    """
    objects, reached, routines = Objects.of(database), dict(tables), dict[str, frozenset[str]]()
    if not objects.views and not objects.routines and not objects.triggers:
        return reached, routines
    rows = database.con.execute("SELECT digest, coalesce(calls, []), class FROM tape_digest").fetchall()
    for digest, calls, statement_class in rows:
        named = tables.get(digest, frozenset())
        fired = [objects.triggers.get(table, frozenset()) for table in named if statement_class == "write"]
        words = objects.behind(({bare_name(name) for name in calls} & objects.routines.keys()).union(named, *fired))
        if more := (words & objects.tables) | named:
            reached[digest] = more
        routines[digest] = words & objects.routines.keys()
    return reached, routines


def different_variables(a: dict[str, Any], b: dict[str, Any]) -> list[Variable]:
    """Return the variables that differ and may matter, with their values.

    The value is None if a server lacks the variable.

    Variables that both servers have come first.
    """
    rows: list[Variable] = []
    for name in sorted(a.keys() | b.keys()):
        before, after = a.get(name), b.get(name)
        own = name in SERVERS_OWN_NAMES or any(part in name for part in SERVERS_OWN)
        own &= not is_telling(name)
        if before != after and not own:
            rows.append({"name": name, "a": before, "b": after})
    both = [row for row in rows if row["a"] is not None and row["b"] is not None]
    return both + [row for row in rows if row["a"] is None or row["b"] is None]


def setting_differences(a: dict[str, Any], b: dict[str, Any], same_family: bool = True) -> list[ServerDifference]:
    """Return the differing settings that may change how statements run, most important first.

    optimizer_switch is folded for servers of different families, because each family has its own defaults.
    """
    old = {new: name for name, new in OLD_NAMES.items() if name in b and new not in b}
    a, b = ({OLD_NAMES.get(name, name): value for name, value in side.items()} for side in (a, b))
    known = [row for row in rank_variables(different_variables(a, b), list(TOPICS)) if row.get("topic")]
    found = [difference for row in known for difference in _setting(row["name"], row["a"], row["b"])]
    return [
        replace(
            each, old_name=old.get(each.name, ""), folded=each.folded or (each.name in OWN_DEFAULTS and not same_family)
        )
        for each in found
    ]


def _setting(name: str, a: str | None, b: str | None) -> Iterator[ServerDifference]:
    """Yield the difference of one setting.

    If the values are lists, only entries that the other server could also have are shown.
    """
    if a is None or b is None or (a or EMPTY_MEANS.get(name)) == (b or EMPTY_MEANS.get(name)) or {a, b} <= NO_LIMIT:
        return
    if name == "sql_mode":
        text, folded = _modes(a, b)
    elif name == "optimizer_switch":
        text, folded = _flags(a, b)
    else:
        text, folded = f"{name}: {a or 'empty'} in A, {b or 'empty'} in B", False
    if text:
        yield ServerDifference("setting", name, text, a, b, folded=folded)


def _modes(a: str, b: str) -> tuple[str, bool]:
    """Return the SQL modes that only one side has, and whether all of them are modes that a release removed."""
    sides = [{mode for mode in text.split(",") if mode} for text in (a, b)]
    only = [sides[0] - sides[1], sides[1] - sides[0]]
    if not any(only):
        return "", False
    is_gone = only[0] | only[1] <= gone_modes()
    shown = [sorted(modes if is_gone else modes - gone_modes()) for modes in only]
    parts = [f"only {letter} has {', '.join(modes)}" for letter, modes in zip("AB", shown, strict=True) if modes]
    return f"sql_mode: {'; '.join(parts)}", is_gone


def _flags(a: str, b: str) -> tuple[str, bool]:
    """Return the optimizer switches that differ between the servers, and whether the difference is folded.

    The difference is folded if each differing switch exists on one server only.
    """
    sides = [dict(flag.partition("=")[::2] for flag in text.split(",") if flag) for text in (a, b)]
    both = [name for name in sides[0] if name in sides[1] and sides[0][name] != sides[1][name]]
    if both:
        parts = [f"{name} is {sides[0][name]} in A, {sides[1][name]} in B" for name in both]
        return f"optimizer_switch: {'; '.join(parts)}", False
    only = sum(name not in sides[1] for name in sides[0]) + sum(name not in sides[0] for name in sides[1])
    said = "1 switch exists" if only == 1 else f"{only} switches exist"
    return (f"optimizer_switch: {said} only in one version" if only else ""), True


def value_texts(a: str | None, b: str | None) -> tuple[str, str]:
    """Return two values for display. Long lists show only their differences, with spaces so that lines can wrap.

    A missing or an empty value is described by a phrase.
    """
    if a and b and len(a) + len(b) > LONG_VALUE and "," in a and "," in b:
        sides = [[part for part in text.split(",") if part] for text in (a, b)]
        same = set(sides[0]) & set(sides[1])
        if len(same) > 1:
            only = [", ".join(part for part in side if part not in same) or "no others" for side in sides]
            return f"{only[0]}", f"{only[1]} (and {len(same):,} values that A also has)"
    return _value_text(a), _value_text(b)


def _value_text(value: str | None) -> str:
    if value is None:
        return "no such variable"
    return ", ".join(part.strip() for part in value.split(",")) or "empty"


def event_differences(
    database: AnalysisDatabase, variables: Mapping[str, Mapping[str, object]]
) -> Iterator[ServerDifference]:
    """Yield a difference for each scheduled event that differs or that only one side runs.

    An event that names several tables of the tape is yielded once per table. `variables`: by side. The database has the
    views schema_fact and tape_digest.
    """
    scheduler = {side: str(known.get("event_scheduler") or "").upper() for side, known in variables.items()}
    if not all(scheduler.values()):
        return
    events: dict[tuple[str, str], dict[str, Facts]] = {}
    for run, db, name, facts in database.con.execute(EVENTS).fetchall():
        events.setdefault((db, name), {})[run] = json.loads(facts)
    tables, objects = _tables(database), Objects.of(database)
    unseen = {run for (run,) in database.con.execute(UNKNOWN).fetchall() if scheduler[run] == "ON"}
    for (db, name), sides in events.items():
        enabled = [side for side, facts in sides.items() if facts.get("status") == "ENABLED"]
        running = [side for side in enabled if scheduler[side] == "ON"]
        other = "b" if running == ["a"] else "a"
        if len(running) == 1 and other not in unseen:
            why = "" if scheduler[other] == "ON" else f" (event_scheduler is {scheduler[other]} in {other.upper()})"
            text = f"event {db}.{name} runs in {running[0].upper()} only{why}"
        elif len(running) == 2 and _is_other(*sides.values()):
            text = f"event {db}.{name}: the definitions differ"
        else:
            continue
        words = objects.behind(frozenset().union(*(words_of(sides[side].get("does")) for side in running)))
        for table in sorted(words & tables.keys()) or [""]:
            digests, tape_ns = tables.get(table, (0, 0))
            yield ServerDifference("event", f"{db}.{name}", text, table=table, digests=digests, tape_ns=tape_ns)


def _is_other(a: Facts, b: Facts) -> bool:
    """Return whether the body or the schedule of a scheduled event differs between the sides."""
    return any(a[fact] != b[fact] for fact in OF_EVENTS if fact in a and fact in b)


def _tables(database: AnalysisDatabase) -> dict[str, tuple[int, int]]:
    """Return the number of digests that name each table of the tape, and their time on the tape in ns."""
    rows = database.con.execute("SELECT tables, coalesce(duration_ns, 0) FROM tape_digest WHERE tables IS NOT NULL")
    found: dict[str, tuple[int, int]] = {}
    for names, time in rows.fetchall():
        for name in {bare_name(name) for name in names if name}:
            digests, tape_ns = found.get(name, (0, 0))
            found[name] = digests + 1, tape_ns + int(time)
    return found


def name_server_writes(report: Report) -> None:
    """Replace the reason `perhaps_race` by `server_writes` if a writing event or trigger differs.

    The event or trigger must concern a table of the statement.
    """
    writers = [each for each in report.servers.differences if each.kind in WRITERS]
    for row in report.answers["results"]:
        tables = report.tables.get(row["digest"] or "", frozenset())
        if row["reason"] == "perhaps_race" and any(each.is_on(tables) for each in writers):
            row["reason"] = "server_writes"


class Side(NamedTuple):
    """One server, as a run or a plans folder recorded it.

    `facts`: SQL source that reads the properties of its schema objects.
    """

    target: ServerInfo
    facts: str

    @property
    def variables(self) -> dict[str, str | None]:
        """The global variables of the server."""
        return self.target.get("variables") or {}

    @property
    def family(self) -> str:
        """The family of the server: `mariadb` or `mysql`."""
        return "mariadb" if "mariadb" in str(self.target.get("version", "")).lower() else "mysql"

    @property
    def release(self) -> tuple[str, list[str]]:
        """The family of the server and the first two numbers of its version."""
        return self.family, re.findall(r"\d+", str(self.target.get("version", "")))[:2]


def side_of(run: Folder) -> Side:
    """Return the server of a run."""
    return Side(run.target, run.source("schema_facts"))


def compare_servers(database: AnalysisDatabase, a: Side, b: Side) -> Servers:
    """Return the differences of two servers. The database has the view tape_digest."""
    con = database.con
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW schema_fact AS SELECT 'a' AS run, * FROM {a.facts}"
        f" UNION ALL SELECT 'b' AS run, * FROM {b.facts}"
    )
    for letter, side in zip("ab", (a, b), strict=True):
        database.set_variable(f"family_{letter}", side.family, "VARCHAR")
    database.set_variable("one_version", a.release == b.release, "BOOLEAN")
    settings = setting_differences(a.variables, b.variables, a.family == b.family)
    objects = Objects.of(database)
    known = {run for (run,) in con.execute("SELECT DISTINCT run FROM schema_fact WHERE kind = 'schema'").fetchall()}
    both = known == {"a", "b"}
    used = frozenset().union(*seen_through(database, tables_of_digests(database))[0].values())
    problem = problem_of(database, known, objects.routines, used)
    rows = cast(list[SchemaDifferencesRow], database.query("servers/schema_differences") if both else [])
    events = event_differences(database, {"a": a.variables, "b": b.variables}) if both else ()
    found = sorted([*_schema_differences(rows, objects), *events, *settings, *_default_collations(con)], key=_weight)
    more = (rows[0]["differences"] if rows else 0) - len(rows)
    told = tuple(each for each in found if is_told(each))
    return Servers(told, more, problem, tuple(each for each in found if not is_told(each)))


def _default_collations(con: duckdb.DuckDBPyConnection) -> Iterable[ServerDifference]:
    """Yield the character sets whose default collation differs. The connection has the view schema_fact."""
    rows = con.execute(
        "SELECT name, min(facts ->> '$.collation') FILTER (run = 'a') AS a,"
        " min(facts ->> '$.collation') FILTER (run = 'b') AS b FROM schema_fact WHERE kind = 'charset'"
        " GROUP BY name HAVING a <> b ORDER BY name = 'utf8mb4' DESC, name"
    )
    for name, a, b in rows.fetchall():
        text = f"character set {name}: default collation {a} in A, {b} in B"
        yield ServerDifference("charset", f"{name} collation", text, a, b, fact="collation")


def _weight(difference: ServerDifference) -> tuple[bool, bool, int, bool, int]:
    """Return a sort key: objects that the tape uses first, then by kind, then by time on the tape."""
    unused = difference.kind not in ("setting", "schema") and not difference.digests
    light = difference.fact in LIGHT_FACTS
    return difference.folded, unused, WEIGHTS.get(difference.kind, 9) + 4 * light, light, -difference.tape_ns


def _schema_differences(rows: Sequence[SchemaDifferencesRow], objects: Objects) -> Iterable[ServerDifference]:
    """Yield the differences of schemas. A field that depends on another differing field is left out (FOLLOW)."""
    seen = {(row["kind"], row["db"], row["tbl"], row["name"], row["fact"]) for row in rows}
    other_rows = {(row["db"], row["tbl"]) for row in rows if row["fact"] == "rows"}
    for row in rows:
        place = (row["kind"], row["db"], row["tbl"], row["name"])
        follows = any((*place, fact) in seen for fact in FOLLOW.get(row["fact"] or "", ()))
        if follows or (row["fact"] == "cardinality" and (row["db"], row["tbl"]) in other_rows):
            continue
        a, b = row["a"], row["b"]
        name = f"{_object(row)} {row['fact']}" if row["fact"] else _object(row)
        text = SAID.get(row["what"], _differs)(row)
        acts = row["kind"] in ("trigger", "routine")
        writes = frozenset().union(*(objects.writes(_body(row, side)) for side in (a, b))) if acts else frozenset[str]()
        yield ServerDifference(
            *(row["kind"], name, text, a, b, row["tbl"], bool(row["folded"]), row["digests"], row["tape_ns"]),
            writes=writes,
            fact=row["fact"] or "",
        )


def _body(row: SchemaDifferencesRow, facts: str | None) -> object:
    """Return the body of a trigger or routine on one side, or None if `facts` does not contain it.

    If the other side lacks the object, `facts` contains all fields of the object.
    """
    if row["fact"]:
        return facts if row["fact"] == "does" else None
    return loaded(facts).get("does")


def _object(row: SchemaDifferencesRow) -> str:
    """Return an object's name, for example `orders.k_user`.

    The name of an object without a table starts with the schema.
    """
    return ".".join(part for part in (row["tbl"] or row["db"], row["name"]) if part)


def _lacks(letter: str) -> Say:
    def say(row: SchemaDifferencesRow) -> str:
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
    """Return the kind of an object. A view is not a table, and a procedure is not a function."""
    said = loaded(facts)
    if kind == "table" and str(said.get("type", "")).upper() == "VIEW":
        return "view"
    return str(said.get("is", kind)).lower() if kind == "routine" else KINDS.get(kind, kind)


def _of_columns(facts: str | None) -> str:
    """Return the columns of an index or key as ` (a, b)`, or ""."""
    found = loaded(facts).get("columns")
    return f" ({_shown(str(found).replace(',', ', '))})" if found else ""


def loaded(facts: str | None) -> Facts:
    """Return an object's fields, or an empty dict if the text is not a JSON object."""
    try:
        found = json.loads(facts or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast(Facts, found) if isinstance(found, dict) else {}


def _differs(row: SchemaDifferencesRow) -> str:
    fact, a, b = row["fact"] or "", row["a"], row["b"]
    kind = KINDS.get(row["kind"], row["kind"])
    if fact == "visible":
        return f"index {row['name']} on {row['tbl']} is invisible to the optimizer in {'A' if a == 'NO' else 'B'}"
    if fact == "not_unique":
        return f"index {row['name']} on {row['tbl']} is unique only in {'A' if a == '0' else 'B'}"
    if fact == "definition" or (fact == "does" and row["kind"] == "routine"):
        return f"{kind} {_object(row)}: the definitions differ"
    if fact == "updated":
        return f"table {row['tbl']}: last update of statistics {_shown(a)} in A, {_shown(b)} in B (UTC)"
    if fact in ("rows", "cardinality") and a and b and a.isdigit() and b.isdigit():
        a, b = count(int(a)), count(int(b))
    where = f" on {row['tbl']}" if row["kind"] in NAMED_ON_TABLE else ""
    name = row["name"] if where else _object(row)
    return f"{kind} {name}{where}: {WORDS.get(fact, fact)} {_shown(a)} in A, {_shown(b)} in B"


def _shown(value: object) -> str:
    """Return a value, shortened for display. None is shown as `none`."""
    text = "none" if value is None else str(value) or "''"
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "..."


SAID: dict[str, Say] = {"a_lacks": _lacks("A"), "b_lacks": _lacks("B")}
