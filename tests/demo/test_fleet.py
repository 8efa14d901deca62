# SPDX-License-Identifier: Apache-2.0
"""Tests of the demo of several drivers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.demo.hosts import EPOCHS_S, possible
from querytape.servers.programs import find_program, missing_sentence

from tests.conftest import skip_loudly

BOUND_S = 180


@pytest.mark.slow
@pytest.mark.server
def test_fleet_demo_ends_with_the_report_of_three_drivers(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """With root, the drivers run on hosts with different clocks. All printed commands fit 80 columns."""
    if find_program("mariadb") is None:
        skip_loudly(request, missing_sentence("mariadb"))
    command = [sys.executable, "-m", "querytape.demo.fleet", str(tmp_path / "demo"), "--seconds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S)
    assert done.returncode == 0, done.stdout + done.stderr
    info = json.loads((tmp_path / "demo" / "shop.run" / "run.json").read_text())
    assert info["accounting"]["balanced"]
    assert [driver["lost"] for driver in info["drivers"]] == [None] * 3
    if possible():
        ahead = sorted(round(driver["offset_ns"] / 1e9) for driver in info["drivers"])
        assert ahead == sorted(EPOCHS_S)
    assert (tmp_path / "demo" / "report.html").stat().st_size > 0
    assert not list((tmp_path / "demo").glob("part*"))
    commands = [line for line in done.stdout.splitlines() if "$ querytape" in line or line.startswith("    --")]
    assert len([line for line in commands if "querytape" in line]) == 7
    assert max(map(len, commands)) <= 80
