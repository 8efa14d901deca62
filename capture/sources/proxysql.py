# SPDX-License-Identifier: Apache-2.0
"""Source: the ProxySQL events log in JSON (mysql-eventslog_format=2) or binary format (1)."""

import re
from collections.abc import Sequence
from typing import Any

from ...common.errors import InputError
from ...native.bindings.inputs import heads
from ...native.bindings.parsers import Follow, open_proxysql
from ...native.bindings.reader import Reader
from ...servers.source import describe_proxysql
from ...servers.target import Target
from ..source import Option, Settings, SourceKind
from .duck_rows import START, number, open_json, sniff_objects, text
from .proxysql_sampling import log_settings, looks_sampled, sampling

# The statement in the first line may be longer than the bytes that are inspected.
OBJECT = rb'\{(?=[^\n]*"hostgroup_id")(?=[^\n]*"starttime_timestamp_us"|[^\n]*"query"[^\n]*\Z)'
# The length of the first record (below 8 GiB), then the type of the record: query, execution, prepare or metadata.
BINARY = re.compile(rb"[\s\S]{4}[\0\1]\0{3}[\0\x10-\x12]")
# MySQL protocol types by their names in ProxySQL JSON.
TYPES = {
    **{"DECIMAL": 0, "TINY": 1, "SHORT": 2, "LONG": 3, "FLOAT": 4, "DOUBLE": 5, "NULL": 6, "TIMESTAMP": 7},
    **{"LONGLONG": 8, "INT24": 9, "DATE": 10, "TIME": 11, "DATETIME": 12, "YEAR": 13, "VARCHAR": 15, "BIT": 16},
    **{"JSON": 245, "NEWDECIMAL": 246, "ENUM": 247, "SET": 248, "TINY_BLOB": 249, "MEDIUM_BLOB": 250},
    **{"LONG_BLOB": 251, "BLOB": 252, "VAR_STRING": 253, "STRING": 254, "GEOMETRY": 255},
}
UNKNOWN = "ffff"  # unknown type: the execution is not replayed


def lenenc(size: str) -> str:
    """Return SQL that encodes a size as the hex digits of a length-encoded integer."""
    byte = f"printf('%02x', ({size} >> (8 * i)) & 255)"
    return (
        f"CASE WHEN {size} < 251 THEN printf('%02x', {size})"
        f" ELSE 'fe' || array_to_string(list_transform(range(8), lambda i: {byte}), '') END"
    )


def bound() -> str:
    """Return SQL that encodes the parameters of an execution in the binary format.

    The SQL returns NULL without parameters. ProxySQL replaces bytes that are not valid UTF-8. The original bytes are
    then unknown, so the parameter gets the unknown type.
    """
    types = ", ".join(f"'{name}': '{code:02x}00'" for name, code in TYPES.items())
    value = "encode(coalesce(p.value, ''))"
    kind = f"CASE WHEN contains(p.value, chr(65533)) THEN '{UNKNOWN}' ELSE map {{{types}}}[p.type] END"
    each = f"coalesce({kind}, '{UNKNOWN}') || ({lenenc(f'octet_length({value})')}) || hex({value})"
    given = f'from_json({text("parameters")}, \'[{{"type":"VARCHAR","value":"VARCHAR"}}]\')'
    bits = f"repeat('00', (len({given}) + 7) // 8)"
    listed = f"array_to_string(list_transform({given}, lambda p: {each}), '')"
    return (
        f"CASE WHEN {text('parameters')} IS NOT NULL THEN unhex(({lenenc(f'len({given})')}) || {bits} || {listed}) END"
    )


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
    "bound": bound(),
    "errno": number("errno"),
    "rows_sent": number("rows_sent"),
    "rows_affected": number("rows_affected"),
    "place": "place",
    "error": text("error"),
}


def sniff(first: bytes) -> int:
    """Return the offset of the log in the first bytes of a file, or -1."""
    place = sniff_objects(OBJECT, first)
    return 0 if place < 0 and BINARY.match(first) else place


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of events logs. Raises InputError for a mix of both formats or an invalid --sampled."""
    known = log_settings(settings)
    reader = open_log(names, settings.follow)
    reader.more = known
    return reader


def open_log(names: Sequence[str], follow: Follow | None = None) -> Reader:
    """Return a reader of events logs that all have the same format. Only binary logs can be followed."""
    looked_at = heads(names, 16)
    binary = [name for name, first in looked_at if BINARY.match(first)]
    if follow and any(first and name not in binary for name, first in looked_at):
        raise InputError(
            "--follow cannot read a JSON events log, because querytape must sort the whole file. Use ProxySQL's binary"
            " format (mysql-eventslog_format = 1)"
        )
    if not binary and not follow:
        return open_json(names, VALUES)
    if len(binary) < len(looked_at) and not follow:
        raise InputError("JSON and binary events logs cannot be mixed on one tape")
    return open_proxysql(names, follow=follow)


def ask(target: Target) -> dict[str, Any] | None:
    """Return the log settings from the ProxySQL admin port, or None for any other server."""
    return describe_proxysql(target)


KIND = SourceKind(
    name="proxysql",
    title="a ProxySQL events log",
    help="""Record ProxySQL's events log in binary or JSON format (mysql-eventslog_format=1 or 2).

    The log contains the statements of clients, with start and duration in microseconds as measured by the proxy. A
    session is one client connection. --source may be the URL of ProxySQL's admin port, which shows whether events were
    omitted.""",
    examples="""\
Examples:
  querytape capture proxysql queries.log.00000001 -o shop.tape
  querytape capture proxysql queries.log.* -o shop.tape \\
      --source mysql://admin@127.0.0.1:6032/ --ask-password
""",
    expected="lines of JSON with starttime_timestamp_us and query, or binary records",
    open=open_source,
    sniff=sniff,
    measuring_point="proxy",
    local_times=False,
    follows=True,
    warnings=sampling,
    look_for_holes=looks_sampled,
    ask=ask,
    options=(
        Option(
            "sampled",
            "Sampling rate: ProxySQL logged one of every N events (mysql-eventslog_rate_limit).",
            "int",
            metavar="N",
        ),
    ),
)
