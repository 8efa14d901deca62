# SPDX-License-Identifier: Apache-2.0
"""Source: CSV with a header, and a mapping from its columns to those of events."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import duckdb

from ...common.duck import open_database, sql_text
from ...common.errors import InputError, NativeFault, OptionError
from ...common.temporary import temporary_folder
from ...native.bindings.inputs import plain_file, unpack
from ...native.bindings.reader import Reader
from ..source import Option, Settings, SourceKind
from .duck_rows import MEMORY_PER_ROW, START, open_query

MIN_LINE = 2 << 20  # DuckDB's own bound
UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
NUMBERS = ("thread_id", "errno", "rows_sent", "rows_examined", "rows_affected", "bytes_sent")
TEXTS = ("user", "host", "db", "command", "error")
FIELDS = ("time", "duration", "lock", "statement", *NUMBERS, *TEXTS)


def mapping(texts: Sequence[str]) -> dict[str, str]:
    """Return field -> column of `field=column` texts. Raises InputError for an unknown field, or a missing one."""
    columns = {}
    for text in texts:
        field, _, column = text.partition("=")
        if field not in FIELDS or not column:
            raise OptionError(f"--column: expected FIELD=COLUMN, FIELD one of {', '.join(FIELDS)}; found {text!r}")
        columns[field] = column
    if missing := [field for field in ("time", "statement") if field not in columns]:
        raise OptionError(f"--column: {' and '.join(missing)} must be given, e.g. --column {missing[0]}=COLUMN")
    return columns


def unit(settings: Settings, name: str) -> int:
    """Return how many nanoseconds the unit is that an option names. Raises InputError for another."""
    text = settings.extra.get(name) or "s"
    if text not in UNITS:
        raise OptionError(f"--{name.replace('_', '-')}: expected one of {', '.join(UNITS)}, found {text!r}")
    return UNITS[text]


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of CSV files with a header. Raises InputError where columns are missing or it cannot be read."""
    columns = mapping(settings.extra.get("column") or ())
    quoted = {field: '"' + column.replace('"', '""') + '"' for field, column in columns.items()}
    scaled = f"TRY_CAST({quoted['time']} AS DECIMAL(38, 9)) * {unit(settings, 'time_unit')}"
    form = settings.extra.get("time_format")
    parsed = f"try_strptime({quoted['time']}, {sql_text(form)})" if form else f"TRY_CAST({quoted['time']} AS TIMESTAMP)"
    zone = settings.timezone_ns or 0
    values = {
        "when_ns": f"coalesce(TRY_CAST({scaled} AS BIGINT), epoch_ns({parsed}) - {zone})",
        "stamp": str(START),
        "precision_ns": "1000",
        "statement": f"encode({quoted['statement']})",
        "place": "place",
    }
    for field in NUMBERS:
        values[field] = f"TRY_CAST({quoted[field]} AS BIGINT)" if field in quoted else "NULL"
    for field in TEXTS:
        values[field] = quoted.get(field, "NULL")
    for field, name in (("duration", "duration_ns"), ("lock", "lock_ns")):
        if field in quoted:
            values[name] = f"TRY_CAST({quoted[field]} AS DOUBLE) * {unit(settings, 'duration_unit')}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        source, longest = csv_table(names, folder)
        check_columns(source, columns.values())
        rows = f"(SELECT *, row_number() OVER () + 1 AS place FROM {source})"
        return open_query(rows, values, stack.pop_all(), MEMORY_PER_ROW * longest)


def csv_table(names: Sequence[str], folder: Path) -> tuple[str, int]:
    """Return a table expression of CSV files, and the bytes of the longest row; pipes and packed files are copied.

    Raises InputError where one cannot be read.
    """
    try:
        plain = [plain_file(name, folder) for name in names]
        longest = max(unpack(name, quote='"') for name in plain)
    except NativeFault as error:
        raise InputError(str(error)) from error
    listed = ", ".join(sql_text(Path(name)) for name in plain)
    options = "header = true, all_varchar = true, null_padding = true, parallel = false"
    return f"read_csv([{listed}], {options}, max_line_size = {max(longest + 2, MIN_LINE)})", longest


def check_columns(source: str, columns: Iterable[str]) -> None:
    """Raise InputError where the file lacks one of these columns or cannot be read."""
    with open_database(memory=None) as con:
        try:
            have = [str(row[0]) for row in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
        except duckdb.Error as error:
            raise InputError(f"the CSV cannot be read: {str(error).splitlines()[0]}") from error
    if missing := [column for column in columns if column not in have]:
        raise InputError(f"--column: the file has no column {missing[0]!r}; it has {', '.join(have)}")


KIND = SourceKind(
    name="csv",
    title="CSV",
    help="""Record CSV with a header; options say which column is what.

    Fields: time and statement (both needed), duration, thread_id, user, host, db, errno, rows_sent, rows_examined,
    rows_affected, bytes_sent, lock, command, error. Times are numbers since 1970 or texts in UTC.""",
    examples="""\
Examples:
  querytape capture csv sql.csv -o shop.tape --column time=ts \\
      --time-unit ms --column statement=sql_text \\
      --column duration=latency --duration-unit us
""",
    expected="a header and rows with a time that can be read",
    open=open_source,
    sniff=lambda head: -1,
    options=(
        Option(
            "column",
            "Which column has a field: FIELD=COLUMN; may be given several times.",
            multiple=True,
            metavar="F=C",
        ),
        Option("time-unit", "Unit of times that are numbers: s, ms, us or ns.", default="s"),
        Option("time-format", "Format of times that are texts, as in strptime. Default: ISO.", metavar="FORMAT"),
        Option("duration-unit", "Unit of durations: s, ms, us or ns.", default="s"),
    ),
)
