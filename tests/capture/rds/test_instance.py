# SPDX-License-Identifier: Apache-2.0
"""What an instance is, and whose parameter groups it has."""

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.instance import look_at
from querytape.common.errors import InputError

from tests.helpers.rds import Aws

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_an_instance_and_who_shares_its_group(aws: Aws) -> None:
    """Engine, group and status; the other instance that uses the same group is named."""
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
def test_a_cluster(aws: Aws) -> None:
    """An instance of Aurora has two groups, its own first; the name of a cluster is answered with its instances'."""
    aws.cluster()
    found = look_at(Cloud(), "au-1")
    assert found.cluster == "au"
    assert [(group.is_default, group.of_cluster) for group in found.groups] == [(True, False), (False, True)]
    assert found.groups[1].name == "au-group"
    assert found.groups[1].others == ("au-2",)
    with pytest.raises(InputError, match=r"it is a cluster: name one of its instances \(au-1, au-2\)"):
        look_at(Cloud(), "au")


@pytest.mark.long
def test_what_is_none(aws: Aws) -> None:
    """No instance of this name; one of another engine."""
    with pytest.raises(InputError, match="nothing: no such DB instance"):
        look_at(Cloud(), "nothing")
    aws.instance("pg", "default.postgres16", "postgres")
    with pytest.raises(InputError, match="its engine is 'postgres'"):
        look_at(Cloud(), "pg")
