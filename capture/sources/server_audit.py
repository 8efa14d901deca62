# SPDX-License-Identifier: Apache-2.0
"""Source: audit logs of MariaDB's server_audit plugin. RDS and Aurora MySQL also write this format."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...common.errors import InputError
from ...common.temporary import temporary_folder
from ...common.units import plural
from ...native.bindings.inputs import heads, plain_file
from ...native.bindings.parsers import open_server_audit
from ...native.bindings.reader import Reader
from ..source import Option, Settings, SourceKind, TapeWarning, sniff_pattern
from ..wrapped import AUDIT_ROW, AUDIT_TIME

ROW = rb"^" + AUDIT_TIME + rb"," + AUDIT_ROW
AURORA = re.compile(rb"\d{16},")  # time in Aurora logs: microseconds since the epoch


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of audit logs. If the server was queried, the reader also gets the server's audit buffer size.

    Raises InputError if Aurora logs are mixed with other logs, or if sorting fails.
    """
    reader = open_rows(names, settings)
    size = str(((settings.server or {}).get("variables") or {}).get("server_audit_file_buffer_size", "0"))
    reader.more = {"buffer_bytes": int(size)} if size.isdigit() else {}
    return reader


def open_rows(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of audit logs. Aurora logs are sorted by time first, because their rows are unordered.

    Raises InputError if Aurora logs are mixed with other logs, or if sorting fails.
    """
    limit = int(settings.extra.get("query_limit") or 1024)
    looked_at = heads(names, 64)
    aurora = [name for name, first in looked_at if AURORA.match(first)]
    if not aurora:
        return open_server_audit(names, settings.timezone_ns, limit, follow=settings.follow)
    if settings.follow:
        raise InputError(
            "--follow cannot read Aurora audit logs, because their rows are unordered and querytape must sort whole"
            " files"
        )
    if len(aurora) < len(looked_at):
        raise InputError("Aurora audit logs and other audit logs cannot be mixed on one tape")
    with temporary_folder() as folder:
        plain = [plain_file(name, Path(folder)) for name in names]
        ordered = Path(folder) / "ordered"
        # A row is one line that starts with its time. GNU sort uses temporary files for large inputs.
        command = ["sort", "--stable", "--field-separator=,", "--key=1,1n", f"--output={ordered}", "--", *plain]
        done = subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)
        if done.returncode:
            raise InputError(f"the rows cannot be sorted by time: {done.stderr.strip()}")
        return open_server_audit([ordered], settings.timezone_ns, limit)


def left_out(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about truncated statements, and about rows that may still be in the server's buffer."""
    found = []
    if n := description.get("cut_statements", 0):
        text = (
            f"server_audit_query_log_limit truncated {plural(n, 'statement')}. Truncated statements are marked and"
            " never"
            " replayed"
        )
        found.append({"kind": "cut", "text": text})
    if size := description.get("buffer_bytes", 0):
        text = (
            f"the server buffers up to {size:,} bytes of its audit log (server_audit_file_buffer_size), so the last"
            " rows may be missing. Run SET GLOBAL server_audit_sync_log_file = 1, then capture again"
        )
        found.append({"kind": "buffered", "text": text})
    return found


KIND = SourceKind(
    name="audit",
    title="an audit log",
    help="""Record audit logs of the server_audit plugin (MariaDB, RDS, Aurora MySQL).

    The log contains each statement with its user, host and error number, but no durations. Times have a resolution of
    one second (Aurora: microseconds). The server truncates long statements. Truncated statements are marked on the
    tape and never replayed.""",
    examples="""\
Examples:
  querytape capture audit server_audit.log.1 server_audit.log -o shop.tape
  querytape capture audit audit.log.*.2026-11-20* -o aurora.tape
""",
    expected="rows such as 20261120 15:08:38,host,user,host,29,344,QUERY,db,'SELECT 1',0",
    open=open_source,
    sniff=sniff_pattern(ROW),
    warnings=left_out,
    follows=True,
    options=(Option("query-limit", "The server's server_audit_query_log_limit.", "int", default=1024),),
)
