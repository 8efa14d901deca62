# SPDX-License-Identifier: Apache-2.0
"""Capture the slow log of an instance of Amazon RDS or Aurora: its log files, or CloudWatch."""

from .cloud import Cloud
from .plan import RdsOptions, RdsPlan, plan_rds
from .recording import RdsRecorded, record_rds
from .restore import restore_rds

__all__ = ["Cloud", "RdsOptions", "RdsPlan", "RdsRecorded", "plan_rds", "record_rds", "restore_rds"]
