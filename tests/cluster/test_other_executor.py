# SPDX-License-Identifier: Apache-2.0
"""The steps of a report need only something that runs them: Dask gives the same report as this process."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from querytape.analyze import Settings, as_json, build
from querytape.analyze.model import Step, Work

from tests.analyze.test_any_order import small


@pytest.mark.slow
def test_report_by_dask_equals_the_local_report(tmp_path: Path) -> None:
    tape, a, b = small(tmp_path)
    local = as_json(build(tape, a, b, Settings(keep_summary=False)))
    work = tmp_path / "work"
    work.mkdir()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):

        def run(steps: Sequence[Step]) -> list[Path]:
            futures = [client.submit(step, pure=False) for step in steps]
            return [future.result() for future in futures]

        settings = Settings(keep_summary=False, work=Work(work, 3, run, threads=1))
        assert as_json(build(tape, a, b, settings)) == local
