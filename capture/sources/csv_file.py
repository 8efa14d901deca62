# SPDX-License-Identifier: Apache-2.0
"""Source: CSV files with a header line. Options map the CSV columns to event fields."""

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import duckdb

from ...common.duck import open_database, sql_text
from ...common.errors import InputError, NativeFault, OptionError
from ...common.temporary import temporary_folder
from ...native.bindings.inputs import heads, plain_file, rewrite_csv, unpack
from ...native.bindings.reader import Reader
from ..source import Option, Settings, SourceKind
from .duck_rows import MEMORY_PER_ROW, START, csv_reason, entry, open_query, unread

MAX_BACK_NS = 60_000_000_000  # after a larger step back in time, local times may be ambiguous
MIN_LINE = 2 << 20  # DuckDB's own limit for a line, in bytes
HEAD = 64 << 10
OPTIONS = "header = true, all_varchar = true, null_padding = true"
QUOTED = re.compile(rb'(?:^|\t)"(?:[^"]|"")*"(?=\t|\r?$)', re.MULTILINE)  # a complete quoted value
NULL = re.compile(rb"(?:^|[,;|\t])\\N(?=[,;|\t]|\r?$)", re.MULTILINE)  # NULL as written by SELECT ... INTO OUTFILE
# Maps the command names of mysql.general_log. The text of Execute already includes its values.
COMMANDS = """CASE {0} WHEN 'Query' THEN 'query' WHEN 'Execute' THEN 'query' ELSE {0} END"""
TEXTLESS = (
    "('Connect', 'Init DB', 'Quit', 'Ping', 'Statistics', 'Close stmt', 'Reset stmt', 'Change user', 'Field List')"
)
UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
NUMBERS = ("thread_id", "errno", "rows_sent", "rows_examined", "rows_affected", "bytes_sent")
TEXTS = ("user", "host", "db", "command", "error")
FIELDS = ("time", "duration", "lock", "statement", *NUMBERS, *TEXTS)


def mapping(texts: Sequence[str]) -> dict[str, str]:
    """Return a mapping from fields to columns. Each text has the form `field=column`.

    Raises InputError if a field is unknown or a required field is missing.
    """
    columns = {}
    for text in texts:
        field, _, column = text.partition("=")
        if field not in FIELDS or not column:
            raise OptionError(
                f"--column: expected FIELD=COLUMN with one of the fields {', '.join(FIELDS)}, found {text!r}"
            )
        columns[field] = column
    if missing := [field for field in ("time", "statement") if field not in columns]:
        raise OptionError(f"--column: no column for {' and '.join(missing)}. Add --column {missing[0]}=COLUMN")
    return columns


def unit(settings: Settings, name: str) -> int:
    """Return the time unit of an option in nanoseconds. Raises InputError if the unit is unknown."""
    text = settings.extra.get(name) or "s"
    if text not in UNITS:
        raise OptionError(f"--{name.replace('_', '-')}: expected one of {', '.join(UNITS)}, found {text!r}")
    return UNITS[text]


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of CSV files with a header. Raises InputError if columns are missing or a file is unreadable."""
    columns = mapping(settings.extra.get("column") or ())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        tables, longest = csv_tables(names, folder)
        for source in tables:
            check_columns(source, columns.values())
        quoted = {field: quoted_name(column) for field, column in columns.items()}
        rows = " UNION ALL ".join(
            f"SELECT {', '.join(sorted(set(quoted.values())))}, lag({quoted['time']}) OVER () AS csv_before,"
            f" {file} AS csv_file, row_number() OVER () + 1 AS csv_place FROM {source}"
            for file, source in enumerate(tables)
        )
        return open_query(f"({rows})", values_of(quoted, settings), stack.pop_all(), MEMORY_PER_ROW * longest)


def quoted_name(name: str) -> str:
    """Return a column name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def values_of(quoted: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return the SQL expressions for `open_query`. `quoted` maps fields to quoted column names."""
    time, zone, form = quoted["time"], settings.timezone_ns or 0, settings.extra.get("time_format")
    if isinstance(zone, tuple):
        raise OptionError(
            "--log-timezone: expected an offset such as +02:00, because local times in CSV are ambiguous when clocks go"
            " back"
        )
    scaled = f"TRY_CAST(TRY_CAST({time} AS DECIMAL(38, 9)) * {unit(settings, 'time_unit')} AS BIGINT)"
    parsed, before = (local_time(column, form, zone) for column in (time, "csv_before"))
    when = f"coalesce({scaled}, {parsed})"
    statement = quoted["statement"]
    if "command" in quoted:
        statement = f"CASE WHEN {quoted['command']} IN {TEXTLESS} THEN NULL ELSE {statement} END"
    shown = f"CASE WHEN {when} IS NULL THEN coalesce({time}, '') ELSE {statement} END"
    values = {
        "when_ns": when,
        "stamp": str(START),
        "precision_ns": "1000",
        "statement": f"statement_bytes({shown})",
        "file": "csv_file",
        "place": "csv_place",
    }
    values |= {field: f"whole({quoted[field]})" for field in NUMBERS if field in quoted}
    values |= {field: quoted[field] for field in TEXTS if field in quoted}
    if "command" in quoted:
        values["command"] = COMMANDS.format(quoted["command"])
        if "db" not in quoted:  # Connect has "app@web1 on shop using TCP/IP", Init DB only the schema
            values["db"] = (
                f"CASE {quoted['command']} WHEN 'Init DB' THEN {quoted['statement']} WHEN 'Connect'"
                f" THEN nullif(regexp_extract({quoted['statement']}, ' on (.*?)(?: using [^ ]*)?$', 1), '') END"
            )
    if "user" in quoted:
        values["user"] = f"account_user({quoted['user']})"
    if "host" in quoted:
        values["host"] = f"coalesce(account_host({quoted['host']}), {quoted['host']})"
    elif "user" in quoted:
        values["host"] = f"account_host({quoted['user']})"
    for field, name in (("duration", "duration_ns"), ("lock", "lock_ns")):
        if field in quoted:
            values[name] = f"span_ns({quoted[field]}, {unit(settings, 'duration_unit')})"
    back = f"{scaled} IS NULL AND NOT has_zone({time}) AND {before} - {parsed} > {MAX_BACK_NS}"
    values["unread"] = f"nullif(concat({unread(values)}, CASE WHEN {back} THEN {entry('back', 'time', time)} END), '')"
    return values


def local_time(column: str, form: str | None, zone: int) -> str:
    """Return SQL that converts a text column of times to nanoseconds since the epoch."""
    if form is None:
        return f"time_ns({column}, {zone})"
    return f"epoch_ns(try_strptime({column}, {sql_text(form)})) - {0 if '%z' in form else zone}"


def csv_tables(names: Sequence[str], folder: Path) -> tuple[list[str], int]:
    """Return a table expression for each CSV file, and the size of the longest row in bytes.

    Pipes, compressed files and files with backslash escapes are copied first. Raises InputError if a file is
    unreadable.
    """
    try:
        plain = [plain_file(name, folder) for name in names]
        files = [without_escapes(str(name), first, folder) for name, first in heads(plain, HEAD)]
        longest = max(unpack(name, quote='"') for name, _ in files)
    except NativeFault as error:
        raise InputError(str(error)) from error
    options = f"{OPTIONS}, parallel = false, max_line_size = {max(longest + 2, MIN_LINE)}"
    return [f"read_csv({sql_text(Path(name))}, {options}{dialect})" for name, dialect in files], longest


def without_escapes(name: str, head: bytes, folder: Path) -> tuple[str, str]:
    """Return the name of a file without backslash escapes, and the read_csv options for it. Copies the file if needed.

    `head`: the first bytes of the file. `mysql -B` separates values with tabs and uses no quotes.
    """
    if b"\t" in head.partition(b"\n")[0] and QUOTED.search(head) is None:
        separator, quote = "\t", ""
    else:
        separator, quote, escape = sniff_dialect(name)
        if escape != "\\" and NULL.search(head) is None:
            return name, f", escape = {sql_text(escape)}"
    copy, path = tempfile.mkstemp(dir=folder)
    try:
        rewrite_csv(name, copy, separator, quote)
    finally:
        os.close(copy)
    return path, """, delim = ',', quote = '"', escape = '"', new_line = '\\n'"""


def sniff_dialect(name: str) -> tuple[str, str, str]:
    """Return the separator, quote and escape character that DuckDB detects.

    The default for quote and escape character is a double quote.
    """
    with open_database(memory=None) as con:
        query = f"SELECT Delimiter, Quote, Escape FROM sniff_csv({sql_text(Path(name))}, {OPTIONS})"
        try:
            separator, quote, escape = con.execute(query).fetchone() or (",", '"', '"')
        except duckdb.Error:  # check_columns() reports the reason
            return ",", '"', '"'
    return separator, quote if len(quote) == 1 else '"', escape if len(escape) == 1 else '"'


def check_columns(source: str, columns: Iterable[str]) -> None:
    """Raise InputError if a column is missing, a row has too many values, or the file is unreadable."""
    with open_database(memory=None) as con:
        try:
            have = [str(row[0]) for row in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
            header = con.execute(f"FROM {source.replace('header = true', 'header = false')} LIMIT 1").fetchone() or ()
            named = max((n for n, name in enumerate(header, 1) if name is not None), default=0)
            more = have[named:]  # extra columns that DuckDB detected and named
            longer = (
                more
                and con.execute(
                    "SELECT row FROM (SELECT row_number() OVER () AS row,"
                    f" coalesce({', '.join(map(quoted_name, more))}) AS value FROM {source})"
                    " WHERE value IS NOT NULL ORDER BY row LIMIT 1"
                ).fetchone()
            )
        except duckdb.Error as error:
            raise InputError(f"the CSV cannot be read: {csv_reason(error)}") from error
    if longer:
        raise InputError(
            f"row {longer[0]} has more values than the header has columns. Quote the values that contain the separator"
        )
    if missing := [column for column in columns if column not in have]:
        raise InputError(f"--column: the file has no column {missing[0]!r}. Its columns are {', '.join(have)}")


KIND = SourceKind(
    name="csv",
    title="CSV",
    help="""Record CSV files that have a header line.

    Fields: time and statement (both required), duration, thread_id, user, host, db, errno, rows_sent, rows_examined,
    rows_affected, bytes_sent, lock, command, error. Times are numbers since 1970, or text in the
    zone of --log-timezone (default: UTC). Durations are numbers or HH:MM:SS.ffffff.

    The output of `mysql -B` for mysql.slow_log and mysql.general_log is also accepted, with its escapes and with
    accounts such as `app[app] @ host [address]`. Files of SELECT ... INTO OUTFILE and of the CSV engine are accepted
    after you add a header line.""",
    examples="""\
Examples:
  querytape capture csv sql.csv -o shop.tape --column time=ts \\
      --time-unit ms --column statement=sql_text \\
      --column duration=latency --duration-unit us
  mysql -B -e 'SELECT * FROM mysql.slow_log' >slow.tsv
  querytape capture csv slow.tsv -o shop.tape --column time=start_time \\
      --column statement=sql_text --column duration=query_time \\
      --column user=user_host --column thread_id=thread_id
""",
    expected="a header and rows with a valid time",
    open=open_source,
    sniff=lambda head: -1,
    options=(
        Option(
            "column",
            "Column that contains a field, as FIELD=COLUMN; may be given several times.",
            multiple=True,
            metavar="F=C",
        ),
        Option("time-unit", "Unit of numeric times: s, ms, us or ns.", default="s"),
        Option("time-format", "strptime format of textual times. Default: ISO 8601.", metavar="FORMAT"),
        Option("duration-unit", "Unit of numeric durations: s, ms, us or ns.", default="s"),
    ),
)
