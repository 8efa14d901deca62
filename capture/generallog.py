# SPDX-License-Identifier: Apache-2.0
"""Source: general query logs of MySQL and MariaDB, plain or compressed."""

import re
from collections.abc import Sequence

from ..native.logs import open_general
from ..native.reader import Reader
from .kinds import Settings, SourceKind, seen_at

ROW = re.compile(
    rb"^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d)[\t ]|\d{6} [ \d]\d:\d\d:\d\d\t?|\t\t)"
    rb" *\d+ [A-Z][a-z]+",
    re.MULTILINE,
)


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of general logs, in the order given."""
    return open_general(names, settings.timezone_ns)


KIND = SourceKind(
    name="general",
    title="a general query log",
    help="""Record general query logs (MySQL 5.x to 9.x, MariaDB).

    Each command's arrival, its connection and its text; no durations, rows or errors: such a tape replays, and two of
    its runs can be compared, but not a run with the original.""",
    examples="""\
Examples:
  querytape capture general /var/lib/mysql/db1.log -o shop.tape
  querytape capture general general.log.*.gz -o day.tape --log-timezone +02:00
""",
    expected="rows with a time, a thread id and a command such as Query or Connect",
    open=open_source,
    knows=seen_at(ROW),
)
