# SPDX-License-Identifier: Apache-2.0
"""Parts whose lead was killed become the run that they would have been; what is no part of it is refused."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay import replay
from querytape.replay.drivers.collect import collect
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.primes import EVENTS, WRITTEN, prime_set, written
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, make_tape
from tests.helpers.whole import accounting, options, outcomes, query

BOUND_S = 90


def wait_for(ready: Callable[[], bool]) -> None:
    """Wait until it is so. Fails after BOUND_S."""
    until = time.monotonic() + BOUND_S
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.05)


def parts_of(run: Path) -> list[dict[str, Any]]:
    """Return run.json of each part that is there."""
    return [json.loads(path.read_text()) for path in sorted(run.glob("drivers/*/run.json"))]


def run_by_hand(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [sys.executable, "-m", "querytape", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)


@pytest.mark.long
@pytest.mark.server
def test_the_lead_is_killed(mariadb: Server, tmp_path: Path) -> None:
    """Drivers go on to the end of their schedule and keep their parts; collected, they are one whole run."""
    mariadb.execute("CREATE DATABASE IF NOT EXISTS shop")
    mariadb.execute("DROP TABLE IF EXISTS shop.log")
    mariadb.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    tapes, run = prime_set(tmp_path, 3, 100 * MS), tmp_path / "a.run"
    given = ["--target", mariadb.url("shop"), "--allow-writes", "--target-is-disposable", "--partial-ok", "-o", run]
    command = [sys.executable, "-m", "querytape", "replay", tapes, "--drivers", "local:3", *given]
    lead = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: sum(written(mariadb).values()) > 20)
    refused = run_by_hand("collect", run)
    assert "the replay is under way" in refused.stderr or "not at its end" in refused.stderr
    lead.kill()
    lead.wait()
    assert run_by_hand("collect", run).returncode == 1  # the drivers are still at it
    wait_for(lambda: written(mariadb) == WRITTEN)
    wait_for(lambda: len(parts_of(run)) == 3 and all(part["finished"] for part in parts_of(run)))
    assert sum(part["accounting"]["executed"] for part in parts_of(run)) == EVENTS
    assert all(part["accounting"]["balanced"] for part in parts_of(run))

    shutil.copytree(run, tmp_path / "less.run")
    shutil.rmtree(tmp_path / "less.run" / "drivers" / "02")
    with pytest.raises(InputError, match=r"its lead was lost, so all parts are needed; missing: driver 2 \("):
        collect(tmp_path / "less.run")
    again = collect(tmp_path / "less.run", [run / "drivers" / "02"])  # a part from elsewhere
    assert again.complete

    done = run_by_hand("collect", run)
    assert done.returncode == 0, done.stderr
    assert f"{EVENTS} events = {EVENTS} executed" in done.stdout
    opened = open_folder("run", run)
    assert opened.info["accounting"] == again.info["accounting"]
    assert opened.info["accounting"]["balanced"]
    assert opened.info["partial"] is None
    assert not (run / "drivers").exists()
    assert query(f"SELECT count(*), sum(executed) FROM {opened.source('sessions')}") == [(len(WRITTEN), EVENTS)]
    assert query(f"SELECT sum(done) FROM {opened.source('ticks')}") == [(EVENTS,)]
    alone = replay(tapes, options(mariadb, tmp_path / "alone.run", partial_ok=True))
    columns = "session, seq, clone, status, reason, errno, due_ns"
    assert outcomes(run, columns) == outcomes(alone.path, columns)
    assert accounting(alone) == accounting(again)
    assert run_by_hand("report", tapes, run, tmp_path / "alone.run").returncode == 0
    assert run_by_hand("collect", run).stderr.strip().endswith("all parts are in it already")


def test_what_is_refused(tmp_path: Path) -> None:
    """A folder that is no run, a run by one process, and parts of another run: a sentence each, and nothing is changed."""
    tape = make_tape(tmp_path / "t.tape", [{}])
    run = make_run(tmp_path / "a.run", tape, [{}])
    with pytest.raises(InputError, match="not a run:"):
        collect(tmp_path / "nothing.run")
    with pytest.raises(InputError, match="not a run by several drivers"):
        collect(run)
    lost = {"number": 1, "host": "h", "tapes": ["01.tape"], "lost": "why", "partial": None}
    mine = make_run(tmp_path / "b.run", tape, [{}], driver_run="r", drivers=[lost])
    before = (mine / "run.json").read_bytes()
    with pytest.raises(InputError, match="name the part of driver 1"):
        collect(mine)
    other = make_run(tmp_path / "c.run", tape, [{}], driver={"run": "x", "number": 1, "tapes": ["01.tape"]})
    with pytest.raises(InputError, match="not a part of this run"):
        collect(mine, [other])
    with pytest.raises(InputError, match="not a part of this run"):
        collect(mine, [run])
    killed = {"run": "r", "number": 1, "tapes": ["01.tape"]}
    part = make_run(tmp_path / "d.run", tape, [{}], driver=killed, finished=False)
    with pytest.raises(InputError, match="its driver is not at its end, or was killed"):
        collect(mine, [part])
    assert (mine / "run.json").read_bytes() == before
