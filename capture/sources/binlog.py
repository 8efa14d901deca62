# SPDX-License-Identifier: Apache-2.0
"""Source: binary logs as text from mysqlbinlog. The tape contains only writes."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...common.errors import InputError
from ...native.bindings.inputs import heads
from ...native.bindings.parsers import open_binlog
from ...native.bindings.reader import Reader
from ..source import Settings, SourceKind, TapeWarning, sniff_pattern

EVENT = rb"^# at \d+\n#\d{6} [ \d]\d:\d\d:\d\d server id \d+ "
RAW = b"\xfebin"


def sniff(first: bytes) -> int:
    """Return the offset of mysqlbinlog output in the first bytes of a file, or -1. Also recognize a raw binary log."""
    return 0 if first.startswith(RAW) else sniff_pattern(EVENT)(first)


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of mysqlbinlog output. Raises InputError for a raw binary log."""
    for name, first in heads(names, len(RAW)):
        if first == RAW:
            raise InputError(f"{name}: this is a raw binary log. Run mysqlbinlog on the file, and capture the output")
    return open_binlog(names, settings.timezone_ns, follow=settings.follow)


def missing(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about data that a binary log does not contain."""
    warnings = [
        {
            "kind": "writes_only",
            "text": "a binary log contains only statements that change data, without durations or errors",
        }
    ]
    if rows := description.get("row_events_without_statement", 0):
        text = (
            f"row changes without a statement: {rows:,}. binlog_annotate_row_events (MariaDB) or"
            " binlog_rows_query_log_events (MySQL) was off"
        )
        warnings.append({"kind": "row_events", "text": text})
    return warnings


KIND = SourceKind(
    name="binlog",
    title="mysqlbinlog's output",
    help="""Record the writes of a binary log from the output of mysqlbinlog.

    The tape contains the statements that changed data, in the order of their commits. The tape contains no reads,
    durations or errors. Row events have a statement only if the server also logged the statement. Times are start
    times, with a resolution of one second or better.""",
    examples="""\
Examples:
  mysqlbinlog mysql-bin.000042 | querytape capture binlog - -o w.tape
  querytape capture binlog binlog.000042.sql.gz -o writes.tape
""",
    expected="events such as `# at 4` and `#261120 15:21:05 server id 1 ...`",
    open=open_source,
    sniff=sniff,
    warnings=missing,
    follows=True,
)
