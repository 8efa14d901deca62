# SPDX-License-Identifier: Apache-2.0
"""The changes of a parameter group: only what must, never what needs a reboot, and each back to what it was."""

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.instance import look_at
from querytape.capture.rds.parameters import (
    apply,
    choose_group,
    plan_parameters,
    read_parameters,
    take_back,
    wait_in_sync,
)
from querytape.common.errors import RefusedError, TargetError

from tests.helpers.rds import Aws

pytestmark = pytest.mark.slow


def test_there_and_back(aws: Aws) -> None:
    """What is right already is not touched; what was set has its value again, what was not set is not set again."""
    aws.instance()
    aws.set("long_query_time", "2.5")
    aws.set("slow_query_log", "1")
    before = aws.group("DBParameterGroup", "shop").parameters.keys() | set()
    cloud, values = Cloud(), aws.values()
    group = choose_group(look_at(cloud, "shop-1"))
    changes, notes = plan_parameters(read_parameters(cloud, group), group)
    assert {change.name: (change.before, change.role) for change in changes} == {
        "log_output": ("TABLE", "begin"),
        "long_query_time": ("2.5", "begin"),
        "log_slow_extra": ("", "reset"),
        "log_slow_admin_statements": ("", "reset"),
    }
    assert notes == []
    apply(cloud, group, changes)
    now = aws.values()
    assert (now["log_output"], now["long_query_time"], now["log_slow_extra"]) == ("FILE", "0", "1")
    left = take_back(cloud, group, changes)
    assert (left.changed, left.refused) == ((), ())
    assert aws.values() == values
    assert aws.group("DBParameterGroup", "shop").parameters.keys() == before | {"log_output"}
    assert take_back(cloud, group, changes) == left  # a second time nothing is sent
    assert aws.asked.count("ModifyDBParameterGroup") == 4  # 2 by set()


def test_what_somebody_else_set_stays(aws: Aws) -> None:
    """A value that is neither ours nor the old one is left and named; what AWS refuses is said."""
    aws.instance()
    cloud = Cloud()
    group = choose_group(look_at(cloud, "shop-1"))
    changes, _ = plan_parameters(read_parameters(cloud, group), group)
    apply(cloud, group, changes)
    aws.set("long_query_time", "7")
    left = take_back(cloud, group, changes)
    assert [text.partition(" is ")[0] for text in left.changed] == ["long_query_time"]
    assert aws.values()["long_query_time"] == "7"
    apply(cloud, group, changes)
    aws.denied.add("ResetDBParameterGroup")
    assert "rds:ResetDBParameterGroup" in take_back(cloud, group, changes).refused[0]


def test_a_reboot_is_never_asked_for(aws: Aws) -> None:
    """A needed parameter that is static is refused; a useful one is left out and said; default groups cannot change."""
    aws.instance()
    cloud = Cloud()
    group = choose_group(look_at(cloud, "shop-1"))
    aws.static.add("log_slow_extra")
    changes, notes = plan_parameters(read_parameters(cloud, group), group)
    assert "log_slow_extra" not in {change.name for change in changes}
    assert notes[0].startswith("log_slow_extra stays 0: it needs a reboot")
    aws.static.add("log_output")
    with pytest.raises(RefusedError, match="log_output must be FILE and needs a reboot"):
        plan_parameters(read_parameters(cloud, group), group)
    aws.instance("shop-9", "default.mysql8.0")
    with pytest.raises(RefusedError, match=r"default\.\S+: default groups are shared .* create a parameter group"):
        choose_group(look_at(cloud, "shop-9"))


def test_waiting_has_an_end(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """In sync twice in a row; a group that never is ends the waiting with its status."""
    aws.instance()
    cloud = Cloud()
    instance = look_at(cloud, "shop-1")
    said: list[str] = []
    wait_in_sync(cloud, instance, instance.groups[0], 60, said.append, 0.01)
    assert said == ["parameter group shop: in-sync"] * 2
    aws.status = "applying"
    with pytest.raises(TargetError, match="is 'applying' after 0 s"):
        wait_in_sync(cloud, instance, instance.groups[0], 0, said.append, 0.01)
