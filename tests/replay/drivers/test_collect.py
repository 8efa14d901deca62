# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape collect`, which merges the parts of a run after its lead was killed."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay import replay
from querytape.replay.drivers.collect import collect
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.growing_log import wait_until
from tests.helpers.joining import Program
from tests.helpers.primes import EVENTS, WRITTEN, balanced, prime_set, written
from tests.helpers.processes import QUERYTAPE, run_command
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, make_tape
from tests.helpers.whole import accounting, options, outcomes, query

from .test_replacing import check_run


def parts_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run.glob("drivers/*/run.json"))]


@pytest.mark.long
@pytest.mark.server
def test_parts_of_a_killed_lead_are_collected(shop: Server, tmp_path: Path) -> None:
    """The drivers complete their schedules and keep their parts of the run. `querytape collect` merges the parts into
    one complete run.
    """
    tapes, run = prime_set(tmp_path, 3, 100 * MS), tmp_path / "a.run"
    given = ["--target", shop.url("shop"), "--allow-writes", "--target-is-disposable", "--partial-ok", "-o", run]
    command = [*QUERYTAPE, "replay", tapes, "--drivers", "local:3", *given]
    lead = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: sum(written(shop).values()) > 20, "20 rows")
    refused = run_command("collect", run, check=False)
    assert "still running" in refused.stderr
    lead.kill()
    lead.wait()
    assert run_command("collect", run, check=False).returncode == 1  # the drivers are still running
    wait_until(lambda: written(shop) == WRITTEN, "all rows")
    wait_until(lambda: [part["finished"] for part in parts_of(run)] == [True] * 3, "3 finished parts")
    assert sum(part["accounting"]["executed"] for part in parts_of(run)) == EVENTS
    assert all(part["accounting"]["balanced"] for part in parts_of(run))

    shutil.copytree(run, tmp_path / "less.run")
    shutil.rmtree(tmp_path / "less.run" / "drivers" / "02")
    with pytest.raises(InputError, match=r"the lead process was lost, so all parts are required. Missing: driver 2 \("):
        collect(tmp_path / "less.run")
    again = collect(tmp_path / "less.run", [run / "drivers" / "02"])  # the second part is from another folder
    assert again.complete

    assert f"{EVENTS} events = {EVENTS} executed" in run_command("collect", run).stdout
    opened = open_folder("run", run)
    assert opened.info["accounting"] == again.info["accounting"]
    assert opened.info["accounting"]["balanced"]
    assert opened.info["partial"] is None
    assert not (run / "drivers").exists()
    assert query(f"SELECT count(*), sum(executed) FROM {opened.source('sessions')}") == [(len(WRITTEN), EVENTS)]
    assert query(f"SELECT sum(done) FROM {opened.source('ticks')}") == [(EVENTS,)]
    alone = replay(tapes, options(shop, tmp_path / "alone.run", partial_ok=True))
    columns = "session, seq, clone, status, reason, errno, due_ns"
    assert outcomes(run, columns) == outcomes(alone.path, columns)
    assert accounting(alone) == accounting(again)
    run_command("report", tapes, run, tmp_path / "alone.run")
    assert run_command("collect", run, check=False).stderr.strip().endswith("the run already contains all parts")


@pytest.mark.server
def test_run_with_a_replaced_driver_is_collected(shop: Server, tmp_path: Path) -> None:
    """A driver is killed and replaced, then the lead is killed. What the killed driver had sent is not sent again."""
    tapes, run = prime_set(tmp_path, 2, 250 * MS), tmp_path / "a.run"
    given = ["--target", shop.url("shop"), "--allow-writes", "--target-is-disposable", "--partial-ok", "-o", run]
    lead = Program("replay", tapes, "--drivers", "local:2", "--on-driver-lost", "resume", *given)
    lead.saw("0:02 ")
    os.kill(json.loads((run / "run.json").read_text())["drivers"][0]["pid"], signal.SIGKILL)
    lead.saw("driver 3 replaces driver 1")
    lead.saw("0:12 ")
    lead.process.kill()
    lead.end()
    wait_until(lambda: sum(part["finished"] for part in parts_of(run)) == 2, "2 finished parts")
    info = json.loads((run / "run.json").read_text())
    assert [driver["replaces"] for driver in info["drivers"]] == [None, None, 1]
    shutil.copytree(run, tmp_path / "less.run")
    shutil.rmtree(tmp_path / "less.run" / "drivers" / "03")
    with pytest.raises(InputError, match=r"all parts are required. Missing: driver 3 \("):
        collect(tmp_path / "less.run")
    done = run_command("collect", run, check=False)
    assert done.returncode == 5
    assert "driver 1 was lost" in done.stdout
    info = json.loads((run / "run.json").read_text())
    assert check_run(shop, run, info, 3)["sent_unknown"] > 0
    seconds = query(f"SELECT list(at_ns // 1000000000 ORDER BY at_ns) FROM '{run}/ticks.parquet'")[0][0]
    assert seconds == sorted(set(seconds))
    assert seconds[-1] >= 15


@pytest.mark.server
def test_run_whose_lead_and_driver_were_killed_is_collected(shop: Server, tmp_path: Path) -> None:
    """All events of the killed driver without an outcome may have been sent."""
    tapes, run = prime_set(tmp_path, 2, 120 * MS), tmp_path / "a.run"
    given = ["--target", shop.url("shop"), "--allow-writes", "--target-is-disposable", "--partial-ok", "-o", run]
    lead = Program("replay", tapes, "--drivers", "local:2", *given)
    lead.saw("0:02 ")
    first, second = (driver["pid"] for driver in json.loads((run / "run.json").read_text())["drivers"])
    lead.process.kill()
    os.kill(first, signal.SIGKILL)
    assert "still running" in run_command("collect", run, check=False).stderr
    lead.end()
    wait_until(lambda: not Path("/proc", str(second)).exists(), "the end of the other driver")
    done = run_command("collect", run, check=False)
    assert done.returncode == 5, done.stderr
    assert "driver 1 was lost: the driver was killed" in done.stdout
    counts = balanced(run)
    rows = sum(written(shop).values())
    executed = query(f"SELECT count(*) FROM '{run}/outcomes/*.parquet' WHERE status = 'executed' AND seq % 2 = 1")[0][0]
    assert executed <= rows <= executed + counts["sent_unknown"]
    assert counts["reasons"]["not_sent"] == {"driver_lost": counts["sent_unknown"]}


def test_invalid_parts_of_a_run_are_refused(tmp_path: Path) -> None:
    """A folder that is not a run, a run of one process, and a part of another run are refused. The run stays unchanged."""
    tape = make_tape(tmp_path / "t.tape", [{}])
    run = make_run(tmp_path / "a.run", tape, [{}])
    with pytest.raises(InputError, match="not a run:"):
        collect(tmp_path / "nothing.run")
    with pytest.raises(InputError, match="the run did not use several drivers"):
        collect(run)
    lost = {"number": 1, "host": "h", "tapes": ["01.tape"], "lost": "why", "partial": None}
    mine = make_run(tmp_path / "b.run", tape, [{}], driver_run="r", drivers=[lost])
    before = (mine / "run.json").read_bytes()
    with pytest.raises(InputError, match="add the part of driver 1 to the command line"):
        collect(mine)
    other = make_run(tmp_path / "c.run", tape, [{}], driver={"run": "x", "number": 1, "tapes": ["01.tape"]})
    with pytest.raises(InputError, match="not a part of this run"):
        collect(mine, [other])
    with pytest.raises(InputError, match="not a part of this run"):
        collect(mine, [run])
    new = {**lost, "number": 2, "replaces": 1, "lost": None}
    replaced = make_run(tmp_path / "replaced.run", tape, [{}], driver_run="r", drivers=[lost, new])
    part = make_run(tmp_path / "part.run", tape, [{}], driver={"run": "r", "number": 1, "tapes": ["01.tape"]})
    with pytest.raises(InputError, match="another driver replaced driver 1, so its part cannot be added"):
        collect(replaced, [part])
    killed = {"run": "r", "number": 1, "tapes": ["01.tape"]}
    part = make_run(tmp_path / "d.run", tape, [{}], driver=killed, finished=False)
    with pytest.raises(InputError, match="still running or was killed"):
        collect(mine, [part])
    assert (mine / "run.json").read_bytes() == before
