# SPDX-License-Identifier: Apache-2.0
"""Source: audit logs as JSON: Percona's audit_log, MySQL Enterprise Audit and Percona's audit_log_filter."""

from collections.abc import Sequence

from ...native.bindings.reader import Reader
from ..source import Settings, SourceKind, sniff_pattern
from .duck_rows import SECOND, number, open_json, text

LINE = rb'^\s*\[?\s*\{(?:\s*"audit_record"\s*:|(?=[^\n]*"timestamp"\s*:)(?=[^\n]*"class"\s*:)(?=[^\n]*"event"\s*:))'
# Rows of audit_log have everything in audit_record, those of audit_log_filter in one object for each class.
OLD, NEW = "audit_record.", ""
NAME = f"""coalesce({text(OLD + "name")}, CASE {text("class")}
    WHEN 'connection' THEN CASE {text("event")} WHEN 'connect' THEN 'Connect' WHEN 'disconnect' THEN 'Quit'
        WHEN 'change_user' THEN 'Change user' END
    WHEN 'general' THEN CASE WHEN {text("event")} = 'status' THEN {text("general_data.command")} END END)"""
SQL = f"coalesce({text(OLD + 'sqltext')}, {text('general_data.query')})"
AT = f"regexp_replace(coalesce({text(OLD + 'timestamp')}, {text('timestamp')}), '(Z| UTC)$', '')"
USER = f"coalesce({text(OLD + 'user')}, {text('account.user')}, {text('login.user')})"
VALUES = {
    "when_ns": f"epoch_ns(TRY_CAST({AT} AS TIMESTAMP))",
    "stamp": str(SECOND),
    "precision_ns": "1000000000",
    "duration_ns": f"TRY_CAST({text('general_data.query_statistics.query_time')} AS DOUBLE) * 1e9",
    "thread_id": f"coalesce({number(OLD + 'connection_id')}, {number('connection_id')})",
    # an Execute has its values filled in: then it is a query's text
    "command": f"""CASE WHEN {NAME} = 'Query' OR ({NAME} = 'Execute' AND NOT contains({SQL}, '?')) THEN 'query'
        ELSE {NAME} END""",
    "user": f"regexp_extract({USER}, '^([^\\[]*)', 1)",
    "host": f"""coalesce(nullif({text(OLD + "host")}, ''), nullif({text(OLD + "ip")}, ''),
        nullif({text("account.host")}, ''))""",
    "db": f"coalesce({text(OLD + 'db')}, {text('connection_data.db')})",
    "statement": f"""CASE WHEN j IS NULL THEN encode(line)
        WHEN {NAME} IN ('Query', 'Execute', 'Prepare') THEN encode({SQL}) END""",
    "errno": f"coalesce({number(OLD + 'status')}, {number('general_data.status')}, {number('connection_data.status')})",
    "rows_sent": number("general_data.query_statistics.rows_sent"),
    "rows_examined": number("general_data.query_statistics.rows_examined"),
    "bytes_sent": number("general_data.query_statistics.bytes_sent"),
    "place": "place",
}


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of audit logs; rows that are no client's command (table access, messages) are not read."""
    return open_json(names, VALUES, f"j IS NULL OR {NAME} IS NOT NULL")


KIND = SourceKind(
    name="audit-json",
    title="an audit log in JSON",
    help="""Record audit logs in JSON: Percona's audit_log, and audit_log_filter (Percona, MySQL Enterprise).

    The log has who sent what and whether it failed, to the second; one object a line, in an array or not.""",
    examples="""\
Examples:
  querytape capture audit-json /var/lib/mysql/audit.log -o shop.tape
""",
    expected="lines of JSON with audit_record, or with timestamp, class and event",
    open=open_source,
    sniff=sniff_pattern(LINE),
    local_times=False,
)
