# SPDX-License-Identifier: Apache-2.0
"""Read lines of JSON or CSV with DuckDB, and pass their columns to the native row reader."""

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

# Column types of the arguments of qt_rows_source_open, in the same order.
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
SECOND, END, START = 0, 1, 2  # meaning of `when_ns`: the second of the end, the end, or the start
SECOND_NS = 1_000_000_000
BETWEEN, BEHIND = "\x1f", "\x1e"  # format of `unread`: separator inside an entry, end of an entry
MAX_UNREAD = 200  # maximum characters of a text in `unread`
MIN_MEMORY = 1 << 30
MEMORY_PER_ROW = 24  # DuckDB makes this many copies of the longest row to parse and sort it
MEMORY_PER_ROWS = 80  # number of copies of the longest rows if DuckDB processes several rows at once
KEY = re.compile(r'\bj\."([^"]+)"')  # matches the SQL that text() returns for a key
# Calls of macros from values.sql for one column. Group 1 is the column expression, group 2 is the column name.
CALL = re.compile(r'\b(?:whole|span_ns|moment_ns)\(((?:j\.)?"((?:[^"]|"")+)")(?:, \d+)?\)')
# The possible start of an object: the start of the text or one of these characters, then blanks. Newlines do not count
# as blanks, so the search visits each newline once.
OBJECT = re.compile(r"(?:\A|[\n\[,}])[^\S\n]*+(?=\{)")
Given = TypeVar("Given")


class LargeRowsError(InputError):
    """The rows are too large for the memory limit of DuckDB."""


def objects(head: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the JSON objects in the first bytes of a file, each with its offset and reformatted as one line.

    If the bytes end inside an object, the existing part of the object is yielded. Invalid JSON is yielded up to the end
    of its line.
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
    """Return the offset of the first object that matches the pattern when written as one line.

    Return -1 if none matches.
    """
    return next((place for place, line in objects(head) if re.match(pattern, line)), -1)


def text(key: str) -> str:
    """Return SQL for a key of the JSON row `j` as text. A nested key is written as `outer.inner`."""
    return f'j."{key}"'


def number(key: str) -> str:
    """Return SQL for a key of the JSON row `j` as an integer."""
    return f"whole({text(key)})"


def when(key: str) -> str:
    """Return SQL that converts an ISO time in UTC, found in the JSON row `j`, to nanoseconds since the epoch."""
    return f"moment_ns({text(key)})"


def seconds(key: str) -> str:
    """Return SQL that converts a duration in the JSON row `j` to nanoseconds.

    The duration is a number of seconds or HH:MM:SS.ffffff.
    """
    return f"span_ns({text(key)}, {SECOND_NS})"


def unread(values: Mapping[str, str]) -> str:
    """Return SQL for a list of values that could not be converted. The SQL returns NULL if all values were converted.

    Each entry has the target column, the column name in the input, and the text.
    """
    found = [
        f"CASE WHEN given({call[1]}) IS NOT NULL AND {call[0]} IS NULL THEN {entry(name, call[2], call[1])} END"
        for name, sql in values.items()
        for call in {call[0]: call for call in CALL.finditer(sql)}.values()
    ]
    return f"nullif(concat('', {', '.join(found)}), '')" if found else "NULL"


def entry(column: str, name: str, sql: str) -> str:
    """Return SQL for one entry of `unread`. `sql` is the expression for the text of the value."""
    return f"{sql_text(f'{column}{BETWEEN}{name}{BETWEEN}')} || {sql}[:{MAX_UNREAD}] || '{BEHIND}'"


def json_rows(keys: Sequence[str]) -> str:
    """Return a table expression for table `lines` whose column `j` has the values of these keys.

    `j` is NULL if a line is not a JSON object. Each line is parsed only once, because lines may be large.
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
    """Return DuckDB's reason for an unreadable file as one line.

    Includes the line number of a row with too many or too few values.
    """
    text = str(error)
    line, counts = re.search(r"CSV Error on Line: (\d+)", text), re.search(r"Columns: (\d+) Found: (\d+)", text)
    if line and counts:
        remedy = "Quote the values that contain the separator"
        return f"line {line[1]}: expected {counts[1]} values, found {counts[2]}. {remedy}"
    return text.splitlines()[0]


def open_json(names: Sequence[str], values: Mapping[str, str], where: str = "true") -> Reader:
    """Return a reader of files with one JSON object per line.

    `values`: as for `open_query`, built with text() and number(). Rows that do not match `where` are skipped. Raises
    InputError if a file is unreadable.
    """
    keys = list(dict.fromkeys(KEY.findall(" ".join([*values.values(), where]))))
    # The condition is not a WHERE clause, because DuckDB collects filtered rows. A chunk of large rows would use all
    # its memory.
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
    """Return an error for rows that exceed the memory limit of DuckDB."""
    return LargeRowsError(f"a row is too large for {mebibytes:,} MiB of memory: {str(error).splitlines()[0]}")


def with_memory(read: Callable[[int], Given], plain: Sequence[str]) -> Given:
    """Call `read(memory)` with as little memory as the files need, and return its result.

    Tries MIN_MEMORY, then enough memory for one of the longest rows, then enough for several such rows. `read` must
    raise LargeRowsError if the memory is too small. If the last try fails, the caller gets its LargeRowsError.
    """
    try:
        return read(MIN_MEMORY)
    except LargeRowsError:
        longest = max(map(unpack, plain))
    try:
        return read(MEMORY_PER_ROW * longest)
    except LargeRowsError:  # several long rows were in memory at once
        return read(MEMORY_PER_ROWS * longest)


def open_query(
    source: str, values: Mapping[str, str], resources: ExitStack | None = None, memory: int = MIN_MEMORY, **tables: Any
) -> Reader:
    """Return a reader of the SQL table expression `source`. `values` maps columns of COLUMNS to SQL expressions.

    Rows are read in time order. Rows without a time become problems. Texts that the macros of values.sql cannot convert
    also become problems.

    `resources` are closed with the reader or after an error. `memory`: bytes for DuckDB, at least MIN_MEMORY. `tables`:
    Arrow streams by their name in `source`. Raises InputError if DuckDB cannot read the input, and LargeRowsError if
    the memory is too small.
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
