# SPDX-License-Identifier: Apache-2.0
"""Tests that the cron lines and systemd units in docs/ work as written."""

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from querytape.experiments.nightly import is_good, nights
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape

from ..conftest import skip_loudly

pytestmark = pytest.mark.long

PLAN = """tape = "{tape}"
rounds = 1
warmup = 0
pause = "0s"
replay = ["--pace", "none", "--sample", "0s", "--no-query-plans"]

[target]
a = "{url}"
b = "{url}"
"""


def blocks(page: Path) -> list[str]:
    """Return the indented blocks of a page."""
    found = re.findall(r"(?:^(?: {4}.*)?\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [textwrap.dedent(block).strip() + "\n" for block in found if block.strip()]


def units(checkout: Path) -> dict[str, str]:
    """Return each systemd unit in docs/ by its file name."""
    nightly = [block for block in blocks(checkout / "docs" / "howto" / "nightly.md") if block.startswith("[Unit]")]
    names = ("querytape-nightly.service", "querytape-nightly.timer")
    files = {path.name: path.read_text(encoding="utf-8") for path in (checkout / "docs" / "systemd").iterdir()}
    return {**dict(zip(names, nightly, strict=True)), **files}


def line_of(checkout: Path, scheduler: str) -> list[str]:
    """Return the command that cron or systemd starts at 2 a.m."""
    if scheduler == "systemd":
        start = re.search("^ExecStart=(.*)$", units(checkout)["querytape-nightly.service"], re.MULTILINE)
        assert start
        return shlex.split(start[1])
    cron = next(block for block in blocks(checkout / "docs" / "howto" / "nightly.md") if block.startswith("MAILTO="))
    line = cron.splitlines()[1]
    assert "%" not in line  # cron treats % as the end of the command
    assert line.startswith("0 2 * * * ")
    return ["/bin/sh", "-c", line.removeprefix("0 2 * * * ")]


@pytest.mark.parametrize("scheduler", ["cron", "systemd"])
def test_documented_nightly_job_writes_its_report(shop: Server, checkout: Path, tmp_path: Path, scheduler: str) -> None:
    """After success, cron prints nothing, so that it sends no mail. After a failure, it prints all messages."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}", "db": "shop"} for n in range(5)])
    plan = tmp_path / "upgrade.toml"
    plan.write_text(PLAN.format(tape=tape, url=shop.url("shop")))
    querytape = tmp_path / "querytape"
    querytape.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m querytape "$@"\n')
    querytape.chmod(0o755)
    places = {"/usr/bin/querytape": querytape, "/etc/querytape/upgrade.toml": plan, "/srv/nights": tmp_path / "nights"}
    words = line_of(checkout, scheduler)
    for place, own in places.items():
        words = [word.replace(place, str(own)) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    (night,) = nights(tmp_path / "nights")
    assert is_good(night)
    assert (night / "report.html").is_file()
    if scheduler == "cron":
        assert done.stdout + done.stderr == ""
        plan.unlink()
        done = subprocess.run(words, capture_output=True, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"})
        assert str(plan) in done.stdout


def test_systemd_analyze_accepts_the_units(request: pytest.FixtureRequest, checkout: Path, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        skip_loudly(request, "no systemd-analyze on this machine: units of systemd are not verified")
    for name, text in units(checkout).items():
        (tmp_path / name).write_text(re.sub(r"/usr/(local/)?bin/querytape", "/bin/true", text))
    paths = [str(tmp_path / name) for name in units(checkout)]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
