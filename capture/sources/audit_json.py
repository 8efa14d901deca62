# SPDX-License-Identifier: Apache-2.0
"""Source: audit logs in JSON from Percona audit_log, MySQL Enterprise Audit, audit_log_filter, and cloud exports."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...native.bindings.inputs import heads
from ...native.bindings.reader import Reader
from ..source import Option, Settings, SourceKind, TapeWarning
from .cloud_exports import PRESETS, detect_preset, open_export, sniff_exports
from .duck_rows import SECOND, number, open_json, seconds, sniff_objects, text, when

OBJECT = rb'\{(?:\s*"audit_record"\s*:|(?=.*"timestamp"\s*:)(?=.*"class"\s*:)(?=.*"event"\s*:))'
HEAD = 64 << 10
# Names of one variable: in audit_log, in the audit_log_filter plugin, and in the audit_log_filter component.
STRATEGIES = ("audit_log_strategy", "audit_log_filter_strategy", "audit_log_filter.strategy")
# Rows of audit_log have all fields in audit_record. Rows of audit_log_filter have one object per event class.
OLD, NEW = "audit_record.", ""
NAME = f"""coalesce({text(OLD + "name")}, CASE {text("class")}
    WHEN 'connection' THEN CASE {text("event")} WHEN 'connect' THEN 'Connect' WHEN 'disconnect' THEN 'Quit'
        WHEN 'change_user' THEN 'Change user' END
    WHEN 'general' THEN CASE WHEN {text("event")} = 'status' THEN {text("general_data.command")} END END)"""
SQL = f"coalesce({text(OLD + 'sqltext')}, {text('general_data.query')})"
USER = f"coalesce({text(OLD + 'user')}, {text('account.user')}, {text('login.user')})"
FOREIGN = f"coalesce({text(OLD + 'timestamp')}, {text(OLD + 'name')}, {text('class')}) IS NULL"
VALUES = {
    "when_ns": f"CASE WHEN NOT {FOREIGN} THEN coalesce({when(OLD + 'timestamp')}, {when('timestamp')}) END",
    "stamp": str(SECOND),
    "precision_ns": "1000000000",
    "duration_ns": seconds("general_data.query_statistics.query_time"),
    "thread_id": f"coalesce({number(OLD + 'connection_id')}, {number('connection_id')})",
    # The server inserts the values into the text of an Execute. An Execute without `?` in its text is an ordinary
    # query.
    "command": f"""CASE WHEN {NAME} = 'Query' OR ({NAME} = 'Execute' AND NOT contains({SQL}, '?')) THEN 'query'
        ELSE {NAME} END""",
    "user": f"regexp_extract({USER}, '^([^\\[]*)', 1)",
    "host": f"""coalesce(nullif({text(OLD + "host")}, ''), nullif({text(OLD + "ip")}, ''),
        nullif({text("account.host")}, ''))""",
    "db": f"coalesce({text(OLD + 'db')}, {text('connection_data.db')})",
    "statement": f"""CASE WHEN {FOREIGN} THEN encode(line)
        WHEN {NAME} IN ('Query', 'Execute', 'Prepare') THEN encode({SQL}) END""",
    "errno": f"coalesce({number(OLD + 'status')}, {number('general_data.status')}, {number('connection_data.status')})",
    "rows_sent": number("general_data.query_statistics.rows_sent"),
    "rows_examined": number("general_data.query_statistics.rows_examined"),
    "bytes_sent": number("general_data.query_statistics.bytes_sent"),
    "place": "place",
}


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of audit logs. Skips rows that are not client commands, such as table access and messages.

    The first file determines the cloud export format. Raises InputError if the preset is unknown.
    """
    preset = settings.extra.get("preset") or detect_preset(heads(names, HEAD)[0][1])
    if preset:
        return open_export(preset, names, settings.timezone_ns)
    reader = open_json(names, VALUES, f"{FOREIGN} OR {NAME} IS NOT NULL")
    variables = (settings.server or {}).get("variables") or {}
    reader.more = {"strategies": {name: str(variables[name]) for name in STRATEGIES if name in variables}}
    return reader


def may_lack_rows(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about rows that the server may have dropped, if the server was queried."""
    dropping = [name for name, value in description.get("strategies", {}).items() if value == "PERFORMANCE"]
    text = (
        "the tape may lack statements. With {0} = PERFORMANCE, the server drops audit rows when its buffer is full. Set"
        " {0} = SYNCHRONOUS, and capture again"
    )
    return [{"kind": "buffered", "text": text.format(name)} for name in dropping]


def sniff(head: bytes) -> int:
    """Return the offset of the first mark of an audit log or cloud export. Return -1 if there is no mark."""
    found = sniff_objects(OBJECT, head)
    return found if found >= 0 else sniff_exports(head)


KIND = SourceKind(
    name="audit-json",
    title="an audit log in JSON",
    help="""Record JSON audit logs of audit_log (Percona) and audit_log_filter (Percona, MySQL Enterprise).

    The log contains each statement with its user, host and error number. Times have a resolution of one second. The
    layout of the JSON objects does not matter. --preset reads exports of Google Cloud SQL and Azure Database for
    MySQL.""",
    examples="""\
Examples:
  querytape capture audit-json /var/lib/mysql/audit.log -o shop.tape
  gcloud logging read 'log_id("cloudsql.googleapis.com/mysql-slow.log")' \\
      --format=json >slow.json
  querytape capture audit-json slow.json -o shop.tape
""",
    expected="objects that contain audit_record, or timestamp, class and event",
    open=open_source,
    sniff=sniff,
    warnings=may_lack_rows,
    local_times=False,
    options=(
        Option("preset", f"Format of a cloud export: {', '.join(PRESETS)}. Default: detected from the first line."),
    ),
)
