# SPDX-License-Identifier: Apache-2.0
"""Capture the slow log or audit log of an Amazon RDS or Aurora instance. Tested against an emulator only."""

from .aws import Cloud
from .parameters import RdsOptions, RdsPlan, plan_rds, restore_rds
from .run import RdsRecorded, record_rds

__all__ = ["Cloud", "RdsOptions", "RdsPlan", "RdsRecorded", "plan_rds", "record_rds", "restore_rds"]
