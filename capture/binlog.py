# SPDX-License-Identifier: Apache-2.0
"""Source: binary logs as text, as mysqlbinlog prints them: a tape of writes alone."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError
from ..native.inputs import head
from ..native.logs import open_binlog
from ..native.reader import Reader
from .kinds import Settings, SourceKind

EVENT = re.compile(rb"^# at \d+\n#\d{6} [ \d]\d:\d\d:\d\d server id \d+ ", re.MULTILINE)
RAW = b"\xfebin"


def knows(first: bytes) -> int:
    """Return where mysqlbinlog's output begins in a file's first bytes, or -1; a raw binary log begins at once."""
    found = EVENT.search(first)
    return 0 if first.startswith(RAW) else -1 if found is None else found.start()


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of mysqlbinlog's output. Raises InputError for a binary log that it was not run on."""
    for name in names:
        if name != "-" and head(name, 4) == RAW:
            raise InputError(
                f"{name}: a binary log as the server writes it: run mysqlbinlog on it, and capture the output"
            )
    return open_binlog(names, settings.timezone_ns)


def lacks(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what a binary log cannot tell."""
    said = [
        {"kind": "writes_only", "text": "a binary log holds what changed data: no reads, no durations, no failures"}
    ]
    if rows := found.get("row_events_without_statement", 0):
        text = (
            f"{rows:,} row changes have no statement: binlog_annotate_row_events (MariaDB) or"
            " binlog_rows_query_log_events (MySQL) was off"
        )
        said.append({"kind": "row_events", "text": text})
    return said


KIND = SourceKind(
    name="binlog",
    title="mysqlbinlog's output",
    help="""Record binary logs as text: a tape of writes alone.

    The statements that changed data, in the order of their commits; no reads, durations or errors. Changes logged as
    rows have a statement only where the server notes it beside them. Times are starts, to the second at least.""",
    examples="""\
Examples:
  mysqlbinlog mysql-bin.000042 | querytape capture binlog - -o w.tape
  querytape capture binlog binlog.000042.sql.gz -o writes.tape
""",
    expected="events such as `# at 4` and `#261120 15:21:05 server id 1 ...`",
    open=open_source,
    knows=knows,
    warnings=lacks,
)
