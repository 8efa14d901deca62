# SPDX-License-Identifier: Apache-2.0
"""Source: ProxySQL's events log, as JSON (mysql-eventslog_format=2) or binary (1)."""

import re
from collections.abc import Sequence

from ..errors import InputError
from ..native.inputs import head
from ..native.logs import open_proxysql
from ..native.reader import Reader
from .kinds import Settings, SourceKind
from .tables import START, json_lines, number, open_query, text

LINE = re.compile(rb'^\{(?=[^\n]*"hostgroup_id")(?=[^\n]*"starttime_timestamp_us")', re.MULTILINE)


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


# The length of the first record, less than 16 MiB, then what it is: a query, an execution or a prepare.
BINARY = re.compile(rb"\A[\s\S]{3}\0{5}[\0\x10\x11]")


def knows(first: bytes) -> int:
    """Return where the log begins in a file's first bytes, or -1."""
    found = LINE.search(first)
    if found is not None:
        return found.start()
    return 0 if BINARY.match(first) else -1


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of events logs. What is no record is a problem. Raises InputError where formats are mixed."""
    binary = [name for name in names if name != "-" and BINARY.match(head(name, 16))]
    if not binary:
        return open_query(json_lines(names), VALUES)
    if len(binary) < len(names):
        raise InputError("events logs in JSON and in binary can't be mixed on one tape")
    return open_proxysql(names)


KIND = SourceKind(
    name="proxysql",
    title="a ProxySQL events log",
    help="""Record ProxySQL's events log, JSON (mysql-eventslog_format=2) or binary (1).

    What clients asked the proxy, with microseconds of start and duration as the proxy saw them; sessions are the
    clients'.""",
    examples="""\
Examples:
  querytape capture proxysql queries.log.00000001 -o shop.tape
""",
    expected="lines of JSON with starttime_timestamp_us and query, or binary records",
    open=open_source,
    knows=knows,
    measuring_point="proxy",
    local_times=False,
)
