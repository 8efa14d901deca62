# SPDX-License-Identifier: Apache-2.0
"""Logs with prefixes or wrappers of other programs are refused. The message has a command that removes the wrappers,
and the tests run this command.
"""

import json
import os
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from querytape.capture import SOURCES
from querytape.capture.library import capture
from querytape.capture.wrapped import unwrapping
from querytape.common.errors import InputError
from querytape.schemas import open_folder

from tests.helpers.duck import query

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
AUDIT = """\
20260304 09:15:01,db1,app,10.1.2.3,7,0,CONNECT,shop,,0
20260304 09:15:02,db1,app,10.1.2.3,7,11,QUERY,shop,'SELECT 1, 2',0
20260304 09:15:13,db1,app,10.1.2.3,7,0,DISCONNECT,shop,,0
"""
LOGS = {"slow": SLOW, "general": GENERAL, "audit": AUDIT}
PREFIXED = "(?<=Remove the prefix with: )sed -E"
SLOWLOG = SOURCES["slowlog"]
PREFIXES = {
    "CloudWatch": "2026-03-04T09:15:0{n}.000Z ",
    "docker compose": "shop-db-1  | ",
    "docker --timestamps": "2026-03-04T09:15:0{n}.123456789Z ",
    "kubectl --prefix": "[pod/mysql-0/mysql] ",
    "aws logs tail": "2026-03-04T09:15:0{n}.000000+00:00 db/shop-1 ",
    "syslog": "Mar  4 09:15:0{n} db1 mysqld[1234]: ",
    "docker compose in colour": "\x1b[36mshop-db-1  | \x1b[0m",
    "cat -n": "    3\t",
    "odd": "a.b*c+d(e)[f]{{g}}|h\\i/j^k$lm?: ",
}


def unwrapped(path: Path, begins: str, *sources: str | None) -> str:
    """Check that a log is refused and a command is suggested. Run the command and return its output."""
    for source in sources or (None,):
        with pytest.raises(InputError, match=rf"{begins} .* > plain\.log") as refused:
            capture([path], path.parent / "t.tape", source)
    named = re.search(rf"{begins} .* > plain\.log", str(refused.value))
    assert named is not None
    subprocess.run(named[0], shell=True, check=True, cwd=path.parent)
    return (path.parent / "plain.log").read_text()


@pytest.mark.parametrize("log", ["slow", "general", "audit"])
@pytest.mark.parametrize("each", ["line", "record"])
@pytest.mark.parametrize("kind", PREFIXES)
def test_prefixed_log_is_refused_with_a_working_command(kind: str, each: str, log: str, tmp_path: Path) -> None:
    """Each line or each record of the log has a prefix. All capture commands refuse the log, and the suggested command
    removes the prefix.
    """
    command = {"slow": "slowlog"}.get(log, log)
    begins = "# Time" if log == "slow" else "2026"
    log = LOGS[log]
    lines = [
        (PREFIXES[kind].format(n=n % 10) if each == "line" or line.startswith(begins) else "") + line
        for n, line in enumerate(log.splitlines(keepends=True))
    ]
    wrapped = tmp_path / "it's wrapped.log"
    wrapped.write_text("".join(lines))
    assert unwrapped(wrapped, PREFIXED, None, command) == log


def stored_log_lines(chance: random.Random) -> str:
    """Return log lines that a user stored in a literal. They are plain, wrapped or in JSON."""
    lines = []
    for _ in range(chance.randrange(1, 6)):
        log = chance.choice([*LOGS.values()]).splitlines()
        at = chance.randrange(len(log))
        way = chance.choice(["web-1 | {}", "<7>[{}] ", "{}", "x; {}", "\t{}", json.dumps({"log": "{}"})])
        lines += [way.replace("{}", line.replace("'", "''")) for line in log[at : at + chance.randrange(1, 4)]]
    return "\n".join(lines)


def records_with_literals(log: str, chance: random.Random) -> list[str]:
    """Return the records of a log. The first statements of the log have log lines in literals."""
    head = "".join(SLOW.splitlines(keepends=True)[:3]) + "SET timestamp=1772615700;\n"
    row = "2026-03-04T09:15:00.000000Z\t   41 Query\t"
    begin, end, rest = (head, ";\n", SLOW) if log == "slow" else (row, "\n", GENERAL)
    own = [
        f"{begin}INSERT INTO notes VALUES ('{chance.choice(['', chr(10), 'it' + chr(39) * 2])}{stored_log_lines(chance)}'){end}"
        for _ in range(chance.randrange(1, 4))
    ]
    return own + re.split(r"(?<=\n)(?=# Time|2026)", rest)


@pytest.mark.sampled
@pytest.mark.parametrize("log", ["slow", "general"])
@pytest.mark.parametrize("each", ["line", "record"])
@pytest.mark.parametrize("kind", [*PREFIXES, "none"])
def test_logs_in_literals_do_not_hide_the_prefix(kind: str, each: str, log: str, tmp_path: Path) -> None:
    """The suggested command removes the prefix of records outside literals. A log without a prefix is captured, even if
    its literals contain prefixed lines.
    """
    source, path = {"slow": "slowlog"}.get(log, log), tmp_path / "it's.log"
    for seed in range(25):
        records = records_with_literals(log, random.Random(f"{seed}{kind}{each}"))
        prefix = PREFIXES.get(kind, "").format(n=1)
        lines = [line for record in records for line in (record.splitlines(True) if each == "line" else [record])]
        text = "".join(prefix + line for line in lines)
        path.write_text(text)
        if kind == "none":
            assert unwrapping("s.log", text.encode(), SOURCES[source].sniff(text.encode())) is None, seed
            continue
        assert unwrapped(path, PREFIXED, source) == "".join(records), seed


@pytest.mark.parametrize("log", ["slow", "general", "audit"])
@pytest.mark.parametrize("room", [60, 16384])
def test_lines_split_by_kubernetes_are_joined(room: int, log: str, tmp_path: Path) -> None:
    """Kubernetes splits a long line into several lines and marks the last of them. The suggested command joins the
    pieces.
    """
    lines = []
    for n, line in enumerate(LOGS[log].splitlines()):
        pieces = [line[at : at + room] for at in range(0, len(line), room)]
        for piece in pieces[:-1]:
            lines.append(f"2026-03-04T09:15:0{n % 10}.123456789Z stdout P {piece}\n")
        lines.append(f"2026-03-04T09:15:0{n % 10}.123456789Z stdout F {pieces[-1]}\n")
    wrapped = tmp_path / "it's.log"
    wrapped.write_text("".join(lines))
    assert unwrapped(wrapped, "awk") == LOGS[log]


@pytest.mark.parametrize("log", [SLOW, GENERAL, "", "SELECT '# Time: 1';\n" + SLOW, "x\n" * 50 + SLOW])
def test_unwrapped_logs_are_accepted(log: str) -> None:
    """Some of the logs begin in the middle of a statement."""
    assert unwrapping("s.log", log.encode(), SLOWLOG.sniff(log.encode())) is None


@pytest.mark.parametrize("log", [SLOW, GENERAL], ids=["slow", "general"])
def test_byte_order_mark_is_ignored(log: str, tmp_path: Path) -> None:
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
        "XML audit logs are not supported. Set audit_log_format = JSON",
    ),
    (b'{\n    "events": [\n {"message": "# Time: 1"}]}', "jq -r '.events"),
    (b'{ "records": [\n {"category": "MySqlSlowLogs"}]}', "jq -c '.records\\[\\]'"),
]


@pytest.mark.parametrize(("head", "message"), OTHERS)
def test_refusal_of_other_wrappers_suggests_a_command_or_setting(head: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.log").write_bytes(head)
    with pytest.raises(InputError, match=message):
        capture([tmp_path / "s.log"], tmp_path / "t.tape")


JSONS: dict[str, tuple[Callable[[str, int], object], str]] = {
    "docker": (lambda line, n: {"log": line, "stream": "stderr", "time": f"2026-03-04T09:15:0{n}.1Z"}, "\n"),
    "logcli": (lambda line, n: {"labels": {"app": "db"}, "line": line.rstrip("\n"), "timestamp": "2026"}, "\n"),
    "fluentd": (lambda line, n: {"time": n, "kubernetes": {"pod-name": "x"}, "MESSAGE": line.rstrip("\n")}, "\n"),
    "a key inside": (lambda line, n: {"n": n, "json Payload": {"m-1": {"text": line.rstrip("\n")}}}, "\n"),
    "an array": (lambda line, n: {"insertId": str(n), "textPayload": line.rstrip("\n")}, ",\n  "),
}


@pytest.mark.parametrize("log", ["slow", "general", "audit"])
@pytest.mark.parametrize("kind", JSONS)
def test_log_lines_in_json_are_unwrapped(kind: str, log: str, tmp_path: Path) -> None:
    """Each log line is wrapped in a JSON object. The suggested command prints the original log."""
    each, between = JSONS[kind]
    rows = between.join(json.dumps(each(line, n % 10)) for n, line in enumerate(LOGS[log].splitlines(keepends=True)))
    (tmp_path / "it's.json").write_text(f"[{rows}]" if kind == "an array" else rows)
    assert unwrapped(tmp_path / "it's.json", "jq -.*") == LOGS[log]


# Programs that write a syslog prefix before each audit row. The time in the audit row is in the order year, month, day,
# hour, minute, second.
SYSLOGS = {
    "syslog": "{month} {day:>2} {clock} db1 mysql-server_auditing: {info} {row}",
    "a process id": "{month} {day:>2} {clock} db1 mysql-server_auditing[77]: {info} {row}",
    "no host": "{month} {day:>2} {clock} mysql-server_auditing: {info} {row}",
    "a priority": "<14>{month} {day:>2} {clock} db1 mysql-server_auditing: {info} {row}",
    "rsyslog": "2026-{number}-{day:02}T{clock}.250000+00:00 db1 mysql-server_auditing: {info} {row}",
    "another zone": "2026-{number}-{day:02}T{clock}+00:00 db1 mysql-server_auditing: {info} {row}",
    "RFC 5424": "<14>1 2026-{number}-{day:02}T{clock}.250Z db1 mysql-server_auditing 77 - - {info} {row}",
    "short-iso": "2026-{number}-{day:02}T{clock}+0000 db1 mysql-server_auditing[77]: {info} {row}",
    "short-precise": "{month} {day:02} {clock}.250000 db1 mysql-server_auditing[77]: {info} {row}",
    "short-full": "Wed 2026-{number}-{day:02} {clock} UTC db1 mysql-server_auditing[77]: {info} {row}",
}


@pytest.mark.sampled
@pytest.mark.parametrize("info", ["", "shop production"])
@pytest.mark.parametrize("kind", SYSLOGS)
def test_audit_rows_in_syslog_are_unwrapped(kind: str, info: str, tmp_path: Path) -> None:
    """`capture audit` refuses the log as well. The suggested command prints audit rows with the times from syslog."""
    lines = ["Mar  4 09:15:00 db1 systemd[1]: Started a, b, and c."]
    for row in AUDIT.splitlines():
        time, _, rest = row.partition(",")
        day, clock = int(time[6:8]), time[9:]
        number = time[4:6]
        lines.append(SYSLOGS[kind].format(month="Mar", number=number, day=day, clock=clock, info=info, row=rest))
    wrapped = tmp_path / "it's wrapped.log"
    wrapped.write_text("\n".join(lines) + "\n")
    os.utime(wrapped, (1772615700, 1772615700))
    unwrapped(wrapped, "sed -nE", None, "audit")
    capture([tmp_path / "plain.log"], tmp_path / "plain.tape")
    (tmp_path / "own.log").write_text(AUDIT)
    capture([tmp_path / "own.log"], tmp_path / "own.tape")
    tape, own = (open_folder("tape", tmp_path / f"{name}.tape") for name in ("plain", "own"))
    columns = 'command, statement, "user", host, db, thread_id, errno, start_ns // 1000000000'
    assert query(f"SELECT {columns} FROM {tape.source('events')} ORDER BY start_ns") == query(
        f"SELECT {columns} FROM {own.source('events')} ORDER BY start_ns"
    )
    assert tape.info["problems"] == {}


ROWS = "".join(row.partition(",")[2] + "\n" for row in AUDIT.splitlines())
NO_TIMES = [
    (ROWS, "have no times"),
    ("".join(f" {row}\n" for row in ROWS.splitlines()), "have no times"),
    ("".join(f"04.03.2026 09:15:01,{row}\n" for row in ROWS.splitlines()), "server_audit_timestamp_format"),
    ("".join(f"03:15:01 PM,{row}\n" for row in ROWS.splitlines()), "server_audit_timestamp_format"),
]


@pytest.mark.parametrize(("log", "message"), NO_TIMES)
def test_audit_rows_without_a_time_are_refused(log: str, message: str, tmp_path: Path) -> None:
    """The message names the setting or the command that adds times to the rows."""
    (tmp_path / "a.log").write_text(log)
    with pytest.raises(InputError, match=message):
        capture([tmp_path / "a.log"], tmp_path / "t.tape")


def test_audit_rows_of_the_json_journal_are_unwrapped(tmp_path: Path) -> None:
    """The suggested command prints audit rows with the times of the journal."""
    lines = [
        json.dumps({"__REALTIME_TIMESTAMP": f"177261570{n}250000", "MESSAGE": f" {row}"})
        for n, row in enumerate(ROWS.splitlines())
    ]
    (tmp_path / "j.json").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="journalctl -o json"):
        capture([tmp_path / "j.json"], tmp_path / "t.tape")
    unwrapped(tmp_path / "j.json", "jq -r.*")
    assert capture([tmp_path / "plain.log"], tmp_path / "plain.tape").info["counts"]["events"] == 3
