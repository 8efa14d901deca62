# SPDX-License-Identifier: Apache-2.0
"""Source: audit logs of MariaDB's server_audit plugin, which RDS and Aurora MySQL write as well."""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..native.inputs import head
from ..native.logs import open_server_audit
from ..native.reader import Reader
from .kinds import Option, Settings, SourceKind, seen_at

OPERATIONS = rb"(?:QUERY|CONNECT|DISCONNECT|FAILED_CONNECT|CHANGEUSER|READ|WRITE|CREATE|ALTER|RENAME|DROP)"
ROW = re.compile(
    rb"^(?:\d{8} \d\d:\d\d:\d\d|\d{16}),[^,\n]*,[^,\n]*,[^,\n]*,\d+,\d+," + OPERATIONS + rb",", re.MULTILINE
)
AURORA = re.compile(rb"\A\d{16},")


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of audit logs. Aurora's, whose rows are in no order, are put in order first."""
    limit = int(settings.extra.get("query_limit") or 1024)
    aurora = [name for name in names if name != "-" and AURORA.match(head(name, 64))]
    if not aurora:
        return open_server_audit(names, settings.timezone_ns, limit)
    if len(aurora) < len(names):
        raise InputError("audit logs of Aurora and others can't be mixed on one tape")
    with tempfile.NamedTemporaryFile(prefix="querytape-") as ordered:
        # a row is one line and begins with its time: coreutils' sort needs no more memory than there is
        command = ["sort", "--stable", "--field-separator=,", "--key=1,1n", f"--output={ordered.name}", "--", *names]
        done = subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)
        if done.returncode:
            raise InputError(f"the rows can't be put in order: {done.stderr.strip()}")
        return open_server_audit([Path(ordered.name)], settings.timezone_ns, limit)


def cut(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what must be said of statements that the log cut."""
    n = found.get("cut_statements", 0)
    if not n:
        return []
    text = f"{n:,} statements were cut by server_audit_query_log_limit: they are marked and never replayed"
    return [{"kind": "cut", "text": text}]


KIND = SourceKind(
    name="audit",
    title="an audit log",
    help="""Record audit logs of MariaDB's server_audit plugin (RDS and Aurora MySQL, too).

    Who said what and whether it failed, to the second (Aurora: microseconds); no durations. Long statements are cut by
    the server: they are marked, and never replayed.""",
    examples="""\
Examples:
  querytape capture audit server_audit.log.1 server_audit.log -o shop.tape
  querytape capture audit audit.log.*.2026-11-20* -o aurora.tape
""",
    expected="rows such as 20261120 15:08:38,host,user,host,29,344,QUERY,db,'SELECT 1',0",
    open=open_source,
    knows=seen_at(ROW),
    warnings=cut,
    options=(Option("query-limit", "The server's server_audit_query_log_limit.", "int", default=1024),),
)
