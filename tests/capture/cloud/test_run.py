# SPDX-License-Identifier: Apache-2.0
"""`capture rds` from the command line. The tape has the events of the whole log, and the parameter group is restored."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.command_line import run_here
from tests.helpers.duck import query
from tests.helpers.rds import NAME, Aws, audit_row, entries, turn, write
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.slow

SLOW = "thread_id, command, statement, start_ns, duration_ns, rows_sent, rows_examined, db, digest"
AUDIT = "thread_id, command, statement, start_ns, errno, db, digest"
BEGIN_US = 1_795_000_000_000_000
PORTION, FILES = "DownloadDBLogFilePortion", "DescribeDBLogFiles"
Process = subprocess.Popen[str]


def wait(process: Process, until: Callable[[], bool]) -> None:
    """Wait for a condition while a capture runs, for at most five minutes."""
    end = time.monotonic() + 300
    while not until():
        assert process.poll() is None, process.communicate(timeout=10)
        assert time.monotonic() < end
        time.sleep(0.05)


def begin(aws: Aws, tmp_path: Path, name: str, *options: str) -> Process:
    """Start a capture."""
    command = [sys.executable, "-m", "querytape", "capture", "rds", name, "-o", str(tmp_path / "r.tape")]
    return subprocess.Popen(
        [*command, "--poll", "200ms", *options],
        env=aws.environ(tmp_path / "state"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(aws: Aws, tmp_path: Path, *options: str) -> Process:
    """Start a capture of the slow log. Wait until the capture has changed the parameter group and read the log."""
    process = begin(aws, tmp_path, "shop-1", *options)
    wait(process, lambda: aws.values()["long_query_time"] == "0" and aws.asked.count(PORTION) > 3)
    return process


def start_audit(aws: Aws, tmp_path: Path, name: str, *options: str) -> Process:
    """Start a capture of the audit log. Wait until the capture has read the log."""
    process = begin(aws, tmp_path, name, "--audit", "--shared-group-ok", *options)
    wait(process, lambda: aws.asked.count(FILES) > 2)
    return process


def stop(aws: Aws, process: Process, action: str, number: signal.Signals) -> None:
    """Wait until a capture has read everything, then end it with a signal."""
    asked = len(aws.asked)
    wait(process, lambda: aws.asked[asked:].count(action) >= 3)
    process.send_signal(number)


def wait_for_end(process: Process) -> str:
    """Wait until a capture ends, and return its messages."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    return err


def rows(tape: Path, columns: str = SLOW) -> list[tuple[object, ...]]:
    """Return the events of a tape, sorted by time."""
    return query(f"SELECT {columns} FROM '{tape}/events/*.parquet' ORDER BY start_ns, statement")


def state(tmp_path: Path) -> list[Path]:
    """Return the restore files of captures in the test's state folder."""
    return list((tmp_path / "state").rglob("*.json"))


def test_rds_tape_equals_the_tape_of_the_full_log(aws: Aws, tmp_path: Path) -> None:
    """A pull may end inside a log entry, and files rotate. Entries from before the capture are left out."""
    aws.instance()
    before = aws.values()
    write(aws, entries(0, 200))
    process = start(aws, tmp_path, "--duration", "600s")
    whole = entries(200, 1500)
    for n, at in enumerate(range(0, len(whole), 23_457)):
        write(aws, whole[at : at + 23_457])
        if n % 4 == 3:
            turn(aws, f"2026-11-22.{n:02d}")
        time.sleep(0.15)
    stop(aws, process, PORTION, signal.SIGTERM)
    assert "restored the parameter group shop" in wait_for_end(process)
    assert aws.values() == before
    assert state(tmp_path) == []
    (tmp_path / "whole.log").write_text(whole)
    assert run_here("capture", "slowlog", str(tmp_path / "whole.log"), "-o", str(tmp_path / "w.tape")).code == 0
    found = rows(tmp_path / "r.tape")
    assert len(found) == 1500
    assert found == rows(tmp_path / "w.tape")
    info = (tmp_path / "r.tape" / "tape.json").read_text()
    assert f"rds:shop-1/{NAME}" in info
    assert "testing" not in info


@pytest.mark.long
@pytest.mark.parametrize("number", mostly_long([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_signal_completes_the_tape_and_restores_the_group(aws: Aws, tmp_path: Path, number: signal.Signals) -> None:
    aws.instance()
    before = aws.values()
    process = start(aws, tmp_path, "--duration", "600s")
    write(aws, entries(0, 40))
    stop(aws, process, PORTION, number)
    wait_for_end(process)
    assert len(rows(tmp_path / "r.tape")) == 40
    assert aws.values() == before
    assert state(tmp_path) == []


@pytest.mark.long
def test_capture_killed_by_sigkill_can_be_restored(aws: Aws, tmp_path: Path) -> None:
    """The restore file contains the restore command. No new capture starts before the restore. A second restore changes
    nothing.
    """
    aws.instance()
    before = aws.values()
    process = start(aws, tmp_path, "--duration", "600s")
    process.kill()
    process.communicate(timeout=10)
    assert aws.values() != before
    again = run_here("capture", "rds", "shop-1", "--dry-run")
    assert again.code == 1
    assert "Run `querytape capture rds shop-1 --restore` first" in again.err
    assert run_here("capture", "rds", "shop-1", "--restore").code == 0
    assert aws.values() == before
    assert state(tmp_path) == []


@pytest.mark.long
def test_failed_capture_restores_the_group(aws: Aws, tmp_path: Path) -> None:
    """The captures fail because the parameter group is never in sync, the log is empty, or the log becomes unreadable.
    Each failure gives a message.
    """
    aws.instance()
    before = aws.values()
    aws.status = "applying"
    late = run_here("capture", "rds", "shop-1", "-o", str(tmp_path / "a.tape"), "--sync-timeout", "1s")
    assert late.code == 1
    assert "'applying' after 1 s" in late.err
    assert aws.values() == before
    aws.status = ""
    empty = run_here("capture", "rds", "shop-1", "-o", str(tmp_path / "b.tape"), "--duration", "1s")
    assert (empty.code, aws.values(), state(tmp_path)) == (1, before, [])
    assert not (tmp_path / "b.tape").exists()

    def deny(name: str) -> None:
        if aws.asked.count(PORTION) > counted + 4:
            aws.denied.add(PORTION)
        write(aws, entries(len(aws.asked) * 100, 50))

    counted = aws.asked.count(PORTION)
    aws.before_portion = deny
    tape = str(tmp_path / "c.tape")
    denied = run_here("capture", "rds", "shop-1", "-o", tape, "--duration", "30s", "--poll", "100ms")
    assert denied.code == 4
    assert (
        "NOT ALL OF THE INPUT IS ON THE TAPE: querytape could not read the log to its end" in denied.out.splitlines()[1]
    )
    assert aws.values() == before


@pytest.mark.long
def test_cloudwatch_slow_log_is_captured(aws: Aws, tmp_path: Path) -> None:
    """The tape has all events of the capture's time span, including events that arrive slightly later. The parameter
    group is restored.
    """
    aws.instance(EnableCloudwatchLogsExports=["slowquery"])
    before, logs, place = aws.values(), aws.client("logs"), "/aws/rds/instance/shop-1/slowquery"
    logs.create_log_group(logGroupName=place)
    logs.create_log_stream(logGroupName=place, logStreamName="shop-1")
    process = begin(aws, tmp_path, "shop-1", "--cloudwatch", "--duration", "3s")
    wait(process, lambda: aws.values()["long_query_time"] == "0")
    for n in range(20):
        events = [{"timestamp": int(time.time() * 1000), "message": entries(n, 1).rstrip()}]
        logs.put_log_events(logGroupName=place, logStreamName="shop-1", logEvents=events)
    wait_for_end(process)
    assert len(rows(tmp_path / "r.tape")) == 20
    assert f"rds:shop-1/{place}" in (tmp_path / "r.tape" / "tape.json").read_text()
    assert aws.values() == before


@pytest.mark.long
@pytest.mark.parametrize("stopped", mostly_long([False, True], True))
def test_aurora_audit_files_become_one_tape(aws: Aws, tmp_path: Path, stopped: bool) -> None:
    """Four files grow and rotate in parallel. The events equal those of `capture audit` on all files, even if Ctrl-C
    ends the capture.
    """
    aws.cluster()
    (aws.folder / "audit").mkdir()
    for number in range(4):
        write(aws, audit_row(BEGIN_US - 10**6, 0), f"audit/audit.log.{number}.2026-11-22-06-00.0")
    before, chance = aws.values_of_cluster(), random.Random(5)
    process = start_audit(aws, tmp_path, "au-1", "--duration", "600s" if stopped else "5s")
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
        stop(aws, process, FILES, signal.SIGINT)
    wait_for_end(process)
    assert aws.values_of_cluster() == before
    copies = []
    for name, text in files.items():
        copies.append(str(tmp_path / Path(name).name))
        Path(copies[-1]).write_text(text)
    assert run_here("capture", "audit", *copies, "-o", str(tmp_path / "w.tape")).code == 0
    found = rows(tmp_path / "r.tape", AUDIT)
    assert len(found) == 800
    assert found == rows(tmp_path / "w.tape", AUDIT)
    assert "rds:au-1/audit/audit.log.0.2026-11-22-07-00.0" in (tmp_path / "r.tape" / "tape.json").read_text()


def test_rds_audit_log_is_captured(aws: Aws, tmp_path: Path) -> None:
    """RDS has one audit log, so the capture changes no parameter. A statement at the length limit is marked as cut."""
    aws.instance()
    log, before = "audit/server_audit.log", aws.values()
    (aws.folder / "audit").mkdir()
    process = start_audit(aws, tmp_path, "shop-1", "--duration", "600s", "--query-limit", "8")
    for n in range(5, 15):
        write(aws, f"20261122 10:00:{n:02d},ip-10,app,10.0.0.5,7,{n},QUERY,shop,'SELECT {n}',0\n", log)
    stop(aws, process, FILES, signal.SIGINT)
    wait_for_end(process)
    assert aws.values() == before
    assert [row[2] for row in rows(tmp_path / "r.tape")] == [f"SELECT {n}".encode() for n in range(5, 15)]
    assert "truncated 5 statements" in (tmp_path / "r.tape" / "tape.json").read_text()


@pytest.mark.long
def test_cloudwatch_audit_log_is_captured(aws: Aws, tmp_path: Path) -> None:
    """Audit rows come from several log streams, not in strict order of time. The cluster's parameter group is restored."""
    aws.cluster(EnableCloudwatchLogsExports=["audit"])
    before, logs, place = aws.values_of_cluster(), aws.client("logs"), "/aws/rds/cluster/au/audit"
    logs.create_log_group(logGroupName=place)
    for number in range(4):
        logs.create_log_stream(logGroupName=place, logStreamName=f"au-1.audit.log.{number}.x")
    process = begin(aws, tmp_path, "au-1", "--audit", "--cloudwatch", "--shared-group-ok", "--duration", "3s")
    wait(process, lambda: aws.values_of_cluster().get("server_audit_logging") == "1")
    for n in range(40):
        events = [{"timestamp": int(time.time() * 1000), "message": audit_row(BEGIN_US + n * 1000, n).rstrip()}]
        logs.put_log_events(logGroupName=place, logStreamName=f"au-1.audit.log.{n * 7 % 4}.x", logEvents=events)
    wait_for_end(process)
    assert [row[2] for row in rows(tmp_path / "r.tape", AUDIT)] == [f"SELECT {n}".encode() for n in range(40)]
    assert aws.values_of_cluster() == before
