# SPDX-License-Identifier: Apache-2.0
"""Drivers on hosts with different clocks. They start together, their clock errors stay within the bounds, and a lost
link is reported.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.demo.hosts import EPOCHS_S, possible

from tests.conftest import skip_loudly
from tests.helpers.primes import EVENTS, WRITTEN

pytestmark = pytest.mark.long


def on_hosts(request: pytest.FixtureRequest, checkout: Path, folder: Path, *how: str) -> dict[str, Any]:
    """Replay with three drivers on three hosts, and return the results."""
    if not possible():
        skip_loudly(
            request, "drivers on hosts of their own: network and time namespaces need root (unshare, ip, nsenter)"
        )
    command = ["unshare", "--net", sys.executable, "-m", "tests.helpers.hosts", str(folder), *how]
    subprocess.run(command, check=True, cwd=checkout, timeout=300)
    said: dict[str, Any] = json.loads((folder / "said.json").read_text())
    return said


def test_drivers_with_different_clocks_start_together(
    request: pytest.FixtureRequest, checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The clocks of the hosts differ by months. The error of each measured offset is within its bound."""
    said = on_hosts(request, checkout, tmp_path)
    assert said["code"] == 0, said["said"]
    assert said["driver_codes"] == [0, 0, 0]
    assert {int(session): n for session, n in said["written"].items()} == WRITTEN
    assert said["info"]["accounting"]["balanced"]
    assert said["info"]["accounting"]["executed"] == EVENTS
    drivers = said["info"]["drivers"]
    errors = []
    for driver in drivers:
        true = min(EPOCHS_S, key=lambda epoch: abs(epoch * 10**9 - driver["offset_ns"])) * 10**9
        errors.append(abs(driver["offset_ns"] - true))
        assert errors[-1] <= driver["bound_ns"]
        assert abs(driver["end_offset_ns"] - true) <= driver["end_bound_ns"]
        assert abs(driver["drift_ppb"]) <= driver["drift_bound_ppb"]  # one machine has one clock without drift
    assert len({driver["offset_ns"] // 10**12 for driver in drivers}) == 3
    apart = said["first"][-1] - said["first"][0]
    bounds = ", ".join(
        f"{error / 1e3:.1f} of at most {driver['bound_ns'] / 1e3:.1f}"
        for error, driver in zip(errors, drivers, strict=True)
    )
    with capsys.disabled():
        print(
            f"\nclocks of 3 hosts were wrong by (us) {bounds}; first statements {apart * 1e3:.2f} ms apart by the server's log"
        )
    assert len(said["first"]) == 3
    assert apart < 1.0  # a mix-up of the clocks would give hours


def test_lost_link_is_reported_and_other_drivers_finish(
    request: pytest.FixtureRequest, checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The accounting balances. It counts the events with an unknown result."""
    said = on_hosts(request, checkout, tmp_path, "cut")
    assert said["code"] == 5, said["said"]
    assert "the driver sent nothing for 2.5 s" in said["said"]
    counts = said["info"]["accounting"]
    assert counts["balanced"]
    assert counts["sent_unknown"] == counts["reasons"]["not_sent"]["driver_lost"] > 0
    assert sorted(code == 0 for code in said["driver_codes"]) == [False, True, True]
    with capsys.disabled():
        print(f"\na link that went down was noticed after {said['noticed_s']:.2f} s")


def test_replays_of_a_set_without_a_lead_give_one_report(
    request: pytest.FixtureRequest, checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each host replays one tape with --start-at. The first statement of each tape has its place in the whole tape, and
    the report covers all tapes. Session n begins 0.1 s after session n - 1.
    """
    said = on_hosts(request, checkout, tmp_path, "alone")
    assert said["codes"] == [0, 0, 0], said["said"]
    assert {int(session): n for session, n in said["written"].items()} == WRITTEN
    assert said["report_code"] == 0, said["report_said"]
    (total,) = said["report"]["totals"]
    assert (total["executed"], total["sessions"], total["errors"]) == (EVENTS, len(WRITTEN), 0)
    assert sum(row["events"] for row in said["report"]["accounting"]) == EVENTS
    trust = " ".join(finding["text"] for finding in said["report"]["trust"])
    found = re.search(
        r"The 3 replays of run A began (.+?) apart by the clock of the target \(error at most .+?\)", trust
    )
    assert found, trust
    offsets = [at - said["start"] for at in said["first"]]
    begins = sorted(0.1 * (min(sessions_of(tmp_path / "primes.set" / f"0{number}.tape")) - 1) for number in (1, 2, 3))
    late = [offset - begin for offset, begin in zip(offsets, begins, strict=True)]
    with capsys.disabled():
        print(
            f"\nfirst statements came {', '.join(f'{each * 1e3:.2f}' for each in late)} ms after their time; {found[0]}"
        )
    assert all(-0.001 < each < 0.5 for each in late)


def sessions_of(tape: Path) -> list[int]:
    """Return the sessions of a tape."""
    rows = duckdb.execute(f"SELECT session FROM '{tape}/sessions.parquet'").fetchall()
    return [session for (session,) in rows]
