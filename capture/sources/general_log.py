# SPDX-License-Identifier: Apache-2.0
"""Source: general query logs of MySQL and MariaDB, plain or compressed."""

from collections.abc import Sequence

from ...native.bindings.parsers import open_general
from ...native.bindings.reader import Reader
from ..source import Settings, SourceKind, restarts, sniff_pattern

ROW = (
    rb"^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d)[\t ]|\d{6} [ \d]\d:\d\d:\d\d\t?|\t\t)"
    rb" *\d+ [A-Z][a-z]+"
)


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of general logs in the given order."""
    return open_general(names, settings.timezone_ns, follow=settings.follow)


KIND = SourceKind(
    name="general",
    title="a general query log",
    help="""Record general query logs (MySQL 5.7 to 9.x, MariaDB).

    The log contains the arrival time, connection and text of each command, but no durations, row counts or errors. Two
    replays of such a tape can be compared. A replay cannot be compared with the original traffic.""",
    examples="""\
Examples:
  querytape capture general /var/lib/mysql/db1.log -o shop.tape
  querytape capture general general.log.*.gz -o day.tape --log-timezone +02:00
""",
    expected="rows with a time, a thread id and a command such as Query or Connect",
    open=open_source,
    sniff=sniff_pattern(ROW),
    notes=restarts,
    follows=True,
)
