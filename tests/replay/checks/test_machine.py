# SPDX-License-Identifier: Apache-2.0
"""Tests of the measured limits of this machine."""

import os
import resource

from querytape.replay.checks.machine import measure


def test_limits_of_the_machine_are_measured() -> None:
    """The measurement raises the limit of open files to the hard limit. All known limits are positive."""
    machine = measure()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard
    assert machine.files == (None if hard == resource.RLIM_INFINITY else hard)
    for limit in (machine.files, machine.threads, machine.mappings, machine.ports):
        assert limit is None or limit > 0
    assert (machine.threads is None) == (machine.thread_limit == "")
    assert os.sched_getaffinity(0)
