# SPDX-License-Identifier: Apache-2.0
"""Changes of a parameter group. The plan lists them, only necessary changes are made, and old values are restored."""

from pathlib import Path

import pytest
from querytape.capture.cloud.aws import Cloud, look_at
from querytape.capture.cloud.parameters import (
    RdsOptions,
    apply,
    choose_group,
    plan_parameters,
    plan_rds,
    read_parameters,
    restore_rds,
    take_back,
    wait_in_sync,
)
from querytape.capture.server_log.restore import RDS, RestoreFile, write_restore_file
from querytape.common.errors import InputError, RefusedError, TargetError

from tests.helpers.rds import Aws

pytestmark = pytest.mark.slow


def test_parameters_are_set_and_restored(aws: Aws) -> None:
    """Parameters that already have the required value are not changed. Restoring gives a changed parameter its old
    value. A parameter that had no value before is reset.
    """
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
    assert take_back(cloud, group, changes) == left  # the second restore sends no request
    assert aws.asked.count("ModifyDBParameterGroup") == 4  # aws.set() sent two of these requests


def test_parameter_changed_by_another_user_is_kept(aws: Aws) -> None:
    """Another user sets a value that is neither the old value nor the capture's value. The message names the parameter.
    AWS's refusals are reported.
    """
    aws.instance()
    cloud = Cloud()
    group = choose_group(look_at(cloud, "shop-1"))
    changes, _ = plan_parameters(read_parameters(cloud, group), group)
    apply(cloud, group, changes)
    aws.set("long_query_time", "7")
    left = take_back(cloud, group, changes)
    (text,) = left.changed
    assert "somebody else changed long_query_time (now '7')" in text
    assert aws.values()["long_query_time"] == "7"
    apply(cloud, group, changes)
    aws.denied.add("ResetDBParameterGroup")
    assert "rds:ResetDBParameterGroup" in take_back(cloud, group, changes).refused[0]


def test_capture_never_requires_a_reboot(aws: Aws) -> None:
    """A static parameter needs a reboot. If it is required, the capture is refused. If it is optional, it is left out
    and reported. Default parameter groups cannot be changed.
    """
    aws.instance()
    cloud = Cloud()
    group = choose_group(look_at(cloud, "shop-1"))
    aws.static.add("log_slow_extra")
    changes, notes = plan_parameters(read_parameters(cloud, group), group)
    assert "log_slow_extra" not in {change.name for change in changes}
    assert notes[0].startswith("log_slow_extra stays 0: a change of log_slow_extra requires a reboot")
    aws.static.add("log_output")
    with pytest.raises(RefusedError, match="log_output must be FILE, but a change of log_output requires a reboot"):
        plan_parameters(read_parameters(cloud, group), group)
    aws.instance("shop-9", "default.mysql8.0")
    with pytest.raises(
        RefusedError, match=r"default\.\S+\. Default parameter groups cannot be changed\. Create a parameter group"
    ):
        choose_group(look_at(cloud, "shop-9"))


def test_wait_for_a_parameter_group_ends_with_its_status(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameter group must be in sync twice in a row. If it is never in sync, the wait ends with an error that
    contains its status.
    """
    aws.instance()
    cloud = Cloud()
    instance = look_at(cloud, "shop-1")
    said: list[str] = []
    wait_in_sync(cloud, instance, instance.groups[0], 60, said.append, 0.01)
    assert said == ["parameter group shop: in-sync"] * 2
    aws.status = "applying"
    with pytest.raises(TargetError, match="is still 'applying' after 0 s"):
        wait_in_sync(cloud, instance, instance.groups[0], 0, said.append, 0.01)


def test_shared_parameter_group_is_refused(aws: Aws) -> None:
    """The error message lists the other instances of the parameter group. An option allows a shared group. The plan
    warns about sessions that keep their long_query_time.
    """
    aws.cluster()
    plan = plan_rds(Cloud(), "au-1", RdsOptions())
    shared = "1 other instance uses cluster parameter group au-group and would also log every statement: au-2"
    assert shared in plan.refused[0]
    assert plan_rds(Cloud(), "au-1", RdsOptions(shared_ok=True)).refused == ()
    text = "\n".join(plan.lines())
    assert "au-1: aurora-mysql" in text
    assert "slow_query_log = '1'   (now not set)" in text
    assert "keep their long_query_time" in text


def test_group_with_the_right_values_is_not_changed(aws: Aws) -> None:
    """A default parameter group is refused only if a parameter must change."""
    aws.instance("shop-9", "default.mysql8.0")
    with pytest.raises(RefusedError, match="Default parameter groups cannot be changed"):
        plan_rds(Cloud(), "shop-9", RdsOptions())
    aws.instance()
    values = {"slow_query_log": "1", "log_output": "FILE", "long_query_time": "0", "log_slow_extra": "1"}
    for name, value in {**values, "log_slow_admin_statements": "1"}.items():
        aws.set(name, value)
    plan = plan_rds(Cloud(), "shop-1", RdsOptions())
    assert plan.changes == ()
    assert "no change is needed" in plan.lines()[1]
    aws.set("long_query_time", "1")
    assert "WRITE EVERY STATEMENT" in "\n".join(plan_rds(Cloud(), "shop-1", RdsOptions()).lines())


@pytest.mark.long
def test_aurora_audit_log_changes_the_cluster_group(aws: Aws) -> None:
    """Event types that the owner already logs stay enabled. The plan lists the accounts that the audit log excludes."""
    aws.cluster()
    options = RdsOptions(audit=True, shared_ok=True)
    plan = plan_rds(Cloud(), "au-1", options)
    assert plan.group.of_cluster
    changes = {change.name: (change.before, change.wanted) for change in plan.changes}
    assert changes == {"server_audit_logging": ("", "1"), "server_audit_events": ("", "CONNECT,QUERY")}
    aws.set_for_cluster("server_audit_events", "QUERY_DDL, table,connect")
    aws.set_for_cluster("server_audit_incl_users", "app")
    aws.set_for_cluster("server_audit_logging", "1")
    plan = plan_rds(Cloud(), "au-1", options)
    assert [change.wanted for change in plan.changes] == ["CONNECT,QUERY,TABLE"]
    assert "server_audit_incl_users is set, so the audit log contains only statements of app" in "\n".join(plan.lines())
    aws.set_for_cluster("server_audit_events", "TABLE,QUERY,CONNECT")
    assert plan_rds(Cloud(), "au-1", RdsOptions(audit=True)).changes == ()


def test_rds_audit_log_changes_no_parameter(aws: Aws) -> None:
    """On RDS, the settings of the audit log belong to the option group. The plan explains this."""
    aws.instance()
    plan = plan_rds(Cloud(), "shop-1", RdsOptions(audit=True))
    assert plan.changes == ()
    assert "MARIADB_AUDIT_PLUGIN in the option group" in "\n".join(plan.lines())


@pytest.mark.slow
def test_killed_capture_is_restored_from_its_file(aws: Aws, tmp_path: Path) -> None:
    """The restore removes the restore file. A restore file for another parameter group is refused and kept."""
    aws.instance()
    before = aws.values()
    cloud = Cloud()
    plan = plan_rds(cloud, "shop-1", RdsOptions())
    saved = RestoreFile("shop-1", plan.group.arn, "2026-11-22", plan.changes, None, RDS, group=plan.group.name)
    write_restore_file(plan.restore_file, saved)
    apply(cloud, plan.group, plan.changes)
    assert "Run `querytape capture rds shop-1 --restore`" in plan_rds(cloud, "shop-1", RdsOptions()).refused[0]
    assert "restored the" in restore_rds(cloud, "shop-1", None)[0]
    assert aws.values() == before
    assert not plan.restore_file.exists()
    with pytest.raises(InputError, match="nothing to restore"):
        restore_rds(cloud, "shop-1", None)
    other = tmp_path / "other.json"
    write_restore_file(other, RestoreFile("shop-7", "arn:other", "t", plan.changes, None, RDS, group="x"))
    with pytest.raises(RefusedError, match="belongs to shop-7"):
        restore_rds(cloud, "shop-1", other)
    assert other.exists()
