# SPDX-License-Identifier: Apache-2.0
"""Source: ProxySQL's events log as JSON (mysql-eventslog_format=2)."""

import re
from collections.abc import Sequence

from ..native.reader import Reader
from .kinds import Settings, SourceKind, seen_at
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
    "stmt": number("client_stmt_id"),
    "errno": number("errno"),
    "rows_sent": number("rows_sent"),
    "rows_affected": number("rows_affected"),
    "place": "place",
    "error": text("error"),
}


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of events logs. A line that is no JSON is a problem."""
    return open_query(json_lines(names), VALUES)


KIND = SourceKind(
    name="proxysql",
    title="a ProxySQL events log",
    help="""Record ProxySQL's events log in JSON (mysql-eventslog_format=2).

    What clients asked the proxy, with microseconds of start and duration as the proxy saw them; sessions are the
    clients'.""",
    examples="""\
Examples:
  querytape capture proxysql queries.log.00000001 -o shop.tape
""",
    expected="lines of JSON with starttime_timestamp_us and query",
    open=open_source,
    knows=seen_at(LINE),
    measuring_point="proxy",
    local_times=False,
)
