# SPDX-License-Identifier: Apache-2.0
"""Measures the first report on a tape and two runs in an object store, against the same report on local folders.

The store is a real S3 server (versitygw) on the same machine, so it takes CPU time from the report.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from ..stores.store import Store
from ..tests.helpers.object_store import find_store, running_store
from .bench_report import LARGE, SMALL, apart, first_report, make_run, make_tape, timed
from .pairs import MissingError, Pair, Side


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one pair for each of two sizes."""
    if find_store() is None:
        raise MissingError("no versitygw: run make servers")
    store = stack.enter_context(running_store(work / "store"))
    stack.enter_context(mock.patch.dict(os.environ, store.environment))
    for events in (SMALL, LARGE):
        tape = apart(make_tape, work / f"{events}.tape", events)
        runs = [apart(make_run, work / f"{events}-{number}.run", events) for number in (1, 2)]
        folders = [tape, *runs]
        for folder in folders:
            remote = Store(store.address(folder.name))
            for file in folder.rglob("*"):
                if file.is_file():
                    remote.put(str(file.relative_to(folder)), file)
        report = (sys.executable, "-m", "querytape", "report", "--html", str(work / "x.html"))
        local = (*report, *map(str, folders))
        stored = (*report, *(store.address(folder.name) for folder in folders))
        names = " ".join(folder.name for folder in folders)
        size = sum(file.stat().st_size for folder in folders for file in folder.rglob("*.parquet")) / 1e6
        yield Pair(
            f"A first report on two runs of {events:,} events ({size:,.0f} MB) in an object store, against a local one",
            Side("store", f"querytape report s3://... ({names})", lambda c=stored: timed(*c)),  # type: ignore[misc]
            Side("local", f"querytape report {names}", lambda c=local, r=runs[-1]: first_report(r, *c)),  # type: ignore[misc]
        )
