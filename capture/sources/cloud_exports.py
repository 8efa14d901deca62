# SPDX-License-Identifier: Apache-2.0
"""Presets of `capture audit-json` for JSON log exports of Google Cloud SQL and Azure Database for MySQL.

The presets follow the documentation of the vendors. No preset was tested with an export of a real instance.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ...common.duck import load_sql, open_database, sql_text
from ...common.errors import InputError, NativeFault, OptionError
from ...common.temporary import temporary_folder
from ...common.zones import Zone
from ...native.bindings.inputs import Pipe, plain_file
from ...native.bindings.parsers import Lines, open_general, open_slowlog
from ...native.bindings.reader import Reader
from ...schemas import FLAGS
from .duck_rows import (
    SECOND,
    START,
    json_rows,
    number,
    objects,
    open_json,
    seconds,
    sniff_objects,
    text,
    too_large,
    when,
    with_memory,
)

AZURE_TEXT = 2048  # Azure truncates statements to this length in characters


@dataclass(frozen=True)
class Preset:
    """An export format. `marks`: pattern that matches a line of the export.

    `values` and `where`: arguments of `open_json`. `parser`: log parser for the text of the entries, if the entries are
    lines of another log.
    """

    marks: bytes
    values: Mapping[str, str] = field(default_factory=dict)
    where: str = "true"
    parser: Callable[[Sequence[str], Zone | None], Reader] | None = None


REQUEST = "protoPayload.request."
CHUNKS = f"coalesce({number(REQUEST + 'chunkCount')}, 1)"
P = "properties."
CUT = f"CASE WHEN length({text(P + 'sql_text')}) >= {AZURE_TEXT} THEN {FLAGS['truncated']} ELSE 0 END"

PRESETS = {
    "cloudsql-audit": Preset(
        rb'"protoPayload"[^\n]*MysqlAuditEntry',
        {
            "when_ns": f"coalesce({when(REQUEST + 'date')}, {when('timestamp')})",
            "stamp": str(START),
            "precision_ns": "1000",
            "thread_id": number(REQUEST + "threadId"),
            "command": f"CASE {text(REQUEST + 'cmd')} WHEN 'connect' THEN 'Connect' WHEN 'disconnect' THEN 'Quit'"
            " ELSE 'query' END",
            "user": f"coalesce({text(REQUEST + 'user')}, {text(REQUEST + 'privUser')})",
            "host": text(REQUEST + "ip"),
            "db": text(REQUEST + "objects[0].db"),
            "statement": f"CASE WHEN j IS NULL THEN encode(line) ELSE encode({text(REQUEST + 'query')}) END",
            "errno": number(REQUEST + "errCode"),
            "flags": f"CASE WHEN {CHUNKS} > 1 THEN {FLAGS['truncated']} ELSE 0 END",
            "place": "place",
        },
        f"j IS NULL OR ({text(REQUEST + 'cmd')} IS NOT NULL AND coalesce({number(REQUEST + 'chunkIndex')}, 1) <= 1)",
    ),
    "cloudsql-slow": Preset(rb'"logName"[^\n]*mysql-slow\.log', parser=open_slowlog),
    "cloudsql-general": Preset(rb'"logName"[^\n]*mysql-general\.log', parser=open_general),
    "azure-slow": Preset(
        rb'"category"\s*:\s*"MySqlSlowLogs"',
        {
            "when_ns": f"coalesce({when(P + 'start_time')}, {when('time')})",
            "stamp": str(START),
            "precision_ns": "1000",
            "duration_ns": seconds(P + "query_time"),
            "lock_ns": seconds(P + "lock_time"),
            "thread_id": number(P + "thread_id"),
            "command": "'query'",
            "user": f"account_user({text(P + 'user_host')})",
            "host": f"account_host({text(P + 'user_host')})",
            "db": f"nullif({text(P + 'db')}, '')",
            "statement": f"CASE WHEN j IS NULL THEN encode(line) ELSE encode({text(P + 'sql_text')}) END",
            "rows_sent": number(P + "rows_sent"),
            "rows_examined": number(P + "rows_examined"),
            "flags": CUT,
            "place": "place",
        },
        f"j IS NULL OR {text(P + 'sql_text')} IS NOT NULL",
    ),
    "azure-audit": Preset(
        rb'"category"\s*:\s*"MySqlAuditLogs"',
        {
            "when_ns": f"coalesce({when(P + 'event_time')}, {when('time')})",
            "stamp": str(SECOND),
            "precision_ns": "1000000000",
            "thread_id": f"coalesce({number(P + 'thread_id')}, {number(P + 'connection_id')})",
            "command": f"CASE {text(P + 'event_subclass')} WHEN 'CONNECT' THEN 'Connect' WHEN 'DISCONNECT' THEN 'Quit'"
            " WHEN 'CHANGE USER' THEN 'Change user' ELSE 'query' END",
            "user": text(P + "user"),
            "host": f"coalesce(nullif({text(P + 'ip')}, ''), nullif({text(P + 'host')}, ''))",
            "db": f"nullif({text(P + 'db')}, '')",
            "statement": f"CASE WHEN j IS NULL THEN encode(line) ELSE encode({text(P + 'sql_text')}) END",
            "errno": f"CASE WHEN {text(P + 'event_class')} = 'connection_log' THEN {number(P + 'error_code')} END",
            "flags": CUT,
            "place": "place",
        },
        f"j IS NULL OR {text(P + 'event_class')} = 'connection_log'"
        f" OR ({text(P + 'event_class')} = 'general_log' AND {text(P + 'event_subclass')} = 'LOG')",
    ),
}


def detect_preset(first: bytes) -> str | None:
    """Return the preset whose marks match the first objects of a file, or None."""
    lines = [line for _, line in objects(first)]
    return next(
        (name for name, preset in PRESETS.items() if any(re.search(preset.marks, line) for line in lines)), None
    )


def sniff_exports(head: bytes) -> int:
    """Return the offset of the first object that matches an export format. Return -1 if no object matches."""
    return sniff_objects(b".*(?:" + b"|".join(preset.marks for preset in PRESETS.values()) + b")", head)


def open_export(name: str, names: Sequence[str], timezone_ns: Zone | None) -> Reader:
    """Return a reader of exports. Raises InputError if the preset is unknown or the input is unreadable."""
    if name not in PRESETS:
        raise OptionError(f"--preset: expected one of {', '.join(PRESETS)}, found {name!r}")
    preset = PRESETS[name]
    if preset.parser is None:
        return open_json(names, preset.values, preset.where)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        log = folder / f"{name}.log"
        try:
            write_texts(names, log, folder)
            reader = preset.parser([str(log)], timezone_ns)
        except NativeFault as error:
            raise InputError(str(error)) from error
        except duckdb.Error as error:
            raise InputError(f"the input cannot be read: {str(error).splitlines()[0]}") from error
        reader.resources.push(stack.pop_all())
        return reader


def write_texts(names: Sequence[str], log: Path, folder: Path) -> None:
    """Write the text lines of log entries to `log` in time order, which restores the original log.

    Entries with the same time are ordered by their insertId from Cloud Logging. Raises NativeFault or duckdb.Error.
    """
    plain = [plain_file(name, folder) if isinstance(name, Pipe) else name for name in names]
    with_memory(lambda memory: copy_texts(plain, log, folder, memory >> 20), plain)


def copy_texts(plain: Sequence[str], log: Path, folder: Path, mebibytes: int) -> None:
    """Write the ordered text lines to `log` with a memory limit. Raises LargeRowsError if the memory is not enough."""
    keys = ("timestamp", "insertId", "textPayload")
    order = f"{when('timestamp')} NULLS LAST, {text('insertId')}, file, place"
    lines = Lines(plain)
    try:
        with open_database(folder / "spill", f"{mebibytes}MiB", large_arrow=True) as con:
            con.execute(load_sql("querytape.capture", "values.sql"))
            con.register("lines", lines.stream)
            con.execute(
                f"COPY (SELECT rtrim({text('textPayload')}, chr(10)) FROM {json_rows(keys)}"
                f" WHERE {text('textPayload')} IS NOT NULL ORDER BY {order}) TO {sql_text(log)}"
                " (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')"
            )
    except duckdb.OutOfMemoryException as error:
        raise too_large(mebibytes, error) from error
    finally:
        lines.close()
