# SPDX-License-Identifier: Apache-2.0
"""Drivers that wait for each other's commits stop if one of them or the lead process is lost. All sessions of the tape
insert into one table.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from querytape.replay.drivers.lead import replay_by_drivers
from querytape.replay.drivers.shares import Drivers
from querytape.servers.sandbox import Server

from tests.helpers.growing_log import wait_until
from tests.helpers.primes import EVENTS, WRITTEN, balanced, prime_set, written
from tests.helpers.processes import children_with, start
from tests.helpers.tapes import MS
from tests.helpers.whole import accounting, options

from .test_lead import BOUND_S, LOCAL, At

pytestmark = pytest.mark.server


def test_drivers_that_wait_for_each_other_send_everything(shop: Server, tmp_path: Path) -> None:
    watcher = At(BOUND_S, lambda: None)
    given = options(shop, tmp_path / "a.run", partial_ok=True, commit_order=True)
    summary = replay_by_drivers(prime_set(tmp_path, 3), given, Drivers(3), watcher)
    assert summary.complete
    assert (accounting(summary)[0], written(shop)) == (EVENTS, WRITTEN)
    assert any(
        "the drivers wait for each other's commits, because several drivers use" in text for text in watcher.said
    )


def test_all_drivers_stop_if_one_of_them_is_killed(shop: Server, tmp_path: Path) -> None:
    """`--on-driver-lost continue` cannot continue, because the other drivers would wait for commits that never come."""
    watcher = At(1, lambda: os.kill(children_with(LOCAL)[0], signal.SIGKILL))
    given = options(shop, tmp_path / "a.run", partial_ok=True, commit_order=True)
    begun = time.monotonic()
    summary = replay_by_drivers(prime_set(tmp_path, 3, 100 * MS), given, Drivers(3), watcher)
    assert time.monotonic() - begun < BOUND_S
    assert any("ended early. The other drivers need its commits, so the run stops" in text for text in watcher.said)
    assert "was lost" in str(summary.info["partial"])
    assert balanced(tmp_path / "a.run")["reasons"]["not_sent"]["stopped"] > 0
    assert children_with(LOCAL) == []


def test_drivers_stop_if_the_lead_process_is_killed(shop: Server, tmp_path: Path) -> None:
    """They keep their parts. A driver that continued would wait for commits that nobody passes on."""
    tapes = prime_set(tmp_path, 3, 100 * MS)
    words = ["replay", str(tapes), "-o", str(tmp_path / "a.run"), "--target", shop.url("shop"), "--drivers", "local:3"]
    words += ["--allow-writes", "--target-is-disposable", "--partial-ok", "--order", "commit"]
    lead = start([sys.executable, "-m", "querytape", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: bool(written(shop)), "the first row")
    drivers = [int(pid) for pid in Path(f"/proc/{lead.pid}/task/{lead.pid}/children").read_text().split()]
    lead.kill()
    lead.wait()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in drivers), "all drivers have ended")
    assert len(drivers) == 3
    assert 0 < sum(written(shop).values()) < sum(WRITTEN.values())
    assert len(list((tmp_path / "a.run" / "drivers").glob("*/run.json"))) == 3
