# SPDX-License-Identifier: Apache-2.0
"""`capture rds --audit` as a user types it: Aurora's files on one tape, in the order of time."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.command_line import run_here
from tests.helpers.duck import database
from tests.helpers.rds import Aws, audit_row, write
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.slow

COLUMNS = "thread_id, command, statement, start_ns, errno, db, digest"
BEGIN_US = 1_795_000_000_000_000


def start(aws: Aws, tmp_path: Path, name: str, *options: str) -> "subprocess.Popen[str]":
    """Start a capture of the audit log; wait until it is pulled."""
    command = [sys.executable, "-m", "querytape", "capture", "rds", name, "--audit", "-o", str(tmp_path / "r.tape")]
    process = subprocess.Popen(
        [*command, "--poll", "200ms", "--shared-group-ok", *options],
        env=aws.environ(tmp_path / "state"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if aws.asked.count("DescribeDBLogFiles") > 2:
            return process
        time.sleep(0.05)
    raise AssertionError(f"the capture did not begin: {process.communicate(timeout=10)}")


def stop_when_read(aws: Aws, process: "subprocess.Popen[str]") -> None:
    """End a capture by Ctrl-C once all has been read that is there now."""
    asked = aws.asked.count("DescribeDBLogFiles")
    while aws.asked.count("DescribeDBLogFiles") < asked + 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)


def rows(tape: Path) -> list[tuple[object, ...]]:
    """Return a tape's events in the order of time."""
    with database() as con:
        return con.execute(f"SELECT {COLUMNS} FROM '{tape}/events/*.parquet' ORDER BY start_ns, statement").fetchall()


@pytest.mark.long
@pytest.mark.parametrize("stopped", mostly_long([False, True], True))
def test_the_tape_is_that_of_the_files(aws: Aws, tmp_path: Path, stopped: bool) -> None:
    """Four files that grow and turn side by side: the events of `capture audit` with all files, at Ctrl-C as well."""
    aws.cluster()
    (aws.folder / "audit").mkdir()
    for number in range(4):
        write(aws, audit_row(BEGIN_US - 10**6, 0), f"audit/audit.log.{number}.2026-11-22-06-00.0")
    before, chance = aws.values_of_cluster(), random.Random(5)
    process = start(aws, tmp_path, "au-1", "--duration", "600s" if stopped else "5s")
    assert aws.values_of_cluster()["server_audit_logging"] == "1"
    files: dict[str, str] = {}
    at = BEGIN_US
    for n in range(800):
        at += chance.randrange(1, 50_000)
        name = f"audit/audit.log.{chance.randrange(4)}.2026-11-22-07-{n // 300 * 30:02d}.0"
        row = audit_row(at - chance.randrange(30_000), n, n % 9 + 1)
        files[name] = files.get(name, "") + row
        write(aws, row, name)
        if n % 100 == 0:
            time.sleep(0.2)
    if stopped:
        stop_when_read(aws, process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert aws.values_of_cluster() == before
    copies = []
    for name, text in files.items():
        copies.append(str(tmp_path / Path(name).name))
        Path(copies[-1]).write_text(text)
    assert run_here("capture", "audit", *copies, "-o", str(tmp_path / "w.tape")).code == 0
    found = rows(tmp_path / "r.tape")
    assert len(found) == 800
    assert found == rows(tmp_path / "w.tape")
    assert "rds:au-1/audit/audit.log.0.2026-11-22-07-00.0" in (tmp_path / "r.tape" / "tape.json").read_text()


def test_the_audit_log_of_rds(aws: Aws, tmp_path: Path) -> None:
    """Of RDS the one log is read, and no parameter is changed; a statement at the limit is cut."""
    aws.instance()
    log, before = "audit/server_audit.log", aws.values()
    (aws.folder / "audit").mkdir()
    process = start(aws, tmp_path, "shop-1", "--duration", "600s", "--query-limit", "8")
    for n in range(5, 15):
        write(aws, f"20261122 10:00:{n:02d},ip-10,app,10.0.0.5,7,{n},QUERY,shop,'SELECT {n}',0\n", log)
    stop_when_read(aws, process)
    assert process.wait(60) == 0
    assert aws.values() == before
    assert [row[2] for row in rows(tmp_path / "r.tape")] == [f"SELECT {n}".encode() for n in range(5, 15)]
    assert "5 statements were cut" in (tmp_path / "r.tape" / "tape.json").read_text()


@pytest.mark.long
def test_the_audit_log_from_cloudwatch_logs(aws: Aws, tmp_path: Path) -> None:
    """Rows of several streams, in no strict order, are one tape; the cluster's group is as before."""
    aws.cluster(EnableCloudwatchLogsExports=["audit"])
    before, logs, place = aws.values_of_cluster(), aws.client("logs"), "/aws/rds/cluster/au/audit"
    logs.create_log_group(logGroupName=place)
    for number in range(4):
        logs.create_log_stream(logGroupName=place, logStreamName=f"au-1.audit.log.{number}.x")
    command = [sys.executable, "-m", "querytape", "capture", "rds", "au-1", "--audit", "--cloudwatch"]
    process = subprocess.Popen(
        [*command, "--shared-group-ok", "--poll", "200ms", "--duration", "3s", "-o", str(tmp_path / "r.tape")],
        env=aws.environ(tmp_path / "state"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and aws.values_of_cluster().get("server_audit_logging") != "1":
        time.sleep(0.05)
    for n in range(40):
        events = [{"timestamp": int(time.time() * 1000), "message": audit_row(BEGIN_US + n * 1000, n).rstrip()}]
        logs.put_log_events(logGroupName=place, logStreamName=f"au-1.audit.log.{n * 7 % 4}.x", logEvents=events)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert [row[2] for row in rows(tmp_path / "r.tape")] == [f"SELECT {n}".encode() for n in range(40)]
    assert aws.values_of_cluster() == before
