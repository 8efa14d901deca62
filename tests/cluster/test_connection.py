# SPDX-License-Identifier: Apache-2.0
"""The connection to a Ray cluster: authentication, a missing package, and no report of usage to anyone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.cluster.connection import connect
from querytape.common.errors import InputError

from tests.analyze.test_any_order import small

from .test_tasks import BOUND_S, CHECKOUT, secure


def test_cluster_without_authentication_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(InputError, match="--cluster ray: this command runs without RAY_AUTH_MODE=token"):
        connect("auto", False, "--cluster ray")


def test_missing_ray_is_an_error_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="pip install 'querytape\\[cluster\\]'"):
        connect("auto", True, "--cluster ray")


def test_cluster_that_does_not_answer_is_an_error_at_once() -> None:
    with pytest.raises(InputError, match="cannot connect to the cluster"):
        connect("127.0.0.1:1", True, "--cluster ray")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="not tested: namespaces require root")
def test_command_on_a_cluster_sends_nothing_to_other_hosts(tmp_path: Path) -> None:
    """All packets to other hosts, also those to the name server, would leave through one interface."""
    tape, (a,), (b,) = small(tmp_path)
    words = ["report", *map(str, (tape, a, b)), "--cluster", "ray:CLUSTER", "--cluster-folder", str(tmp_path)]
    done = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, "-m", "tests.helpers.quiet_network", str(tmp_path), *words],
        cwd=CHECKOUT,
        env=secure(tmp_path),
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0 1", done.stdout
