# SPDX-License-Identifier: Apache-2.0
"""Which settings change, and the file by which they are set back."""

from pathlib import Path

import pytest
from querytape.capture.server_log.settings import (
    Change,
    RestoreFile,
    default_restore_file,
    plan_changes,
    read_restore_file,
    same,
    write_restore_file,
)
from querytape.common.errors import InputError

VARIABLES = {
    "long_query_time": "10.000000",
    "min_examined_row_limit": "0",
    "log_output": "FILE",
    "slow_query_log": "OFF",
    "slow_query_log_file": "/var/log/slow.log",
    "general_log": "OFF",
}
SAVED = RestoreFile("mysql://app@h:1/", "id", "2026-11-20", (Change("slow_query_log", "OFF", "ON"),), "/x.log")


def test_only_what_differs_changes_and_the_log_is_last() -> None:
    """A variable that the server does not have, or that is right already, is left alone."""
    changes = plan_changes(VARIABLES, "file", "/var/log/q.log")
    assert [(change.name, change.before, change.wanted) for change in changes] == [
        ("long_query_time", "10.000000", "0"),
        ("slow_query_log_file", "/var/log/slow.log", "/var/log/q.log"),
        ("slow_query_log", "OFF", "ON"),
    ]


@pytest.mark.parametrize(("method", "switch"), [("table", "slow_query_log"), ("general", "general_log")])
def test_tables(method: str, switch: str) -> None:
    """The tables need log_output; the general log needs nothing of the slow log."""
    names = [change.name for change in plan_changes(VARIABLES, method, None)]
    assert "log_output" in names
    assert names[-1] == switch
    assert ("long_query_time" in names) == (method == "table")
    both = plan_changes(VARIABLES | {"log_output": "FILE,TABLE"}, method, None)
    assert "log_output" not in [change.name for change in both]


def test_values_that_mean_the_same() -> None:
    """ON is 1, numbers are equal by value, texts whatever their case."""
    assert same("ON", "1")
    assert same("0.000000", "0")
    assert same("file", "FILE")
    assert not same("0.1", "0")


def test_restore_file(tmp_path: Path) -> None:
    """What is written is read again; it is private; a second one is refused and names the way out."""
    path = tmp_path / "deep" / "restore.json"
    write_restore_file(path, SAVED)
    assert read_restore_file(path) == SAVED
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match=r"an earlier capture of this server was not restored: .*--restore"):
        write_restore_file(path, SAVED)


def test_missing_and_damaged(tmp_path: Path) -> None:
    """No file is nothing to restore; another file is named as such."""
    with pytest.raises(InputError, match="there is nothing to restore"):
        read_restore_file(tmp_path / "none")
    for text in ("{", "[]", '{"changes": []}'):
        (tmp_path / "x").write_text(text)
        with pytest.raises(InputError, match="not a restore file"):
            read_restore_file(tmp_path / "x")


def test_one_file_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name comes of the server's identity, in the user's state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_restore_file("a").parent == Path("/state/querytape/restore")
    assert default_restore_file("a") == default_restore_file("a") != default_restore_file("b")
