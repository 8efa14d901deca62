# SPDX-License-Identifier: Apache-2.0
"""Lookup of instances and of the instances that use a parameter group. Errors of AWS and boto3 become readable
messages.
"""

import pytest
from querytape.capture.cloud.aws import Cloud, GoneError, look_at
from querytape.common.errors import InputError, RefusedError, TargetError

from tests.helpers.rds import Aws

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_aws_errors_become_readable_messages(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """The AWS errors are a missing instance, a denied action, missing credentials and a server that does not answer."""
    with pytest.raises(GoneError, match=r"rds:DownloadDBLogFilePortion: .*DBLogFileNotFoundFault"):
        Cloud().call("rds", "download_db_log_file_portion", DBInstanceIdentifier="x", LogFileName="none")
    aws.denied.add("DescribeDBLogFiles")
    with pytest.raises(RefusedError, match=r"may not call rds:DescribeDBLogFiles\. Allow the action in its IAM policy"):
        list(Cloud().pages("rds", "describe_db_log_files", "DescribeDBLogFiles", DBInstanceIdentifier="x"))
    with pytest.raises(RefusedError, match=r"boto3: .*nobody"):
        Cloud(profile="nobody")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    with pytest.raises(RefusedError, match="no credentials"):
        Cloud().call("rds", "describe_db_instances")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(RefusedError, match="--region"):
        Cloud()


@pytest.mark.long
def test_unusable_aws_answers_are_reported(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first AWS address has no server. The server at the second address answers with invalid XML."""
    monkeypatch.setattr(Aws, "answer", lambda self, action, asked: 1 / 0)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(TargetError, match="rds:DescribeDBInstances"):
        Cloud(attempts=1).call("rds", "describe_db_instances")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(TargetError, match="connect"):
        Cloud(attempts=1).call("rds", "describe_db_instances")


@pytest.mark.long
def test_instances_sharing_a_parameter_group_are_listed(aws: Aws) -> None:
    """Each listed instance has its engine, parameter group and status."""
    aws.instance()
    aws.client().create_db_instance(
        DBInstanceIdentifier="shop-2",
        DBInstanceClass="db.m5.large",
        Engine="mysql",
        AllocatedStorage=10,
        MasterUsername="admin",
        MasterUserPassword="secret-99",
        DBParameterGroupName="shop",
    )
    found = look_at(Cloud(), "shop-1")
    assert (found.engine, found.cluster, found.status) == ("mysql", None, {"shop": "in-sync"})
    assert [(group.name, group.others, group.is_default) for group in found.groups] == [("shop", ("shop-2",), False)]


@pytest.mark.long
def test_aurora_instance_uses_two_parameter_groups(aws: Aws) -> None:
    """The instance's own group comes before the cluster's group. If a cluster name is given instead of an instance
    name, the message lists the cluster's instances.
    """
    aws.cluster()
    found = look_at(Cloud(), "au-1")
    assert found.cluster == "au"
    assert [(group.is_default, group.of_cluster) for group in found.groups] == [(True, False), (False, True)]
    assert found.groups[1].name == "au-group"
    assert found.groups[1].others == ("au-2",)
    with pytest.raises(InputError, match=r"is a cluster\. Give the name of one of its instances: au-1, au-2"):
        look_at(Cloud(), "au")


@pytest.mark.long
def test_unknown_instance_and_unsupported_engine_are_refused(aws: Aws) -> None:
    with pytest.raises(InputError, match="nothing: no such DB instance"):
        look_at(Cloud(), "nothing")
    aws.instance("pg", "default.postgres16", "postgres")
    with pytest.raises(InputError, match="found the engine 'postgres'"):
        look_at(Cloud(), "pg")
