# SPDX-License-Identifier: Apache-2.0
"""Source: ProxySQL's events log, as JSON (mysql-eventslog_format=2) or binary (1)."""

import re
from collections.abc import Sequence

from ...common.errors import InputError
from ...native.bindings.inputs import heads
from ...native.bindings.parsers import open_proxysql
from ...native.bindings.reader import Reader
from ..source import Settings, SourceKind, sniff_pattern
from .duck_rows import START, number, open_json, text

LINE = rb'^\{(?=[^\n]*"hostgroup_id")(?=[^\n]*"starttime_timestamp_us")'
# The length of the first record, less than 16 MiB, then what it is: a query, an execution, a prepare, or metadata.
BINARY = re.compile(rb"[\s\S]{3}\0{5}[\0\x10-\x12]")
VALUES = {
    "when_ns": f"{number('starttime_timestamp_us')} * 1000",
    "stamp": str(START),
    "precision_ns": "1000",
    "duration_ns": f"{number('duration_us')} * 1000",
    "thread_id": number("thread_id"),
    "command": f"""CASE {text("event")} WHEN 'COM_STMT_PREPARE' THEN 'prepare' WHEN 'COM_STMT_EXECUTE' THEN 'execute'
        ELSE 'query' END""",
    "user": text("username"),
    "host": f"regexp_replace({text('client')}, ':[0-9]+$', '')",
    "db": text("schemaname"),
    "statement": f"encode(coalesce({text('query')}, line))",
    "errno": number("errno"),
    "rows_sent": number("rows_sent"),
    "rows_affected": number("rows_affected"),
    "place": "place",
    "error": text("error"),
}


def sniff(first: bytes) -> int:
    """Return where the log begins in a file's first bytes, or -1."""
    line = sniff_pattern(LINE)(first)
    return 0 if line < 0 and BINARY.match(first) else line


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of events logs. Raises InputError where both formats are given."""
    looked_at = heads(names, 16)
    binary = [name for name, first in looked_at if BINARY.match(first)]
    if not binary:
        return open_json(names, VALUES)
    if len(binary) < len(looked_at):
        raise InputError("events logs in JSON and in binary cannot be mixed on one tape")
    return open_proxysql(names)


KIND = SourceKind(
    name="proxysql",
    title="a ProxySQL events log",
    help="""Record ProxySQL's events log, JSON (mysql-eventslog_format=2) or binary (1).

    The log has what clients sent to the proxy, with start and duration in microseconds as the proxy measured them; a
    session is a client's connection.""",
    examples="""\
Examples:
  querytape capture proxysql queries.log.00000001 -o shop.tape
""",
    expected="lines of JSON with starttime_timestamp_us and query, or binary records",
    open=open_source,
    sniff=sniff,
    measuring_point="proxy",
    local_times=False,
)
