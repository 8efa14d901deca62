# SPDX-License-Identifier: Apache-2.0
"""Plans of recordings: how the log is read, and what a plan says before anything is changed."""

from pathlib import Path

import pytest
from querytape.capture.server_log import RecordOptions, check_options, plan_logging
from querytape.capture.server_log.logging_plan import own_log
from querytape.common.errors import InputError, RefusedError
from querytape.servers.facts import Facts
from querytape.servers.target import Target

TARGET = Target("app", "h", "10.0.0.1")
FAR = Facts(
    "8.0.31",
    hostname="db1",
    identity="id",
    connected=4,
    variables={"datadir": "/nowhere/else", "slow_query_log": "OFF"},
)


def near(tmp_path: Path) -> Facts:
    """Return a server whose data folder is on this machine."""
    (tmp_path / "db1.pid").write_text("1")
    return Facts("10.11.6-MariaDB", variables={"datadir": str(tmp_path), "pid_file": str(tmp_path / "db1.pid")})


def test_a_file_where_it_can_be_read(tmp_path: Path) -> None:
    """On the server's own machine the log is a new file next to the server's; each plan has another."""
    plan = plan_logging(TARGET, near(tmp_path), RecordOptions(restore_file=tmp_path / "r"))
    assert plan.method == "file"
    assert plan.log_file is not None
    assert plan.log_file.parent == tmp_path
    assert plan.log_file != own_log(near(tmp_path))
    assert plan.restore_file == tmp_path / "r"


def test_a_table_elsewhere() -> None:
    """Of a server elsewhere the table is read; --read file is refused with what to do."""
    plan = plan_logging(TARGET, FAR, RecordOptions())
    assert (plan.method, plan.log_file) == ("table", None)
    with pytest.raises(RefusedError, match="--read table"):
        plan_logging(TARGET, FAR, RecordOptions(method="file"))


def test_lines() -> None:
    """The plan shows each change with the value of now, and what will not be logged."""
    lines = plan_logging(TARGET, FAR, RecordOptions()).lines()
    assert lines[0] == "8.0.31 on db1; the log is read from mysql.slow_log"
    assert "  SET GLOBAL slow_query_log = 'ON'   (now 'OFF')" in lines
    assert any(line.startswith("  3 connections are open") for line in lines)
    general = plan_logging(TARGET, FAR, RecordOptions(method="general")).lines()
    assert "  the general log has no durations, rows or errors" in general
    assert "  nothing has to change: everything is logged already" in general


def test_options() -> None:
    """A method that does not exist and a duration of nothing are refused."""
    check_options(RecordOptions())
    with pytest.raises(InputError, match="--read: expected one of auto"):
        check_options(RecordOptions(method="tea leaves"))
    with pytest.raises(InputError, match="--duration"):
        check_options(RecordOptions(duration_s=0))
