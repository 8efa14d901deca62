# SPDX-License-Identifier: Apache-2.0
"""A worker process answers each job and ends when its input is closed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_worker_answers_each_job_and_ends_at_end_of_input(tmp_path: Path) -> None:
    """The worker answers each job with one line: null or the error."""
    good = {
        "setup": [],
        "queries": [[f"{tmp_path}/x.parquet", "SELECT 1 AS one"]],
        "memory": "100MB",
        "threads": 1,
        "spill": str(tmp_path),
    }
    bad = good | {"setup": ["SELECT nothing"]}
    done = subprocess.run(
        [sys.executable, "-m", "querytape.analyze.pieces.worker"],
        input="".join(json.dumps(each) + "\n" for each in (good, bad, good)),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert (first, third) == (None, None)
    assert second["error"] == "BinderException"
    assert "nothing" in second["text"]
