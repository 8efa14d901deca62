# SPDX-License-Identifier: Apache-2.0
"""Find the tables that a statement may touch, for the order of commits. When in doubt, include more tables.

Tables are compared by name without their schema. Views, routines and triggers may touch tables that the statement does
not name. A write may also name no table. Such statements wait for all tables.

The views, routines, triggers and foreign keys are those of the target and those that the tape creates. An object counts
for the whole tape, even before the tape creates it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

import duckdb
import pymysql
from pymysql.connections import Connection

from ...common.duck import plain_reason, small_database
from ...common.errors import InputError, TargetError
from ...common.groups import join_pairs
from ...schemas import Folder
from ...schemas.names import USE_ADDS_ROWS, USE_ASKS
from ...servers.target import fault_text
from .overrides import STEPS, id_steps

PART = re.compile(r"`(?:[^`]|``)*`|[^.`]+")
OWN = "('mysql', 'information_schema', 'performance_schema', 'sys')"
WORD = re.compile(r"[\w$]+")
REPLACE_FUNCTION = re.compile(r"\breplace\s*\(")
# Maps the keyword of a statement to the trigger events that the statement may cause.
EVENTS = {
    "insert": ("insert",),
    "load": ("insert",),
    "replace": ("insert", "delete"),
    "update": ("update",),
    "delete": ("delete",),
}
ADD = frozenset({"insert", "replace", "load"})  # words of statements that add rows
ASK = frozenset({"update", "delete", "replace", "select"})  # words of statements that depend on existing rows
FIRE_NOTHING = ("read", "ddl")  # classes of statements that fire no trigger
DYNAMIC = frozenset({"prepare", "immediate"})  # words of dynamic SQL in a routine
# Matches a normalised CREATE or ALTER, and finds the kind of its object and the events of a trigger.
DEFINES = re.compile(
    r"(?:create|alter) (?:(?!\b(?:table|index|event)\b).)*?"
    r"\b(?:(view|procedure|function)\b|trigger\b.*?\b(?:before|after) ([\w ,`]+?) on\b.*?\bfor each row\b)"
)
# Finds the kind and the name of the object in normalised DDL. DDL of a table or an index does not match.
OBJECT = re.compile(
    r"(?:create|alter|drop) (?:(?!\b(?:table|index)\b).)*?\b(view|trigger|procedure|function|event)\b"
    r" *(?:if (?:not )?exists )?((?:`(?:[^`]|``)*`|[^`\s(])+)"
)
SEVERAL = re.compile(r"; *(?:create|alter|drop|rename|truncate)\b")  # a text may contain several statements
COMMENTS = re.compile(r"/\*!\d*|\*/| +")  # around the parts of a statement of mysqldump
DEFINER = re.compile(r" definer ?= ?(?:`[^`]*`|[^\s`@]+)(?: ?@ ?(?:`[^`]*`|\S+))?")
RENAMES = re.compile(r"rename table\b|alter .*\brename\b")
LONGEST = 65_000  # the normalised text of a longer statement may lack its end
SCHEMA = re.compile(r"create (?:or replace )?(?:database|schema) +(?:if not exists +)?(`(?:[^`]|``)*`|[^\s`]+)")
# Statements after which an older snapshot can still be used.
KEEPS_ROWS = re.compile(
    r"(?:create|alter|drop) (?!(?:\w+ )*?(?:table|index)\b)|rename\b"
    r"|alter table \S+ (?:comment|auto_increment) ?=? ?\?$|alter table \S+ rename (?!column|index|key)[^,]*$"
)
NUMBERED = re.compile(r"\bauto_increment\b(?! =)|\bserial\b")  # a column that generates ids, not the next id


@dataclass(frozen=True)
class Catalog:
    """Objects of the target. `opaque`: names that hide other tables. `together`: tables joined by foreign keys.

    - `touches`: the tables and views behind a name of `opaque`, with the name itself. A name is missing if it is a
      routine, if its text is hidden, or if its text runs a routine or dynamic SQL.
    - `shows`: like `touches`, but only views count. `fires`: tables that are in `opaque` only because of triggers.
    - `across`: the names of `together` whose foreign keys lead into another schema.
    - `numbering`: tables and views that generate ids. None means that the server was not asked for them.
    - `hidden`: triggers and routines that may insert into these tables and views (`hidden_inserts`).
    - `steps`: the target's increment and offset of ids. None means unknown.
    - `tables_of_triggers`: the tables behind the name of a trigger. Each table can have its own trigger of this name.
    - `uses_of_triggers`: how the triggers of each pair (event, table) use rows (`uses_of_triggers`).
    """

    opaque: frozenset[str] = frozenset()
    together: Mapping[str, str] = field(default_factory=dict)
    across: frozenset[str] = frozenset()
    numbering: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()
    steps: tuple[int, int] | None = None
    touches: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    fires: frozenset[str] = frozenset()
    tables_of_triggers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    uses_of_triggers: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def hidden_by(self, names: Set[str], statement_class: str) -> frozenset[str]:
        """Return the names that hide other tables from a statement. A read and DDL fire no trigger."""
        return frozenset(names & self.opaque) - (self.fires if statement_class in FIRE_NOTHING else frozenset())

    def uses_by_triggers(self, text: str, names: Iterable[str]) -> int:
        """Return the USE_* flags of all triggers that a write may fire.

        `text`: the normalised text of the write. `names`: the tables and views that it names.
        """
        if not text or len(text) >= LONGEST:
            return USE_ASKS | USE_ADDS_ROWS
        tables = set[str]().union(*(self.touches.get(name, {name}) for name in names))
        fired = product(events_of(words_of(text)), tables)
        return reduce(or_, (self.uses_of_triggers.get(key, 0) for key in fired), 0)


@dataclass(frozen=True)
class Objects:
    """Objects in lower case, as the queries of `read_catalog` return them.

    - `views` and `routines`: (name, text). `triggers`: (table, event, text, name of the trigger).
    - `keys`: (table, referenced table, whether the key may lead into another schema: 1 or 0).
    - `numbering`: tables that generate ids. `tables`: tables that the texts may contain.
    - `renamed`: pairs of names that a table has at different times.
    """

    views: Sequence[tuple[str, ...]] = ()
    routines: Sequence[tuple[str, ...]] = ()
    triggers: Sequence[tuple[str, ...]] = ()
    keys: Sequence[tuple[str, ...]] = ()
    numbering: Set[str] = frozenset()
    tables: Set[str] = frozenset()
    renamed: Sequence[tuple[str, str]] = ()


def created_objects(digests: Iterable[tuple[str, Sequence[str] | None, Sequence[str] | None]]) -> Objects:
    """Return the objects that the DDL of a tape creates.

    `digests`: (normalised text, named tables, called routines) of each digest of class ddl. The first name of a
    CREATE is the created object, or the table of a trigger.
    """
    views, routines, triggers, keys, renamed = [], [], [], [], []
    numbering, tables = set[str](), set[str]()
    for normalized, named, calls in digests:
        text = plain_definition(normalized or "")
        names = [bare(name) for name in named or ()]
        made = DEFINES.match(text)
        name = (object_of(text) or ("", ""))[1]
        body = text[made.end() :] if made and len(text) < LONGEST else ""
        if made and made[1] in ("procedure", "function"):
            routines += [(bare(name), body) for name in (calls or ())[:1]]
        elif made and names:
            tables.update(names)
            views += [(names[0], body)] if made[1] == "view" else []
            triggers += [
                (names[0], event, body, bare(name) if name else "")
                for event in WORD.findall(made[2] or "")
                if event in EVENTS
            ]
        elif names:
            numbering.update(names[:1] if NUMBERED.search(text) else ())
            schemas = {tuple(parts_of(name)[:-1]) for name in named or ()}
            renames = RENAMES.match(text) is not None
            if renames or "references" in WORD.findall(text):
                keys += [(names[0], name, str(int(len(schemas) > 1))) for name in names[1:]]
            renamed += [(names[0], name) for name in names[1:] if renames]
    return Objects(
        *(tuple(views), tuple(routines), tuple(triggers), tuple(keys)),
        *(frozenset(numbering), frozenset(tables), tuple(renamed)),
    )


def plain_definition(text: str) -> str:
    """Return the normalised text of DDL without version comments and without its definer."""
    return DEFINER.sub("", COMMENTS.sub(" ", text).strip().replace("  ", " "), count=1)


def object_of(text: str) -> tuple[str, str] | None:
    """Return the kind and the name of the object that DDL defines or drops. None: a table, or several statements."""
    found = OBJECT.match(text)
    return (found[1], found[2]) if found and not SEVERAL.search(text) else None


def changes_trigger(ddl: str | None) -> bool:
    """Return whether DDL creates or drops a trigger. None: the statement is no DDL."""
    found = object_of(plain_definition(ddl or ""))
    return found is not None and found[0] == "trigger"


def names_in_ddl(ddl: str | None, named: Sequence[str] | None, catalog: Catalog) -> Sequence[str] | None:
    """Return the tables that DDL locks. `named`: all tables in its text. None means any table.

    The statements inside a trigger, a routine or an event are not executed, so the DDL locks none of their tables. The
    name of a routine or an event is used like a table, because statements that call a routine wait for all tables.
    """
    text = plain_definition(ddl or "")
    found = object_of(text) if len(text) < LONGEST else None
    if found is None or named is None:
        return named
    kind, name = found
    if kind == "view":
        return named
    if kind == "trigger" and not text.startswith("drop"):
        return named[:1] or None
    *schema, last = parts_of(name)
    tables = catalog.tables_of_triggers.get(last) if kind == "trigger" else None
    return [quoted([*schema, table]) for table in sorted(tables or {f"{kind} {last}"})]


def quoted(parts: Iterable[str]) -> str:
    """Return a qualified name in backquotes."""
    return ".".join("`{}`".format(part.replace("`", "``")) for part in parts)


def created_schemas(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the schemas, in lower case, that the DDL in the view tape_digests creates."""
    rows = con.execute("SELECT left(normalized, 500) FROM tape_digests WHERE class = 'ddl'").fetchall()
    found = (SCHEMA.match(plain_definition(text or "")) for (text,) in rows)
    return frozenset(bare(match[1]) for match in found if match)


def created_by(tape: Folder) -> Objects:
    """Return the objects that a tape creates. Raises InputError if the tape is damaged."""
    ddl = f"SELECT normalized, tables, calls FROM {tape.source('digests')} WHERE class = 'ddl' ORDER BY digest"
    try:
        with closing(small_database()) as con:
            return created_objects(con.execute(ddl).fetchall())
    except duckdb.Error as error:
        raise InputError(f"{tape.path}: cannot read the tape: {plain_reason(error)}") from error


def read_catalog(con: "Connection[Any]", created: Objects | None = None) -> Catalog:
    """Return the objects of the target that the account may see, and those that the tape creates. Raises TargetError.

    `created`: the objects that the tape creates.
    """
    own, there = created or Objects(), _objects_of(con)
    views, routines = [*there.views, *own.views], [*there.routines, *own.routines]
    triggers, keys = [*there.triggers, *own.triggers], [*there.keys, *own.keys]
    same = join_pairs(own.renamed)
    triggers += [
        (name, *row[1:]) for row in triggers for name in same if name != row[0] and same[name] == same.get(row[0])
    ]
    of_views = [(row[0], row[1]) for row in views]
    behind = of_views + [(row[0], row[2]) for row in triggers]
    known, callable_names = there.tables | own.tables, {row[0] for row in routines}
    bodies = [(f"call {name}", text) for name, text in routines]
    bodies += [(f"{event} {table}", text) for table, event, text, _ in triggers]
    hidden, generating = hidden_inserts(bodies, there.numbering | own.numbering, of_views)
    together = join_pairs((row[0], row[1]) for row in keys)
    steps = _query(con, f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in STEPS)}")
    touches = touched_tables(behind, known, callable_names)
    named: dict[str, set[str]] = defaultdict(set)
    for table, _, _, name in triggers:
        named[name].add(table)
    return Catalog(
        frozenset(row[0] for row in (*views, *routines, *triggers)),
        together,
        frozenset(together[row[0]] for row in keys if row[2] == "1"),
        generating,
        hidden,
        id_steps(dict(zip(STEPS, steps[0], strict=True)) if steps else None),
        touches,
        touched_tables(of_views, known, callable_names),
        frozenset(row[0] for row in triggers) - {row[0] for row in (*views, *routines)},
        {name: frozenset(tables) for name, tables in named.items()},
        uses_of_triggers(triggers, touches),
    )


def _query(con: "Connection[Any]", sql: str) -> list[tuple[str, ...]]:
    """Return the rows of a query as texts in lower case."""
    try:
        with con.cursor() as cursor:
            cursor.execute(sql)
            return [tuple(str(value).lower() for value in row) for row in cursor.fetchall()]
    except (pymysql.Error, OSError) as error:
        raise TargetError(f"cannot list the target's tables: {fault_text(error)}") from error


def _objects_of(con: "Connection[Any]") -> Objects:
    """Return the objects of the target. Its tables are listed only if texts may contain them."""
    where = f"NOT IN {OWN}"
    views = _query(con, f"SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA {where}")
    routines = _query(
        con,
        "SELECT ROUTINE_NAME, COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES"
        f" WHERE ROUTINE_SCHEMA {where}",
    )
    triggers = _query(
        con,
        "SELECT EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_STATEMENT, TRIGGER_NAME FROM information_schema.TRIGGERS"
        f" WHERE TRIGGER_SCHEMA {where}",
    )
    keys = _query(
        con,
        "SELECT TABLE_NAME, REFERENCED_TABLE_NAME, CONSTRAINT_SCHEMA <> UNIQUE_CONSTRAINT_SCHEMA"
        " FROM information_schema.REFERENTIAL_CONSTRAINTS"
        f" WHERE CONSTRAINT_SCHEMA {where}",
    )
    numbering = _query(
        con,
        "SELECT DISTINCT TABLE_NAME FROM information_schema.COLUMNS"
        f" WHERE TABLE_SCHEMA {where} AND EXTRA LIKE '%auto_increment%'",
    )
    tables = f"SELECT DISTINCT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA {where}"
    listed = _query(con, tables) if views or triggers else []
    numbered, named = (frozenset(row[0] for row in rows) for rows in (numbering, listed))
    return Objects(views, routines, triggers, keys, numbered, named)


def touched_tables(
    bodies: Iterable[tuple[str, str]], tables: Set[str], routines: Set[str]
) -> dict[str, frozenset[str]]:
    """Return the tables that each view, or each table with triggers, may touch. Unknown ones are left out.

    `bodies`: (name, text in lower case) of each view, and of each trigger of a table.
    """
    found: dict[str, set[str]] = {}
    unknown = set(routines)
    odd = {table for table in tables if not WORD.fullmatch(table)}  # such as `my log`
    for name, text in bodies:
        words = set(WORD.findall(text))
        found.setdefault(name, {name}).update(words & tables, (table for table in odd if table in text))
        if not text or words & (DYNAMIC | routines):
            unknown.add(name)
    size = -1
    while size != (size := sum(map(len, found.values()))):  # a view of a view, a trigger that fires a trigger
        for names in found.values():
            names.update(*(found[name] for name in names & found.keys()))
    return {name: frozenset(names) for name, names in found.items() if not names & unknown}


def redefines(ddl: str | None) -> bool:
    """Return whether DDL may make a table unreadable for an older snapshot. None: the statement is no DDL."""
    return ddl is not None and KEEPS_ROWS.match(plain_definition(ddl)) is None


def tables_of(
    tables: Iterable[str] | None, calls: Iterable[str], statement_class: str, snapshot: bool, catalog: Catalog
) -> frozenset[str] | None:
    """Return the tables that a statement may touch. None means any table.

    `tables`: the tables that the statement names. `snapshot`: the statement takes a consistent view of all tables.
    """
    if tables is None or snapshot:
        return None
    names = {bare(name) for name in tables}
    opaque = catalog.hidden_by(names | {bare(name) for name in calls}, statement_class)
    touches = catalog.shows if statement_class in FIRE_NOTHING else catalog.touches
    if not opaque <= touches.keys():
        return None
    names = names.union(*(touches[name] for name in opaque))
    together = frozenset(catalog.together.get(name, name) for name in names)
    return together if together or statement_class in ("read", "session", "transaction") else None


def parts_of(name: str) -> list[str]:
    """Return the parts of a qualified name in a digest, in lower case and without backquotes."""
    parts: list[str] = PART.findall(name)
    return [(part[1:-1].replace("``", "`") if part[0] == "`" else part).lower() for part in parts]


def bare(name: str) -> str:
    """Return the last part of a qualified name in a digest, in lower case and without backquotes."""
    return parts_of(name)[-1]


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case. The function REPLACE() is left out."""
    return set(WORD.findall(REPLACE_FUNCTION.sub("(", text)))


def events_of(words: Set[str]) -> set[str]:
    """Return the events of triggers that a statement with these words may cause."""
    return {event for word in words & EVENTS.keys() for event in EVENTS[word]}


def may_set_off(text: str, names: Iterable[str], calls: Iterable[str]) -> frozenset[str]:
    """Return the triggers and routines that a text may run.

    A trigger is returned as `insert orders`, a routine as `call refresh`. `names` are the tables that the text names,
    and `calls` are the routines that it names. All names are in lower case.
    """
    fired = product(events_of(words_of(text)), names)
    return frozenset({f"{event} {name}" for event, name in fired} | {f"call {name}" for name in calls})


def uses_of_triggers(
    triggers: Iterable[tuple[str, ...]], touches: Mapping[str, frozenset[str]]
) -> dict[tuple[str, str], int]:
    """Return the USE_* flags of the triggers of each pair (event, table), with those of the triggers that they fire.

    `triggers`: (table, event, text, ...) of each trigger, in lower case. An empty text may do anything. No trigger
    changes its own table.
    """
    uses: dict[tuple[str, str], int] = defaultdict(int)
    fired: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for table, event, text, *_ in triggers:
        words = words_of(text)
        uses[event, table] |= USE_ASKS if not text or words & ASK else 0
        uses[event, table] |= USE_ADDS_ROWS if not text or words & ADD else 0
        fired[event, table].update(product(events_of(words), touches.get(table, frozenset()) - {table}))
    before: dict[tuple[str, str], int] = {}
    while before != uses:
        before = dict(uses)
        for key, others in fired.items():
            uses[key] = reduce(or_, (before.get(other, 0) for other in others), uses[key])
    return dict(uses)


def hidden_inserts(
    bodies: Iterable[tuple[str, str]], numbering: Set[str], views: Iterable[tuple[str, str]] = ()
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the triggers and routines that may insert into id-generating tables, and these tables and their views.

    - `bodies`: (`insert orders` or `call refresh`, text) of each trigger and routine. The text is empty if the server
      does not show it. A body with an unknown text may do anything.
    - `views`: (name, text) of each view. The text may also be empty.

    All texts are in lower case.
    """
    tables, texts = set(numbering), list(views)
    while more := {n for n, text in texts if n not in tables and (not text or tables & set(WORD.findall(text)))}:
        tables |= more
    effects: dict[str, set[str]] = {}
    for key, text in bodies:
        words = WORD.findall(text)
        unknown = not text or not DYNAMIC.isdisjoint(words)
        effects.setdefault(key, set()).update({"anything"} if unknown else may_set_off(text, words, words))
    found, direct = set[str](), {"anything", *(f"insert {name}" for name in tables)}
    while more := {key for key, effect in effects.items() if key not in found and effect & (direct | found)}:
        found |= more
    return frozenset(found), frozenset(tables)
