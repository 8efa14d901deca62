# SPDX-License-Identifier: Apache-2.0
"""Which settings change, in which order, and how they are set back; on a server that is a dictionary."""

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
    """Set what a capture needs."""
    for change in changes:
        set_global(server.connection(), change.name, change.wanted)


def test_only_what_differs_changes_and_the_log_is_last() -> None:
    """A variable that the server does not have, or that is right already, is left alone."""
    changes = plan_changes(VARIABLES, "file", "/var/log/q.log")
    assert [(change.name, change.before, change.wanted) for change in changes] == [
        ("slow_query_log_file", "/var/log/slow.log", "/var/log/q.log"),
        ("long_query_time", "10.000000", "0"),
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
    assert "log_output" in [change.name for change in both]  # else the server's own file would get it, too
    already = plan_changes(VARIABLES | {"log_output": "TABLE"}, method, None)
    assert "log_output" not in [change.name for change in already]


def test_values_that_mean_the_same() -> None:
    """ON is 1, numbers are equal by value, texts whatever their case."""
    assert same("ON", "1")
    assert same("0.000000", "0")
    assert same("file", "FILE")
    assert not same("0.1", "0")
    assert not same("/var/log/Slow.log", "/var/log/slow.log")


OWN_LOG = VARIABLES | {"slow_query_log": "ON"}


def test_the_own_log_never_sees_what_only_the_capture_asked_for() -> None:
    """At each moment of setting and of setting back: where the threshold is 0, the own log's file is not written."""
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
    assert len(states) == 5  # as it was, two changes, two back
    for now in states:
        floods = float(now["long_query_time"]) == 0 and now["slow_query_log"] == "ON"
        assert not (floods and now["slow_query_log_file"] == OWN_LOG["slow_query_log_file"]), now


@pytest.mark.parametrize("method", ["file", "table", "general"])
@pytest.mark.parametrize("own", [VARIABLES, OWN_LOG, OWN_LOG | {GLOBAL_CONTROL: ""}])
def test_set_and_set_back_in_the_opposite_order(own: dict[str, str], method: str) -> None:
    """The log is switched on last and off first; afterwards every variable is as it was."""
    server = FakeServer(own)
    changes = plan_changes(own, method, "/q.log" if method == "file" else None)
    switch(server, changes)
    assert restore(server.connection(), changes).refused == ()
    assert server.variables == own
    names = [name for name, _ in server.sets]
    assert names == [change.name for change in changes] + [change.name for change in reversed(changes)]


def test_global_control_is_kept_while_sessions_carry() -> None:
    """Where Percona Server's control is, the own log need not be held off; off before, nothing need be kept at all."""
    percona = OWN_LOG | {GLOBAL_CONTROL: ""}
    roles = {change.name: change.role for change in plan_changes(percona, "file", "/q.log")}
    assert roles[GLOBAL_CONTROL] == CONTROL
    assert HOLD not in roles.values()
    roles = {change.name: change.role for change in plan_changes(VARIABLES | {GLOBAL_CONTROL: ""}, "file", "/q.log")}
    assert set(roles.values()) == {BEGIN}


def test_what_somebody_else_changed_meanwhile_stays() -> None:
    """Neither the value of before nor ours: it is left alone and named; everything else is set back."""
    server = FakeServer(VARIABLES)
    changes = plan_changes(VARIABLES, "file", "/q.log")
    switch(server, changes)
    server.variables["long_query_time"] = "0.500000"
    left = restore(server.connection(), changes)
    assert left.refused == ()
    (text,) = left.changed
    assert text.startswith("long_query_time is now '0.500000': somebody else changed it")
    assert server.variables == VARIABLES | {"long_query_time": "0.500000"}


def test_one_that_is_refused_does_not_stop_the_others() -> None:
    """What the server refuses is said; the rest is set back."""
    server = FakeServer(VARIABLES)
    changes = plan_changes(VARIABLES, "file", "/q.log")
    switch(server, changes)
    server.refused = {"slow_query_log_file"}
    left = restore(server.connection(), changes)
    assert left.changed == ()
    assert len(left.refused) == 1
    assert "slow_query_log_file" in left.refused[0]
    assert server.variables == VARIABLES | {"slow_query_log_file": "/q.log"}


def test_a_variable_that_is_gone() -> None:
    """A plugin's variable that the server no longer has is nothing to set back."""
    server = FakeServer(VARIABLES)
    assert restore(server.connection(), [Change("log_slow_gone", "1", "0")]).refused == ()


def test_a_refusal_names_the_right() -> None:
    """The server's own words, and the privilege."""

    class Refusing:
        def cursor(self) -> Any:
            raise pymysql.err.OperationalError(1227, "Access denied")

    with pytest.raises(RefusedError, match=r"1227 Access denied\. The account needs SYSTEM_VARIABLES_ADMIN"):
        set_global(Refusing(), "long_query_time", "0")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "changes"), [("1000", ["1000"]), ("1073741824", []), ("18446744073709551615", []), (None, [])]
)
def test_long_statements_are_logged(before: str | None, changes: list[str]) -> None:
    """MariaDB 13.1 may omit them: the bound becomes the longest statement, where it is lower."""
    variables = VARIABLES | ({} if before is None else {MAX_LENGTH: before})
    found = [change.before for change in plan_changes(variables, "file", "/q.log") if change.name == MAX_LENGTH]
    assert found == changes
    assert MAX_LENGTH not in [change.name for change in plan_changes(variables, "general", None)]
