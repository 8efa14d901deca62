# SPDX-License-Identifier: Apache-2.0
"""`capture rds` as a user types it: the tape is that of the file whole, and the group is as before on any way out."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.command_line import run_here
from tests.helpers.duck import database
from tests.helpers.rds import NAME, Aws, entries, turn, write
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.slow

COLUMNS = "thread_id, command, statement, start_ns, duration_ns, rows_sent, rows_examined, db, digest"


def start(aws: Aws, tmp_path: Path, *options: str) -> "subprocess.Popen[str]":
    """Start a capture; wait until the group is changed and the log is pulled."""
    command = [sys.executable, "-m", "querytape", "capture", "rds", "shop-1", "-o", str(tmp_path / "r.tape")]
    process = subprocess.Popen(
        [*command, "--poll", "200ms", *options],
        env=aws.environ(tmp_path / "state"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if aws.values()["long_query_time"] == "0" and aws.asked.count("DownloadDBLogFilePortion") > 3:
            return process
        time.sleep(0.05)
    raise AssertionError(f"the capture did not begin: {process.communicate(timeout=10)}")


def stop_when_pulled(aws: Aws, process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    """End a capture by a signal once all has been pulled that is there now."""
    asked = len(aws.asked)
    while aws.asked[asked:].count("DownloadDBLogFilePortion") < 3:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)


def rows(tape: Path) -> list[tuple[object, ...]]:
    """Return a tape's events."""
    with database() as con:
        return con.execute(f"SELECT {COLUMNS} FROM '{tape}/events/*.parquet' ORDER BY start_ns, statement").fetchall()


def state(tmp_path: Path) -> list[Path]:
    """Return the restore files."""
    return list((tmp_path / "state").rglob("*.json"))


def test_the_tape_is_that_of_the_file_whole(aws: Aws, tmp_path: Path) -> None:
    """Entries cut anywhere by pulls, and files that turn: equal events; what was there before is not among them."""
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
    stop_when_pulled(aws, process, signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "the parameter group shop is as before" in err
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
def test_stopped_early(aws: Aws, tmp_path: Path, number: signal.Signals) -> None:
    """A signal ends it in order: what was pulled is a tape, and the group is as before."""
    aws.instance()
    before = aws.values()
    process = start(aws, tmp_path, "--duration", "600s")
    write(aws, entries(0, 40))
    stop_when_pulled(aws, process, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert len(rows(tmp_path / "r.tape")) == 40
    assert aws.values() == before
    assert state(tmp_path) == []


@pytest.mark.long
def test_killed_with_9_then_restored(aws: Aws, tmp_path: Path) -> None:
    """The restore file says what to do; nothing begins before; then all is as before, once."""
    aws.instance()
    before = aws.values()
    process = start(aws, tmp_path, "--duration", "600s")
    process.kill()
    process.communicate(timeout=10)
    assert aws.values() != before
    again = run_here("capture", "rds", "shop-1", "--dry-run")
    assert again.code == 1
    assert "run `querytape capture rds shop-1 --restore` first" in again.err
    assert run_here("capture", "rds", "shop-1", "--restore").code == 0
    assert aws.values() == before
    assert state(tmp_path) == []


@pytest.mark.long
def test_a_failure_on_the_way_sets_back(aws: Aws, tmp_path: Path) -> None:
    """Never in sync; an empty log; a log that may not be read any more: the group is as before, and it is said."""
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
        if aws.asked.count("DownloadDBLogFilePortion") > counted + 4:
            aws.denied.add("DownloadDBLogFilePortion")
        write(aws, entries(len(aws.asked) * 100, 50))

    counted = aws.asked.count("DownloadDBLogFilePortion")
    aws.before_portion = deny
    denied = run_here(
        "capture", "rds", "shop-1", "-o", str(tmp_path / "c.tape"), "--duration", "30s", "--poll", "100ms"
    )
    assert denied.code == 4
    assert "NOT ALL OF THE INPUT IS ON THE TAPE: the log could not be pulled to its end" in denied.out.splitlines()[1]
    assert aws.values() == before


@pytest.mark.long
def test_from_cloudwatch_logs(aws: Aws, tmp_path: Path) -> None:
    """Events that come while it runs, and a moment later, are on the tape; the group is as before."""
    aws.instance(EnableCloudwatchLogsExports=["slowquery"])
    before, logs, place = aws.values(), aws.client("logs"), "/aws/rds/instance/shop-1/slowquery"
    logs.create_log_group(logGroupName=place)
    logs.create_log_stream(logGroupName=place, logStreamName="shop-1")
    command = [sys.executable, "-m", "querytape", "capture", "rds", "shop-1", "-o", str(tmp_path / "r.tape")]
    process = subprocess.Popen(
        [*command, "--cloudwatch", "--poll", "200ms", "--duration", "3s"],
        env=aws.environ(tmp_path / "state"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and aws.values()["long_query_time"] != "0":
        time.sleep(0.05)
    for n in range(20):
        now = int(time.time() * 1000)
        events = [{"timestamp": now, "message": entries(n, 1).rstrip()}]
        logs.put_log_events(logGroupName=place, logStreamName="shop-1", logEvents=events)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert len(rows(tmp_path / "r.tape")) == 20
    assert f"rds:shop-1/{place}" in (tmp_path / "r.tape" / "tape.json").read_text()
    assert aws.values() == before
