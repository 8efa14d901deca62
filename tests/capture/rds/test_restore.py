# SPDX-License-Identifier: Apache-2.0
"""A restore file of a parameter group: used once, and only for its own group."""

from pathlib import Path

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.parameters import apply
from querytape.capture.rds.plan import RdsOptions, plan_rds
from querytape.capture.rds.restore import restore_rds
from querytape.capture.server_log.restore_file import RDS, RestoreFile, write_restore_file
from querytape.common.errors import InputError, RefusedError

from tests.helpers.rds import Aws


@pytest.mark.slow
def test_restore(aws: Aws, tmp_path: Path) -> None:
    """What a killed capture left is set back by its file, which goes; another group's file is refused and stays."""
    aws.instance()
    before = aws.values()
    cloud = Cloud()
    plan = plan_rds(cloud, "shop-1", RdsOptions())
    saved = RestoreFile("shop-1", plan.group.arn, "2026-11-22", plan.changes, None, RDS, group=plan.group.name)
    write_restore_file(plan.restore_file, saved)
    apply(cloud, plan.group, plan.changes)
    assert "run `querytape capture rds shop-1 --restore`" in plan_rds(cloud, "shop-1", RdsOptions()).refused[0]
    assert "is as it was" in restore_rds(cloud, "shop-1", None)[0]
    assert aws.values() == before
    assert not plan.restore_file.exists()
    with pytest.raises(InputError, match="nothing to restore"):
        restore_rds(cloud, "shop-1", None)
    other = tmp_path / "other.json"
    write_restore_file(other, RestoreFile("shop-7", "arn:other", "t", plan.changes, None, RDS, group="x"))
    with pytest.raises(RefusedError, match="belongs to shop-7"):
        restore_rds(cloud, "shop-1", other)
    assert other.exists()
