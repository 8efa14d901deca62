# SPDX-License-Identifier: Apache-2.0
"""Executors give equal results: each job writes its file or raises its error."""

import tempfile
from pathlib import Path

import duckdb
import pytest
from querytape.analyze.pieces.executors import EXECUTORS, Job
from querytape.common.duck import sql_text

pytestmark = pytest.mark.slow

SPILL = Path(tempfile.gettempdir()) / "never-made"


def job(file: str, query: str = "FROM t") -> Job:
    """Return a job with one table and one file."""
    return Job(("CREATE TABLE t AS SELECT 1::HUGEINT AS n, 0 AS piece",), ((file, query),), "100MB", 1, str(SPILL))


@pytest.mark.sampled
@pytest.mark.parametrize("name", EXECUTORS)
def test_each_executor_runs_all_jobs(name: str, tmp_path: Path) -> None:
    """There are more jobs than processes. Sums keep all digits. A job can run twice."""
    with EXECUTORS[name](2) as run:
        jobs = [
            job(f"{tmp_path}/{number}.parquet", f"SELECT {2**70} + {number} + n AS n FROM t") for number in range(5)
        ]
        run(jobs)
        run(jobs)
        dealt = job(f"{tmp_path}/dealt/", "SELECT n::INTEGER AS n, piece FROM t")
        run([dealt])
        run([dealt])
        run([job(f"{tmp_path}/nothing/", "FROM t WHERE false")])
    read = duckdb.execute(f"SELECT n::HUGEINT FROM {sql_text(str(tmp_path / '*.parquet'))} ORDER BY 1").fetchall()
    assert [row[0] for row in read] == [2**70 + number + 1 for number in range(5)]
    names = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "dealt").rglob("*.parquet"))
    assert [name.split("/")[:2] for name in names] == [["dealt", "piece=0"]]
    assert not [path for path in tmp_path.iterdir() if path.name.split(".")[-1].isdigit()]


@pytest.mark.parametrize("name", EXECUTORS)
def test_failed_job_raises_its_error_and_leaves_no_partial_file(name: str, tmp_path: Path) -> None:
    with EXECUTORS[name](2) as run, pytest.raises(duckdb.BinderException):
        run([job(f"{tmp_path}/x.parquet", "SELECT nothing FROM t")])
    assert list(tmp_path.iterdir()) == []
