# SPDX-License-Identifier: Apache-2.0
"""Source: slow query logs of MySQL and MariaDB, plain or compressed."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...native.bindings.parsers import open_slowlog, slowlog_first_time
from ...native.bindings.reader import Reader
from ..source import Settings, SourceKind, restarts, sniff_pattern

MAX_LENGTH = "log_slow_max_query_length"  # MariaDB 13.1 omits longer statements
HEADER_LINE = rb"^# (User@Host|User|Query_time|Thread_id): "


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of slow logs in the given order.

    If the server was queried, the reader knows the size limit of logged statements.
    """
    reader = open_slowlog(names, settings.timezone_ns, follow=settings.follow)
    variables = (settings.server or {}).get("variables") or {}
    if variables and MAX_LENGTH not in settings.extra.get("changed", ()):
        reader.more = {"longest_statement": longest_statement(variables)}
    return reader


def longest_statement(variables: Mapping[str, str]) -> int | None:
    """Return the size limit of logged statements in bytes, or None if the server logs statements of any size."""
    limit, packet = (str(variables.get(name, "")) for name in (MAX_LENGTH, "max_allowed_packet"))
    if not limit.isdigit() or int(limit) >= (int(packet) if packet.isdigit() else 1 << 30):
        return None
    return int(limit)


def left_out(description: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return warnings about a log that is known to lack events."""
    found = sampling(description)
    if (length := description.get("longest_statement")) is not None:
        text = (
            f"the slow log lacks statements of more than {length:,} bytes ({MAX_LENGTH}), so sessions may be"
            " incomplete."
            f" Run SET GLOBAL {MAX_LENGTH} = DEFAULT, and capture again"
        )
        found.append({"kind": "long_left_out", "text": text})
    return found


def sampling(description: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a warning if the log itself shows that the server sampled its events."""
    limit = description.get("rate_limit", 0)
    if limit <= 1:
        return []
    if description.get("rate_by_query"):
        text = f"the server logged only 1 of {limit} queries (Log_slow_rate_type: query). Sessions lack events"
        return [{"kind": "query_sampled", "text": text}]
    text = (
        f"the server logged only 1 of {limit} sessions (Log_slow_rate_type: session). The tape contains only a part of"
        " the load"
    )
    return [{"kind": "session_sampled", "text": text}]


def notes(description: Mapping[str, Any]) -> list[str]:
    """Return notes about server restarts in the log, and about long statements that may be missing."""
    found = restarts(description)
    version = re.match(r"(\d+)\.(\d+)\..*MariaDB", description.get("server_version") or "")
    if version and (int(version[1]), int(version[2])) >= (13, 1) and "longest_statement" not in description:
        found.append(f"the slow log may lack long statements. Add --source to read the server's {MAX_LENGTH}")
    return found


KIND = SourceKind(
    name="slowlog",
    title="a slow log",
    help="""Record slow query logs (MySQL 5.7 to 9.x, MariaDB 10.x and 11.x).

    Reads plain files, .gz and .zst files, or standard input (-). Several rotated logs of one server become one tape,
    in the order of their first events. Lines that cannot be parsed are counted and listed.""",
    examples="""\
Examples:
  querytape capture slowlog /var/log/mysql/slow.log -o shop.tape
  querytape capture slowlog slow.log.*.gz slow.log -o week.tape
  zcat slow.log.gz | querytape capture slowlog - -o shop.tape
  querytape capture slowlog slow.log -o shop.tape --source mysql://ro@prod/
  querytape capture slowlog slow.log --follow --keep 6h -o live.tape

\b
To log everything for a while on the server (new connections only):
  SET GLOBAL long_query_time = 0; SET GLOBAL slow_query_log = ON;
""",
    expected="lines such as '# User@Host: ...' and '# Query_time: ...'",
    open=open_source,
    sniff=sniff_pattern(HEADER_LINE),
    warnings=left_out,
    notes=notes,
    first_time=slowlog_first_time,
    follows=True,
)
