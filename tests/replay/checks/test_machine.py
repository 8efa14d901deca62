# SPDX-License-Identifier: Apache-2.0
"""The limits of this machine."""

import os
import resource

from querytape.replay.checks.machine import measure


def test_limits_are_measured() -> None:
    """The limit of open files is raised to the hard one; numbers are positive where they are known."""
    machine = measure()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard
    assert machine.files == (None if hard == resource.RLIM_INFINITY else hard)
    for limit in (machine.files, machine.threads, machine.mappings, machine.ports):
        assert limit is None or limit > 0
    assert (machine.threads is None) == (machine.thread_limit == "")
    assert os.sched_getaffinity(0)
