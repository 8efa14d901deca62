# SPDX-License-Identifier: Apache-2.0
"""What a dry run shows, and what it refuses."""

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.plan import RdsOptions, plan_rds
from querytape.common.errors import RefusedError

from tests.helpers.rds import Aws

pytestmark = pytest.mark.slow


def test_a_shared_group_is_refused(aws: Aws) -> None:
    """The other instances of a cluster's group are named; the option allows it. Sessions that stay are told."""
    aws.cluster()
    plan = plan_rds(Cloud(), "au-1", RdsOptions())
    assert "is used by 1 other instances, which would log everything, too: au-2" in plan.refused[0]
    assert plan_rds(Cloud(), "au-1", RdsOptions(shared_ok=True)).refused == ()
    text = "\n".join(plan.lines())
    assert "au-1: aurora-mysql" in text
    assert "slow_query_log = '1'   (now not set)" in text
    assert "keep their long_query_time" in text


def test_nothing_to_change(aws: Aws) -> None:
    """Where everything is set, nothing is changed; a default group is refused only where something must change."""
    aws.instance("shop-9", "default.mysql8.0")
    with pytest.raises(RefusedError, match="default groups are shared"):
        plan_rds(Cloud(), "shop-9", RdsOptions())
    aws.instance()
    values = {"slow_query_log": "1", "log_output": "FILE", "long_query_time": "0", "log_slow_extra": "1"}
    for name, value in {**values, "log_slow_admin_statements": "1"}.items():
        aws.set(name, value)
    plan = plan_rds(Cloud(), "shop-1", RdsOptions())
    assert plan.changes == ()
    assert "nothing has to change" in plan.lines()[1]
    aws.set("long_query_time", "1")
    assert "WRITE EVERY STATEMENT" in "\n".join(plan_rds(Cloud(), "shop-1", RdsOptions()).lines())


@pytest.mark.long
def test_the_audit_log_of_aurora(aws: Aws) -> None:
    """The cluster's group is changed; events that its owner logs stay logged; accounts that are left out are told."""
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
    assert "server_audit_incl_users is set: the log has nothing but the statements of app" in "\n".join(plan.lines())
    aws.set_for_cluster("server_audit_events", "TABLE,QUERY,CONNECT")
    assert plan_rds(Cloud(), "au-1", RdsOptions(audit=True)).changes == ()


def test_the_audit_log_of_rds(aws: Aws) -> None:
    """It belongs to the option group: nothing is changed, and that is said."""
    aws.instance()
    plan = plan_rds(Cloud(), "shop-1", RdsOptions(audit=True))
    assert plan.changes == ()
    assert "MARIADB_AUDIT_PLUGIN of the option group, which is yours to set" in "\n".join(plan.lines())
