# SPDX-License-Identifier: Apache-2.0
"""Logs that another program has wrapped are refused with the command that unwraps them, and the command does so."""

import re
import subprocess
from pathlib import Path

import pytest
from querytape.capture import SOURCES
from querytape.capture.library import capture
from querytape.capture.wrapped import unwrapping
from querytape.common.errors import InputError

SLOW = """\
# Time: 2026-03-04T09:15:01.000000Z
# User@Host: app[app] @  [10.1.2.3]  Id:    41
# Query_time: 0.500000  Lock_time: 0.000004 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1772615700;
SELECT id, total
FROM carts WHERE id=1;
# Time: 2026-03-04T09:15:02.000000Z
# User@Host: app[app] @  [10.1.2.3]  Id:    42
# Query_time: 0.250000  Lock_time: 0.000004 Rows_sent: 0  Rows_examined: 0
SET timestamp=1772615701;
UPDATE carts SET total=9 WHERE id=2;
"""
GENERAL = """\
2026-03-04T09:15:01.000000Z\t   41 Connect\tapp@web1 on shop using TCP/IP
2026-03-04T09:15:02.000000Z\t   41 Query\tSELECT 1
2026-03-04T09:15:03.000000Z\t   41 Quit\t
"""
SLOWLOG = SOURCES["slowlog"]
PREFIXES = {
    "CloudWatch": "2026-03-04T09:15:0{n}.000Z ",
    "docker compose": "shop-db-1  | ",
    "docker --timestamps": "2026-03-04T09:15:0{n}.123456789Z ",
    "kubectl --prefix": "[pod/mysql-0/mysql] ",
    "aws logs tail": "2026-03-04T09:15:0{n}.000000+00:00 db/shop-1 ",
    "syslog": "Mar  4 09:15:0{n} db1 mysqld[1234]: ",
    "odd": "a.b*c+d(e)[f]{{g}}|h\\i/j^k$lm?: ",
}


@pytest.mark.parametrize("log", [SLOW, GENERAL], ids=["slow", "general"])
@pytest.mark.parametrize("each", ["line", "record"])
@pytest.mark.parametrize("kind", PREFIXES)
def test_a_prefix(kind: str, each: str, log: str, tmp_path: Path) -> None:
    """In front of each line or of each record: refused by each command, and the command that is named removes it."""
    begins = "# Time" if log is SLOW else "2026"
    lines = [
        (PREFIXES[kind].format(n=n % 10) if each == "line" or line.startswith(begins) else "") + line
        for n, line in enumerate(log.splitlines(keepends=True))
    ]
    wrapped = tmp_path / "it's wrapped.log"
    wrapped.write_text("".join(lines))
    for source in (None, "slowlog" if log is SLOW else "general"):
        with pytest.raises(InputError, match=r"not the server's: sed -E .* > plain\.log") as refused:
            capture([wrapped], tmp_path / "t.tape", source)
    command = re.search(r"sed -E .* > plain\.log", str(refused.value))
    assert command is not None
    subprocess.run(command[0], shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "plain.log").read_text() == log


@pytest.mark.parametrize("log", [SLOW, GENERAL, "", "SELECT '# Time: 1';\n" + SLOW, "x\n" * 50 + SLOW])
def test_logs_that_nothing_wraps(log: str) -> None:
    """Also where they begin in the middle of a statement."""
    assert unwrapping("s.log", log.encode(), SLOWLOG.sniff(log.encode())) is None


@pytest.mark.parametrize("log", [SLOW, GENERAL], ids=["slow", "general"])
def test_a_byte_order_mark(log: str, tmp_path: Path) -> None:
    """It is no part of the first line."""
    tapes = []
    for name, mark in (("plain", b""), ("marked", b"\xef\xbb\xbf")):
        (tmp_path / f"{name}.log").write_bytes(mark + log.encode())
        tapes.append(capture([tmp_path / f"{name}.log"], tmp_path / f"{name}.tape"))
    assert tapes[0].info["counts"] == tapes[1].info["counts"]
    assert tapes[1].info["problems"] == {}


OTHERS = [
    (SLOW.encode("utf-16"), "iconv -f UTF-16"),
    (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<AUDIT>\n<AUDIT_RECORD',
        "XML are not read: set audit_log_format = JSON",
    ),
    (b'{\n    "events": [\n {"message": "# Time: 1"}]}', "jq -r '.events"),
    (b'[\n {"protoPayload": {"@type": "type.googleapis.com/google.cloud.audit.AuditLog"}}]', "jq -c '.\\[\\]'"),
]


@pytest.mark.parametrize(("head", "message"), OTHERS)
def test_other_wrappings(head: bytes, message: str, tmp_path: Path) -> None:
    """Each has its command or its setting."""
    (tmp_path / "s.log").write_bytes(head)
    with pytest.raises(InputError, match=message):
        capture([tmp_path / "s.log"], tmp_path / "t.tape")
