# SPDX-License-Identifier: Apache-2.0
"""Collect properties of the tape's schemas on a server before the first event is sent.

Each object is a row with JSON properties. The rows cover tables, columns, views, indexes, foreign keys, partitions,
histograms, statistics, triggers, routines and events. The server's default collations are included, so that a
comparison can distinguish version defaults from explicit choices. Unknown, refused or truncated information becomes a
row of the kind `problem`. A comparison must not treat such information as equal.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import duckdb
import pymysql
from pymysql.connections import Connection

from ...common.duck import write_rows
from ...common.errors import TargetError
from ...schemas import Folder, columns
from ...servers.queries import ALL_ROWS, OWN_LIMIT, OWN_SCHEMAS, query_or_none
from ...servers.target import fault_text
from ...servers.visibility import NEEDED, ROUTINES, TABLES, Unseen, unseen

MAX_ROWS = 300_000  # maximum rows per kind, as for 10,000 tables of 30 columns
MAX_VALUE = 4_000  # maximum characters of a value
MAX_SCHEMAS = 100
# Kinds of objects that an account sees only for tables that were granted to the account. An account sees a schema only
# if an object of the schema was granted to it.
OF_TABLES = ("schema", "table", "column", "index", "foreign_key", "check", "partition", "histogram")
SETTINGS = (
    ALL_ROWS,
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION information_schema_stats_expiry = 0",
    "SET SESSION max_execution_time = 20000",
    "SET SESSION max_statement_time = 20",
    "SET SESSION sort_buffer_size = 1048576",  # a smaller buffer gives error 1038 in these queries
)
BACK = ("SET SESSION sort_buffer_size = DEFAULT", OWN_LIMIT)  # resets settings that would affect query plans


# These parts are removed from the condition of a CHECK, because only some servers write them. A CHECK is compared by
# its condition, because each server names checks differently.
WRITTEN = ("`", "(", ")", "\\\\", "_utf8mb4", "_utf8mb3", "_latin1", "_ascii")
CONDITION = reduce(lambda text, part: f"REPLACE({text}, '{part}', '')", WRITTEN, "LOWER(CHECK_CLAUSE)")


class Fact(NamedTuple):
    """An object of a schema. `name` is the name of a column, index and so on. It is "" for a table or schema itself."""

    kind: str
    db: str
    table: str
    name: str
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """The source of facts of one kind: a table of the server and its columns.

    - `keys`: the columns for schema, table and name.
    - `listed`: facts with one value per row, such as the columns of an index. The values of several rows are joined.
    - `then`: further columns to order the rows by, after the keys. None means that the rows are not ordered.
    - `optional`: some servers lack this table. A missing table is then not reported as a problem.
    """

    kind: str
    place: str
    keys: tuple[str, str | None, str | None]
    facts: Mapping[str, str] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    then: tuple[str, ...] | None = None
    where: str = "TRUE"
    optional: bool = False


SOURCES = (
    Source(
        "schema",
        "information_schema.SCHEMATA",
        ("SCHEMA_NAME", None, None),
        {"charset": "DEFAULT_CHARACTER_SET_NAME", "collation": "DEFAULT_COLLATION_NAME"},
    ),
    Source(
        "table",
        "information_schema.TABLES",
        ("TABLE_SCHEMA", "TABLE_NAME", None),
        {
            "type": "TABLE_TYPE",
            "engine": "ENGINE",
            "row_format": "ROW_FORMAT",
            "collation": "TABLE_COLLATION",
            "rows": "TABLE_ROWS",
            "next_id": "AUTO_INCREMENT",
        },
    ),
    Source(
        "column",
        "information_schema.COLUMNS",
        ("TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME"),
        {
            "type": "COLUMN_TYPE",
            "nullable": "IS_NULLABLE",
            "default": "COLUMN_DEFAULT",
            "extra": "EXTRA",
            "charset": "CHARACTER_SET_NAME",
            "collation": "COLLATION_NAME",
            "expression": "GENERATION_EXPRESSION",
            "position": "ORDINAL_POSITION",
        },
    ),
    Source(
        "index",
        "information_schema.STATISTICS",
        ("TABLE_SCHEMA", "TABLE_NAME", "INDEX_NAME"),
        {
            "columns": "COLUMN_NAME",
            "prefix": "SUB_PART",
            "order": "COLLATION",
            "expression": "EXPRESSION",
            "not_unique": "NON_UNIQUE",
            "type": "INDEX_TYPE",
            "visible": "IS_VISIBLE",
            "ignored": "IGNORED",
            "cardinality": "CARDINALITY",
        },
        listed=("columns", "prefix", "order", "expression"),
        then=("SEQ_IN_INDEX",),
    ),
    Source(
        "foreign_key",
        "information_schema.KEY_COLUMN_USAGE",
        ("TABLE_SCHEMA", "TABLE_NAME", "CONSTRAINT_NAME"),
        {"columns": "COLUMN_NAME", "to_table": "REFERENCED_TABLE_NAME", "to_columns": "REFERENCED_COLUMN_NAME"},
        listed=("columns", "to_columns"),
        then=("ORDINAL_POSITION",),
        where="REFERENCED_TABLE_NAME IS NOT NULL",
    ),
    Source(
        "foreign_key_rule",
        "information_schema.REFERENTIAL_CONSTRAINTS",
        ("CONSTRAINT_SCHEMA", "TABLE_NAME", "CONSTRAINT_NAME"),
        {"on_update": "UPDATE_RULE", "on_delete": "DELETE_RULE"},
    ),
    Source(  # CHECKs of MariaDB; MariaDB's JSON columns have an implicit check
        "check",
        f"(SELECT CONSTRAINT_SCHEMA, TABLE_NAME, {CONDITION} AS CONDITION_TEXT"
        " FROM information_schema.CHECK_CONSTRAINTS WHERE LEFT(CHECK_CLAUSE, 11) <> 'json_valid(') AS checks",
        ("CONSTRAINT_SCHEMA", "TABLE_NAME", "CONDITION_TEXT"),
        then=(),
        optional=True,
    ),
    Source(  # CHECKs of MySQL
        "check",
        f"(SELECT t.TABLE_SCHEMA, t.TABLE_NAME, {CONDITION} AS CONDITION_TEXT, t.ENFORCED"
        " FROM information_schema.CHECK_CONSTRAINTS AS c JOIN information_schema.TABLE_CONSTRAINTS AS t"
        " USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME) WHERE t.CONSTRAINT_TYPE = 'CHECK') AS checks",
        ("TABLE_SCHEMA", "TABLE_NAME", "CONDITION_TEXT"),
        {"enforced": "ENFORCED"},
        then=(),
        optional=True,
    ),
    Source(
        "partition",
        "information_schema.PARTITIONS",
        ("TABLE_SCHEMA", "TABLE_NAME", None),
        {
            "method": "PARTITION_METHOD",
            "expression": "PARTITION_EXPRESSION",
            "subpartition_method": "SUBPARTITION_METHOD",
            "subpartition_expression": "SUBPARTITION_EXPRESSION",
            "partitions": "PARTITION_NAME",
            "bounds": "PARTITION_DESCRIPTION",
        },
        listed=("partitions", "bounds"),
        then=("PARTITION_ORDINAL_POSITION",),
        where="PARTITION_NAME IS NOT NULL",
    ),
    Source(
        "histogram",
        "information_schema.COLUMN_STATISTICS",
        ("SCHEMA_NAME", "TABLE_NAME", "COLUMN_NAME"),
        optional=True,
    ),
    Source(
        "histogram",
        "mysql.column_stats",
        ("db_name", "table_name", "column_name"),
        where="hist_type IS NOT NULL AND histogram IS NOT NULL",
        optional=True,
    ),
    Source(
        "statistics",
        "mysql.innodb_table_stats",
        ("database_name", "table_name", None),
        {"updated": "last_update"},
        where="table_name NOT LIKE '%#%'",
    ),
    Source(
        "trigger",
        "information_schema.TRIGGERS",
        ("TRIGGER_SCHEMA", "EVENT_OBJECT_TABLE", "TRIGGER_NAME"),
        {"timing": "ACTION_TIMING", "on": "EVENT_MANIPULATION", "does": "ACTION_STATEMENT"},
    ),
    Source(
        "view",
        "information_schema.VIEWS",
        ("TABLE_SCHEMA", "TABLE_NAME", None),
        {"definition": "VIEW_DEFINITION"},
    ),
    Source(
        "routine",
        "information_schema.ROUTINES",
        ("ROUTINE_SCHEMA", None, "ROUTINE_NAME"),
        {"is": "ROUTINE_TYPE", "type": "DTD_IDENTIFIER", "does": "ROUTINE_DEFINITION"},
        then=("ROUTINE_TYPE",),
    ),
    Source(
        "parameters",
        "information_schema.PARAMETERS",
        ("SPECIFIC_SCHEMA", None, "SPECIFIC_NAME"),
        {"parameters": "PARAMETER_NAME", "types": "DTD_IDENTIFIER", "modes": "PARAMETER_MODE"},
        listed=("parameters", "types", "modes"),
        then=("ROUTINE_TYPE", "ORDINAL_POSITION"),
        where="ORDINAL_POSITION > 0",
    ),
    Source(
        "event",
        "information_schema.EVENTS",
        ("EVENT_SCHEMA", None, "EVENT_NAME"),
        {"status": "STATUS", "does": "EVENT_DEFINITION", "every": "INTERVAL_VALUE", "unit": "INTERVAL_FIELD"},
    ),
)


def tape_schemas(con: duckdb.DuckDBPyConnection, tape: Folder, default: str | None = None) -> list[str]:
    """Return the sorted schemas of the tape: default schemas of events, and schemas in table names of statements.

    `default` applies to events without a schema.
    """
    rows = con.execute(
        f"SELECT db FROM (SELECT DISTINCT coalesce(nullif(db, ''), $1) AS db FROM {tape.source('events')}"
        f" UNION SELECT replace(regexp_extract(unnest(tables), '^(.+)\\.[^.]+$', 1), '`', '')"
        f" FROM {tape.source('digests')}) WHERE db <> '' ORDER BY db",
        [default],
    ).fetchall()
    return [str(db) for (db,) in rows if db.lower() not in OWN_SCHEMAS]


def keep_schema_facts(
    con: duckdb.DuckDBPyConnection,
    server: "Connection[Any]",
    schemas: Mapping[str, str],
    path: Path,
    writes: bool = True,
) -> int:
    """Write `schema_facts.parquet` and return its number of rows.

    `schemas` maps names on the tape to names on the server.
    """
    rows = (
        (fact.kind, fact.db, fact.table, fact.name, json.dumps(dict(fact.facts), ensure_ascii=False))
        for fact in collect(server, schemas, writes)
    )
    return write_rows(con, columns("run", "schema_facts"), rows, path)


def collect(server: "Connection[Any]", schemas: Mapping[str, str], writes: bool = True) -> Iterator[Fact]:
    """Yield the facts of the tape's schemas. Missing information is yielded as the kind `problem`.

    `writes`: the replay sends writes, which fire triggers.
    """
    _set(server, *SETTINGS)
    there = dict(list(schemas.items())[:MAX_SCHEMAS])
    if len(schemas) > MAX_SCHEMAS:
        yield problem(f"only the first {MAX_SCHEMAS} of {len(schemas):,} schemas were examined")
    yield from _default_collations(server)
    hidden: dict[str, tuple[str, ...]] = {}
    with suppress(TargetError):  # the loop below reports the lost connection
        acting, routines, tables = (unseen(server, tuple(there.values()), each) for each in (NEEDED, ROUTINES, TABLES))
        hidden = {kind: one.schemas for one in (acting, routines) if one for kind in one.kinds}
        yield from _hidden(server, acting, writes)
        if routines:  # compare_servers shows this text only if the tape calls a routine
            yield problem("", "routine", said=routines.said())
        if tables:
            names = [name for name, place in there.items() if place in tables.schemas]
            for name, kind in product(names, OF_TABLES):
                yield problem(tables.said(), kind, name)
    for number, source in enumerate(SOURCES if there else ()):
        of_kind = hidden.get(source.kind, ())
        try:
            if seen := {name: place for name, place in there.items() if place not in of_kind}:
                yield from _facts(server, source, seen)
        except (pymysql.Error, OSError, TypeError, ValueError, LookupError) as error:
            if not source.optional:
                yield problem(f"{source.place}: {fault_text(error)}", source.kind)
            if not server.open:
                for kind in dict.fromkeys(left.kind for left in SOURCES[number:]):
                    yield problem("the connection was lost, so the remaining objects were not examined", kind)
                return
    _set(server, *BACK)


def _hidden(server: "Connection[Any]", hidden: Unseen | None, writes: bool) -> Iterator[Fact]:
    """Yield a problem for each kind of object that the account may not see.

    The problem has a text only if triggers or events of this kind may run during the replay.
    """
    if hidden is None:
        return
    scheduler = query_or_none(server, "SELECT @@GLOBAL.event_scheduler")
    acts = {"trigger": writes, "event": not scheduler or str(scheduler[0][0]).upper() not in ("OFF", "DISABLED", "0")}
    shown = tuple(kind for kind in hidden.kinds if acts[kind])
    for kind in hidden.kinds:
        yield problem(hidden.said(shown) if kind in shown else "", kind)


def _set(server: "Connection[Any]", *statements: str) -> None:
    """Change settings of this session. Settings that the server rejects are skipped."""
    for statement in statements:
        with suppress(pymysql.Error, OSError), server.cursor() as cursor:
            cursor.execute(statement)


def problem(text: str, kind: str | None = None, schema: str = "", **facts: str) -> Fact:
    """Return a `problem` row for missing information.

    `kind`: the kind of objects with unknown properties. `schema`: the schema that has the problem. "" means all
    schemas.
    """
    return Fact("problem", schema, "", text[:MAX_VALUE], {"unknown": kind, **facts} if kind else {})


def _default_collations(server: "Connection[Any]") -> Iterator[Fact]:
    with suppress(pymysql.Error, OSError, TypeError, ValueError, LookupError), server.cursor() as cursor:
        cursor.execute(
            "SELECT CHARACTER_SET_NAME, DEFAULT_COLLATE_NAME FROM information_schema.CHARACTER_SETS LIMIT 500"
        )
        for charset, collation in cursor.fetchall():
            yield Fact("charset", "", "", _text(charset), {"collation": _text(collation)})


def _facts(server: "Connection[Any]", source: Source, schemas: Mapping[str, str]) -> Iterator[Fact]:
    """Yield the facts of one source. Rows of the same object are joined. Raises pymysql.Error."""
    with server.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {source.place} LIMIT 0")
        has = {str(column[0]).upper() for column in cursor.description or ()}
        facts = {fact: column for fact, column in source.facts.items() if column.upper() in has}
        keys = [column for column in source.keys if column]
        wanted = ", ".join(f"`{column}`" for column in (*keys, *facts.values()))
        order = "" if source.then is None else f" ORDER BY {', '.join((*keys, *source.then))}"
        places = ", ".join(["%s"] * len(schemas))
        cursor.execute(
            f"SELECT {wanted} FROM {source.place} WHERE `{source.keys[0]}` IN ({places})"
            f" AND {source.where.replace('%', '%%')}{order} LIMIT {MAX_ROWS + 1}",
            list(schemas.values()),
        )
        rows: Sequence[Sequence[Any]] = cursor.fetchall()
    if len(rows) > MAX_ROWS:
        yield problem(f"{source.place}: only the first {MAX_ROWS:,} rows were examined", source.kind)
    tape_names: dict[str, list[str]] = {}
    for name, there in schemas.items():
        tape_names.setdefault(there.lower(), []).append(name)
    for db, table, name, values in _joined(source, list(facts), len(keys), rows[:MAX_ROWS]):
        if "definition" in values:  # a view's text names its own schema, which may have another name on the tape
            values["definition"] = values["definition"].replace(f"`{db}`.", "")
        for tape_name in tape_names.get(db.lower(), ()):
            yield Fact(source.kind, tape_name, table, name, values)


def _joined(
    source: Source, names: list[str], keys: int, rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Yield (schema, table, name, facts) of each object. Rows of the same object must be adjacent."""
    last: tuple[str, str, str] | None = None
    values: dict[str, str] = {}
    for row in rows:
        if len(row) != keys + len(names):
            raise ValueError(f"expected {keys + len(names)} columns, but the server returned {len(row)}")
        parts = iter(row)
        db = _text(next(parts))
        table = _text(next(parts)) if source.keys[1] else ""
        name = _text(next(parts)) if source.keys[2] else ""
        given = {fact: _text(value) for fact, value in zip(names, parts, strict=True) if value is not None}
        if (db, table, name) == last:
            for fact in set(source.listed).intersection(names):
                values[fact] = f"{values.get(fact, '')},{given.get(fact, '')}"[:MAX_VALUE]
            if "cardinality" in given:
                values["cardinality"] = given["cardinality"]
            continue
        if last is not None:
            yield (*last, _said(values))
        last, values = (db, table, name), given
    if last is not None:
        yield (*last, _said(values))


def _said(values: dict[str, str]) -> dict[str, str]:
    """Return only the non-empty facts. MariaDB's `ignored` index becomes an invisible index as in MySQL."""
    if values.pop("ignored", "NO") == "YES":
        values["visible"] = "NO"
    return {fact: value for fact, value in values.items() if value.strip(",")}


def _text(value: object) -> str:
    """Return a server's value as a text of limited length. A checksum keeps different long texts different."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    end = f"... {crc32(safe.encode()):08x}" if len(safe) > MAX_VALUE else ""
    return safe[: MAX_VALUE - len(end)] + end
