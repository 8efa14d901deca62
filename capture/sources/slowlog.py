# SPDX-License-Identifier: Apache-2.0
"""Source: slow query logs of MySQL and MariaDB, plain or compressed."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...native.bindings.parsers import open_slowlog, slowlog_first_time
from ...native.bindings.reader import Reader
from ..source import Settings, SourceKind, sniff_pattern

HEADER_LINE = rb"^# (User@Host|User|Query_time|Thread_id): "


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of slow logs, in the order given."""
    return open_slowlog(names, settings.timezone_ns, follow=settings.follow)


def sampling(description: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warning of a log that says itself that it left out events."""
    limit = description.get("rate_limit", 0)
    if limit <= 1:
        return []
    if description.get("rate_by_query"):
        text = f"the server logged one query of {limit} (Log_slow_rate_type: query): sessions have holes"
        return [{"kind": "query_sampled", "text": text}]
    text = f"the server logged one session of {limit} (Log_slow_rate_type: session): the load is a part of the real one"
    return [{"kind": "session_sampled", "text": text}]


def restarts(description: Mapping[str, Any]) -> list[str]:
    """Return a note on starts of the server in the log."""
    count = description.get("restarts", 0)
    if not count:
        return []
    return [f"the server was restarted {'once' if count == 1 else f'{count:,} times'}: its sessions end there"]


KIND = SourceKind(
    name="slowlog",
    title="a slow log",
    help="""Record slow query logs (MySQL 5.7 to 9.x, MariaDB 10.x and 11.x).

    Plain files, .gz and .zst, or - for standard input. Several logs of one server (rotated ones) make one tape, in the
    order of their first events. What is not understood is counted and located, never dropped silently.""",
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
    warnings=sampling,
    notes=restarts,
    first_time=slowlog_first_time,
    follows=True,
)
