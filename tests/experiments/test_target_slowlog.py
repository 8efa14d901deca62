# SPDX-License-Identifier: Apache-2.0
"""The target's own slow log of a run. It is stored as a tape in the run's folder and shown in the report. The settings
of the target are restored.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.analyze import build
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import query

pytestmark = pytest.mark.server

SETTINGS = "SELECT @@slow_query_log, @@long_query_time, @@log_output, @@slow_query_log_file"


@pytest.mark.long
@pytest.mark.parametrize("server", mostly_long(["mariadb", "mysql80"], "mysql80"), indirect=True)
def test_report_has_server_times_of_tape_and_target(any_shop: Server, tmp_path: Path) -> None:
    """Both slow logs contain a sleep of 20 ms. Nothing is left on the server."""
    before = any_shop.execute(SETTINGS)
    events = [
        {
            "statement": "SELECT SLEEP(0.02)",
            "digest": "00000000000000aa",
            "duration_ns": 20 * MS,
            "db": "shop",
            "start_ns": T0 + n * 50 * MS,
        }
        for n in range(40)
    ]
    tape = make_tape(tmp_path / "t.tape", events, measuring_point="server")
    command = [sys.executable, "-m", "querytape", "replay", str(tape), "--target", any_shop.url("shop")]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "a.run"), "--target-slowlog"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert any_shop.execute(SETTINGS) == before
    log = tmp_path / "a.run" / "target.tape"
    info = json.loads((log / "tape.json").read_text())
    assert info["measuring_point"] == "server"
    rows = query(
        f"SELECT count(*), min(duration_ns) FROM '{log}/events/*.parquet' WHERE starts_with(statement::VARCHAR, 'SELECT SLEEP')"
    )
    assert rows[0][0] == 40
    assert rows[0][1] >= 20 * MS
    digest = query(
        f"SELECT DISTINCT digest FROM '{log}/events/*.parquet' WHERE starts_with(statement::VARCHAR, 'SELECT SLEEP')"
    )
    assert len(digest) == 1
    assert list(Path(str(any_shop.datadir)).glob("querytape-*.log")) == []


@pytest.mark.sampled
def test_both_slow_logs_are_in_the_report(any_shop: Server, tmp_path: Path) -> None:
    """The report shows the server times of tape and target next to each other, by digest."""
    log = tmp_path / "slow.log"
    log.write_text(
        "".join(
            f"# Time: 2026-11-20T12:00:{n:02d}.000000Z\n# User@Host: app[app] @ h [10.0.0.1]  Id: 5\n"
            "# Query_time: 0.030000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
            f"use shop;\nSET timestamp={1795176000 + n};\nSELECT SLEEP(0.03);\n"
            for n in range(10)
        )
    )
    tape, run = tmp_path / "s.tape", tmp_path / "s.run"
    for arguments in (
        ["capture", "slowlog", str(log), "-o", str(tape)],
        ["replay", str(tape), "--speed", "10", "--target", any_shop.url("shop"), "-o", str(run), "--target-slowlog"],
    ):
        subprocess.run([sys.executable, "-m", "querytape", *arguments], check=True, capture_output=True, timeout=120)
    (row,) = build(tape, [run]).answers["server_times"]
    assert row["tape_n"] == row["a_n"] == 10
    assert row["tape_p50_ns"] == 30 * MS
    assert row["a_p50_ns"] >= 30 * MS
    assert row["b_n"] is None
