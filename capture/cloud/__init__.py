# SPDX-License-Identifier: Apache-2.0
"""Capture the slow or audit log of an instance of Amazon RDS or Aurora. Tested against an emulator only."""

from .aws import Cloud
from .parameters import RdsOptions, RdsPlan, plan_rds, restore_rds
from .run import RdsRecorded, record_rds

__all__ = ["Cloud", "RdsOptions", "RdsPlan", "RdsRecorded", "plan_rds", "record_rds", "restore_rds"]
