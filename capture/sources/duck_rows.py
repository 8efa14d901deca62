# SPDX-License-Identifier: Apache-2.0
"""Read lines of JSON or CSV with DuckDB, and give the native reader of rows the columns that it takes."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from ...common.duck import load_sql, open_database, sql_text
from ...common.errors import InputError, NativeFault
from ...common.temporary import temporary_folder
from ...native.bindings.inputs import Pipe, plain_file, unpack
from ...native.bindings.parsers import Lines, open_rows
from ...native.bindings.reader import Reader

# The columns of qt_rows_source_open with their types, in its order.
COLUMNS = {
    "when_ns": "BIGINT",
    "stamp": "BIGINT",
    "precision_ns": "BIGINT",
    "duration_ns": "BIGINT",
    "thread_id": "BIGINT",
    "command": "VARCHAR",
    "user": "VARCHAR",
    "host": "VARCHAR",
    "db": "VARCHAR",
    "statement": "BLOB",
    "stmt": "BIGINT",
    "errno": "BIGINT",
    "rows_sent": "BIGINT",
    "rows_examined": "BIGINT",
    "rows_affected": "BIGINT",
    "bytes_sent": "BIGINT",
    "lock_ns": "BIGINT",
    "flags": "BIGINT",
    "place": "BIGINT",
    "error": "VARCHAR",
    "bound": "BLOB",
    "file": "BIGINT",
    "unread": "VARCHAR",
}
SECOND, END, START = 0, 1, 2  # what `when_ns` is: the second of the end, the end, the start
SECOND_NS = 1_000_000_000
BETWEEN, BEHIND = "\x1f", "\x1e"  # in `unread`: between column, name and text; behind them
MAX_UNREAD = 200  # characters of a text in `unread`
MIN_MEMORY = 1 << 30
MEMORY_PER_ROW = 24  # copies of its longest row that DuckDB makes while it parses and sorts
MEMORY_PER_ROWS = 80  # the same where it has several such rows in hand
KEY = re.compile(r'\bj\."([^"]+)"')  # as text() writes them
# Calls of the macros of values.sql for one column: group 1 is the column, 2 its name.
CALL = re.compile(r'\b(?:whole|span_ns|moment_ns)\(((?:j\.)?"((?:[^"]|"")+)")(?:, \d+)?\)')
# Where an object may begin: blanks behind one of these. A newline is no blank here, so that each is looked at once.
OBJECT = re.compile(r"(?:\A|[\n\[,}])[^\S\n]*+(?=\{)")
Given = TypeVar("Given")


class LargeRowsError(InputError):
    """Rows are too large for the memory that DuckDB may take."""


def objects(head: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the objects of JSON in a file's first bytes, each with its place and as one line, however it is laid out.

    One that goes on behind them is given as far as it goes, and one that is none to the end of its line.
    """
    whole, at = head.decode("latin-1"), 0
    decoder = json.JSONDecoder(strict=False)
    while found := OBJECT.search(whole, at):
        place = found.end()
        try:
            value, at = decoder.raw_decode(whole, place)
            yield place, json.dumps(value).encode()
        except (ValueError, RecursionError) as error:
            line_end = whole.find("\n", place)
            cut = getattr(error, "pos", 0) >= len(whole) or "Unterminated" in str(error)
            at = len(whole) if cut or line_end < 0 else line_end
            yield place, whole[place:at].replace("\n", " ").encode("latin-1")


def sniff_objects(pattern: bytes, head: bytes) -> int:
    """Return where in a file's first bytes the first object is that matches a pattern as one line, or -1."""
    return next((place for place, line in objects(head) if re.match(pattern, line)), -1)


def text(key: str) -> str:
    """Return SQL for a key of the JSON row `j` as text; a key inside another one is `outer.inner`."""
    return f'j."{key}"'


def number(key: str) -> str:
    """Return SQL for a key of the JSON row `j` as a whole number."""
    return f"whole({text(key)})"


def when(key: str) -> str:
    """Return SQL for a key of the JSON row `j` with a time (ISO, UTC) in nanoseconds since the epoch."""
    return f"moment_ns({text(key)})"


def seconds(key: str) -> str:
    """Return SQL for a key of the JSON row `j` with seconds, or HH:MM:SS.ffffff, in nanoseconds."""
    return f"span_ns({text(key)}, {SECOND_NS})"


def unread(values: Mapping[str, str]) -> str:
    """Return SQL for what a row's columns could not be made of: column, its name in the input, text; NULL = nothing."""
    found = [
        f"CASE WHEN given({call[1]}) IS NOT NULL AND {call[0]} IS NULL THEN {entry(name, call[2], call[1])} END"
        for name, sql in values.items()
        for call in {call[0]: call for call in CALL.finditer(sql)}.values()
    ]
    return f"nullif(concat('', {', '.join(found)}), '')" if found else "NULL"


def entry(column: str, name: str, sql: str) -> str:
    """Return SQL for an entry of `unread`: the column, its name in the input, and the text that `sql` gives."""
    return f"{sql_text(f'{column}{BETWEEN}{name}{BETWEEN}')} || {sql}[:{MAX_UNREAD}] || '{BEHIND}'"


def json_rows(keys: Sequence[str]) -> str:
    """Return a table expression of table `lines` with `j`: the values of these keys, NULL where a line is no object.

    A line is parsed once, however many keys are asked for: it may be large.
    """
    paths = ", ".join(sql_text(f"$.{key}") for key in keys)
    fields = ", ".join(f'"{key}" := v[{n}]' for n, key in enumerate(keys, 1))
    return (
        f"(SELECT line, file, place, CASE WHEN v IS NOT NULL THEN struct_pack({fields}) END AS j"
        " FROM (SELECT line, file, place,"
        f" CASE WHEN starts_with(line, '{{') AND json_valid(line) THEN json_extract_string(line, [{paths}]) END AS v"
        " FROM lines))"
    )


def csv_reason(error: duckdb.Error) -> str:
    """Return in one line why DuckDB does not read a file; a row with too many or too few values has its line."""
    text = str(error)
    line, counts = re.search(r"CSV Error on Line: (\d+)", text), re.search(r"Columns: (\d+) Found: (\d+)", text)
    if line and counts:
        remedy = "Quote the values that contain the separator"
        return f"line {line[1]}: expected {counts[1]} values, found {counts[2]}. {remedy}"
    return text.splitlines()[0]


def open_json(names: Sequence[str], values: Mapping[str, str], where: str = "true") -> Reader:
    """Return a reader of files with an object of JSON a line; `values` as for open_query, with text() and number().

    Rows that do not meet `where` are not read. Raises InputError where a file cannot be read.
    """
    keys = list(dict.fromkeys(KEY.findall(" ".join([*values.values(), where]))))
    # Not as a WHERE: DuckDB gathers what passes a filter, and a chunk of large rows would take it all its memory.
    given = {**values, "unread": unread(values)}
    passed = {name: f"CASE WHEN {where} THEN {given[name]} END" for name in ("when_ns", "stamp", "statement", "unread")}

    def open_lines(memory: int) -> Reader:
        with ExitStack() as own:
            lines = Lines(plain)
            own.callback(lines.close)
            return open_query(
                json_rows(keys), {**values, "file": "file", **passed}, own.pop_all(), memory, lines=lines.stream
            )

    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        try:
            plain = [plain_file(name, folder) if isinstance(name, Pipe) else name for name in names]
            reader = with_memory(open_lines, plain)
        except NativeFault as error:
            raise InputError(str(error)) from error
        reader.resources.push(stack.pop_all())
        return reader


def too_large(mebibytes: int, error: duckdb.Error) -> "LargeRowsError":
    """Return the error for rows that DuckDB has too little memory for."""
    return LargeRowsError(f"a row is too large for {mebibytes:,} MiB of memory: {str(error).splitlines()[0]}")


def with_memory(read: Callable[[int], Given], plain: Sequence[str]) -> Given:
    """Return read(memory) with as little as these files need: MIN_MEMORY, or for one of their longest rows, or several.

    `read` raises LargeRowsError where its bytes are too few, as this does where the last are.
    """
    try:
        return read(MIN_MEMORY)
    except LargeRowsError:
        longest = max(map(unpack, plain))
    try:
        return read(MEMORY_PER_ROW * longest)
    except LargeRowsError:  # several such rows were in hand at once
        return read(MEMORY_PER_ROWS * longest)


def open_query(
    source: str, values: Mapping[str, str], resources: ExitStack | None = None, memory: int = MIN_MEMORY, **tables: Any
) -> Reader:
    """Return a reader of `source`, an SQL table expression; `values` has an SQL expression for columns of COLUMNS.

    Rows come in the order of their times, those without one as problems, as are texts that the macros of values.sql
    cannot read. `resources` are closed with the reader, or
    where this raises. `memory`: bytes that DuckDB may take, MIN_MEMORY at least. `tables`: Arrow streams by their names
    in `source`. Raises InputError where DuckDB cannot read, LargeRowsError where memory is too short for it.
    """
    values = {"unread": unread(values), **values}
    listed = ", ".join(f'CAST({values.get(name, "NULL")} AS {type_}) AS "{name}"' for name, type_ in COLUMNS.items())
    mebibytes = max(MIN_MEMORY, memory) >> 20
    with resources or ExitStack() as stack:
        spill = stack.enter_context(temporary_folder())
        con = stack.enter_context(open_database(Path(spill), f"{mebibytes}MiB", large_arrow=True))
        try:
            con.execute(load_sql("querytape.capture", "values.sql"))
            for name, stream in tables.items():
                con.register(name, stream)
            relation = con.sql(f"SELECT {listed} FROM {source} ORDER BY when_ns NULLS LAST, file, place")
            return open_rows(relation, stack)
        except duckdb.OutOfMemoryException as error:
            raise too_large(mebibytes, error) from error
        except duckdb.Error as error:
            raise InputError(f"the input cannot be read: {csv_reason(error)}") from error
