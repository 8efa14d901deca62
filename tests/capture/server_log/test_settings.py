# SPDX-License-Identifier: Apache-2.0
"""The settings that a capture changes, their order and their restore. A dictionary replaces the server."""

from collections.abc import Iterable
from typing import Any

import pymysql
import pytest
from querytape.capture.server_log.settings import (
    BEGIN,
    CONTROL,
    GLOBAL_CONTROL,
    HOLD,
    MAX_LENGTH,
    Change,
    plan_changes,
    restore,
    same,
    set_global,
)
from querytape.common.errors import RefusedError

from tests.helpers.fake_server import FakeServer

VARIABLES = {
    "long_query_time": "10.000000",
    "min_examined_row_limit": "0",
    "log_output": "FILE",
    "slow_query_log": "OFF",
    "slow_query_log_file": "/var/log/slow.log",
    "general_log": "OFF",
}


def switch(server: FakeServer, changes: Iterable[Change]) -> None:
    """Apply the settings of a capture."""
    for change in changes:
        set_global(server.connection(), change.name, change.wanted)


def test_only_different_settings_change_and_the_log_is_last() -> None:
    """Variables that the server lacks, or that already have the right value, stay unchanged."""
    changes = plan_changes(VARIABLES, "file", "/var/log/q.log")
    assert [(change.name, change.before, change.wanted) for change in changes] == [
        ("slow_query_log_file", "/var/log/slow.log", "/var/log/q.log"),
        ("long_query_time", "10.000000", "0"),
        ("slow_query_log", "OFF", "ON"),
    ]


@pytest.mark.parametrize(("method", "switch"), [("table", "slow_query_log"), ("general", "general_log")])
def test_log_tables_change_log_output(method: str, switch: str) -> None:
    """A capture of the general log does not change settings of the slow log."""
    names = [change.name for change in plan_changes(VARIABLES, method, None)]
    assert "log_output" in names
    assert names[-1] == switch
    assert ("long_query_time" in names) == (method == "table")
    both = plan_changes(VARIABLES | {"log_output": "FILE,TABLE"}, method, None)
    assert "log_output" in [change.name for change in both]  # without it, the server's own log file would get the rows
    already = plan_changes(VARIABLES | {"log_output": "TABLE"}, method, None)
    assert "log_output" not in [change.name for change in already]


def test_equivalent_values_are_equal() -> None:
    """ON equals 1. Numbers are compared by value, and strings without case."""
    assert same("ON", "1")
    assert same("0.000000", "0")
    assert same("file", "FILE")
    assert not same("0.1", "0")
    assert not same("/var/log/Slow.log", "/var/log/slow.log")


OWN_LOG = VARIABLES | {"slow_query_log": "ON"}


def test_own_log_never_receives_extra_statements() -> None:
    """While the threshold is 0, the server does not write its own log file. Each step of the restore keeps this rule."""
    server = FakeServer(OWN_LOG)
    changes = plan_changes(OWN_LOG, "file", "/q.log")
    assert [(change.name, change.role) for change in changes] == [
        ("slow_query_log_file", BEGIN),
        ("long_query_time", BEGIN),
        ("slow_query_log", HOLD),
    ]
    first = [change for change in changes if change.role == BEGIN]
    switch(server, first)
    restore(server.connection(), first)
    assert server.variables == OWN_LOG
    states = server.history
    assert len(states) == 5  # the initial state, two changes, two restores
    for now in states:
        floods = float(now["long_query_time"]) == 0 and now["slow_query_log"] == "ON"
        assert not (floods and now["slow_query_log_file"] == OWN_LOG["slow_query_log_file"]), now


@pytest.mark.parametrize("method", ["file", "table", "general"])
@pytest.mark.parametrize("own", [VARIABLES, OWN_LOG, OWN_LOG | {GLOBAL_CONTROL: ""}])
def test_settings_are_restored_in_reverse_order(own: dict[str, str], method: str) -> None:
    """The log is enabled last and disabled first. After the restore, each variable has its old value."""
    server = FakeServer(own)
    changes = plan_changes(own, method, "/q.log" if method == "file" else None)
    switch(server, changes)
    assert restore(server.connection(), changes).refused == ()
    assert server.variables == own
    names = [name for name, _ in server.sets]
    assert names == [change.name for change in changes] + [change.name for change in reversed(changes)]


def test_global_control_stays_until_capture_sessions_end() -> None:
    """Percona Server's global control makes all sessions use the global threshold, so the server's own log need not
    stay off. If this log was off before, the control is not kept.
    """
    percona = OWN_LOG | {GLOBAL_CONTROL: ""}
    roles = {change.name: change.role for change in plan_changes(percona, "file", "/q.log")}
    assert roles[GLOBAL_CONTROL] == CONTROL
    assert HOLD not in roles.values()
    roles = {change.name: change.role for change in plan_changes(VARIABLES | {GLOBAL_CONTROL: ""}, "file", "/q.log")}
    assert set(roles.values()) == {BEGIN}


def test_setting_changed_by_another_user_is_kept() -> None:
    """Another user sets a value that is neither the old value nor the capture's value. The message names the variable.
    All other variables are restored.
    """
    server = FakeServer(VARIABLES)
    changes = plan_changes(VARIABLES, "file", "/q.log")
    switch(server, changes)
    server.variables["long_query_time"] = "0.500000"
    left = restore(server.connection(), changes)
    assert left.refused == ()
    (text,) = left.changed
    assert text.startswith("somebody else changed long_query_time to '0.500000'")
    assert server.variables == VARIABLES | {"long_query_time": "0.500000"}


def test_refused_setting_does_not_stop_the_others() -> None:
    server = FakeServer(VARIABLES)
    changes = plan_changes(VARIABLES, "file", "/q.log")
    switch(server, changes)
    server.refused = {"slow_query_log_file"}
    left = restore(server.connection(), changes)
    assert left.changed == ()
    assert len(left.refused) == 1
    assert "slow_query_log_file" in left.refused[0]
    assert server.variables == VARIABLES | {"slow_query_log_file": "/q.log"}


def test_removed_variable_is_not_restored() -> None:
    """The variable belonged to a plugin that was uninstalled from the server."""
    server = FakeServer(VARIABLES)
    assert restore(server.connection(), [Change("log_slow_gone", "1", "0")]).refused == ()


def test_refused_setting_message_names_the_privilege() -> None:
    """The message also contains the server's error text."""

    class Refusing:
        def cursor(self) -> Any:
            raise pymysql.err.OperationalError(1227, "Access denied")

    with pytest.raises(RefusedError, match=r"1227 Access denied\. The account needs SYSTEM_VARIABLES_ADMIN"):
        set_global(Refusing(), "long_query_time", "0")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "changes"), [("1000", ["1000"]), ("1073741824", []), ("18446744073709551615", []), (None, [])]
)
def test_length_limit_of_logged_statements_is_raised(before: str | None, changes: list[str]) -> None:
    """MariaDB 13.1 can omit long statements from its log. A lower limit is raised to the maximum statement length."""
    variables = VARIABLES | ({} if before is None else {MAX_LENGTH: before})
    found = [change.before for change in plan_changes(variables, "file", "/q.log") if change.name == MAX_LENGTH]
    assert found == changes
    assert MAX_LENGTH not in [change.name for change in plan_changes(variables, "general", None)]
