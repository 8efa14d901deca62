# SPDX-License-Identifier: Apache-2.0
"""Source: CSV of any making, with a mapping from its columns to an event's."""

from collections.abc import Sequence

import duckdb

from ..errors import InputError
from ..native.reader import Reader
from ..schemas import sql_text
from .kinds import Option, Settings, SourceKind
from .tables import START, open_query

UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
NUMBERS = ("thread_id", "errno", "rows_sent", "rows_examined", "rows_affected", "bytes_sent")
TEXTS = ("user", "host", "db", "command", "error")
FIELDS = ("time", "duration", "lock", "statement", *NUMBERS, *TEXTS)


def mapping(given: Sequence[str]) -> dict[str, str]:
    """Return field -> column of `field=column` texts. Raises InputError for an unknown field, or a missing one."""
    found = {}
    for text in given:
        field, _, column = text.partition("=")
        if field not in FIELDS or not column:
            raise InputError(f"--column: expected FIELD=COLUMN, FIELD one of {', '.join(FIELDS)}; found {text!r}")
        found[field] = column
    if missing := [field for field in ("time", "statement") if field not in found]:
        raise InputError(f"--column: {' and '.join(missing)} must be given, e.g. --column {missing[0]}=COLUMN")
    return found


def unit(settings: Settings, name: str) -> int:
    """Return nanoseconds of a unit option."""
    text = settings.extra.get(name) or "s"
    if text not in UNITS:
        raise InputError(f"--{name.replace('_', '-')}: expected one of {', '.join(UNITS)}, found {text!r}")
    return UNITS[text]


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of CSV files with a header."""
    found = mapping(settings.extra.get("column") or ())
    quoted = {field: '"' + column.replace('"', '""') + '"' for field, column in found.items()}
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
    listed = ", ".join(sql_text("/dev/stdin" if name == "-" else name) for name in names)
    source = f"read_csv([{listed}], header = true, all_varchar = true, null_padding = true, parallel = false)"
    check_columns(source, found)
    return open_query(f"(SELECT *, row_number() OVER () + 1 AS place FROM {source})", values)


def check_columns(source: str, found: dict[str, str]) -> None:
    """Raise InputError where the file lacks a column that was named, or can't be read."""
    if "/dev/stdin" in source:
        return
    with duckdb.connect() as con:
        try:
            have = [str(row[0]) for row in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
        except duckdb.Error as fault:
            raise InputError(f"the CSV can't be read: {str(fault).splitlines()[0]}") from fault
    if missing := [column for column in found.values() if column not in have]:
        raise InputError(f"--column: the file has no column {missing[0]!r}; it has {', '.join(have)}")


KIND = SourceKind(
    name="csv",
    title="CSV",
    help="""Record CSV with a header, whatever wrote it: say which column is what.

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
    knows=lambda head: -1,
    options=(
        Option("column", "What a column is: FIELD=COLUMN; may be given several times.", multiple=True, metavar="F=C"),
        Option("time-unit", "Of times that are numbers: s, ms, us or ns.", default="s"),
        Option("time-format", "Of times that are texts, as strptime has it. Default: ISO.", metavar="FORMAT"),
        Option("duration-unit", "Of durations: s, ms, us or ns.", default="s"),
    ),
)
