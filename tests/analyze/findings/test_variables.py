# SPDX-License-Identifier: Apache-2.0
"""Server settings that differ."""

from querytape.analyze.findings.variables import different_variables, setting_differences


def test_what_matters_comes_first_and_a_version_is_folded() -> None:
    """By importance, not by alphabet; old names are the new ones; a switch of one version and a gone mode are folded."""
    a = {"sort_buffer_size": "1", "sql_mode": "X,NO_AUTO_CREATE_USER", "tx_isolation": "R", "back_log": "1"}
    b = {"sort_buffer_size": "2", "sql_mode": "X", "transaction_isolation": "R", "back_log": "2"}
    found = setting_differences({**a, "optimizer_switch": "mrr=on"}, {**b, "optimizer_switch": "mrr=on,new=on"})
    assert [(each.name, each.folded) for each in found] == [
        ("sql_mode", True),
        ("optimizer_switch", True),
        ("sort_buffer_size", False),
    ]


def test_an_empty_value_is_its_meaning() -> None:
    """MySQL 5.7 shows no flush method where it is fsync; any other one differs."""
    assert setting_differences({"innodb_flush_method": ""}, {"innodb_flush_method": "fsync"}) == []
    found = setting_differences({"innodb_flush_method": ""}, {"innodb_flush_method": "O_DIRECT"})
    assert [each.text for each in found] == ["innodb_flush_method: empty in A, O_DIRECT in B"]


def test_modes_are_sets() -> None:
    """Another order of modes is no difference."""
    assert setting_differences({"sql_mode": "A,B"}, {"sql_mode": "B,A"}) == []
    assert setting_differences({"sql_mode": "A,B"}, {"sql_mode": ""})[0].text == "sql_mode: only A has A, B"


def test_variables_that_only_one_server_has_come_last() -> None:
    """None stands for a variable that a server does not have; a server's own names are none of it."""
    rows = different_variables({"old": "1", "z": "1"}, {"new": "2", "z": "2", "server_id": "7"})
    assert [(row["name"], row["a"], row["b"]) for row in rows] == [
        ("z", "1", "2"),
        ("new", None, "2"),
        ("old", "1", None),
    ]
    assert different_variables({"port": "1", "a": "1", "b": "2"}, {"port": "2", "a": "1", "b": "3"}) == [
        {"name": "b", "a": "2", "b": "3"}
    ]
