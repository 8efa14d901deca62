# SPDX-License-Identifier: Apache-2.0
"""Run the jobs of a report in pieces: one after the other in this process, or in several processes of this machine.

A job reads files and writes its own files. Each output file appears only when it is complete. A job can therefore run
on any machine with the same folder, and can be repeated after an interruption. A further executor needs one line in
EXECUTORS.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

import duckdb

from ...common.duck import open_database, sql_text

WORKER = "querytape.analyze.pieces.worker"


@dataclass(frozen=True)
class Job:
    """Setup statements for an empty database, then (file, query) pairs. The rows of each query become a Parquet file.

    A file name that ends with / becomes a folder with one subfolder per value of the column `piece`.
    """

    setup: tuple[str, ...]
    queries: tuple[tuple[str, str], ...]
    memory: str
    threads: int | None
    spill: str  # folder for data that exceeds the memory limit


Run = Callable[[Sequence[Job]], None]


def run_job(job: Job) -> None:
    """Run one job in this process."""
    spill = Path(f"{job.spill}.{os.getpid()}")
    with open_database(spill, job.memory, threads=job.threads, keep_order=False) as con:
        for statement in job.setup:
            con.execute(statement)
        for file, query in job.queries:
            _write(con, file, query)


def _write(con: duckdb.DuckDBPyConnection, file: str, query: str) -> None:
    """Write the rows of a query. Sums are converted to decimal numbers because Parquet has no HUGEINT."""
    if file.endswith("/"):
        made = f"{file[:-1]}.{os.getpid()}"
        options = "FORMAT parquet, PARTITION_BY (piece), OVERWRITE, COMPRESSION lz4"
        con.execute(f"COPY ({query}) TO {sql_text(made)} ({options})")
        if Path(file).exists():  # an earlier attempt of this job wrote the file
            shutil.rmtree(made)
        elif Path(made).exists():
            Path(made).rename(file[:-1])
        return
    wide = [name for name, kind, *_ in con.execute(f"DESCRIBE {query}").fetchall() if kind == "HUGEINT"]
    casts = f" REPLACE ({', '.join(f'{name}::DECIMAL(38, 0) AS {name}' for name in wide)})" if wide else ""
    made = f"{file}.{os.getpid()}"
    con.execute(f"COPY (SELECT *{casts} FROM ({query})) TO {sql_text(made)} (FORMAT parquet, USE_TMP_FILE false)")
    Path(made).rename(file)


@contextmanager
def in_order(processes: int) -> Iterator[Run]:
    """Yield a function that runs jobs one after the other in this process."""

    def run(jobs: Sequence[Job]) -> None:
        for job in jobs:
            run_job(job)

    yield run


@contextmanager
def local_processes(processes: int) -> Iterator[Run]:
    """Yield a function that gives jobs to worker processes.

    The workers end when the `with` block or this process ends.
    """
    command = [sys.executable, "-m", WORKER]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    free: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def run_one(job: Job) -> None:
        worker = free.get()
        try:
            _ask(worker, job)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(processes) as threads:

        def run(jobs: Sequence[Job]) -> None:
            for done in [threads.submit(run_one, job) for job in jobs]:
                done.result()

        try:
            yield run
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.kill()
                worker.communicate()


def _ask(worker: "subprocess.Popen[str]", job: Job) -> None:
    """Give a worker one job and wait for its answer. Raises the worker's error if the job failed."""
    if worker.stdin is None or worker.stdout is None:
        raise ValueError("the worker process has no pipes")
    try:
        worker.stdin.write(json.dumps(asdict(job)) + "\n")
        worker.stdin.flush()
    except BrokenPipeError:
        pass
    answer = worker.stdout.readline()
    if not answer:
        raise duckdb.Error("a worker process of the report ended unexpectedly")
    failed = json.loads(answer)
    if failed is not None:
        raise getattr(duckdb, failed["error"], duckdb.Error)(failed["text"])


# Executors by name. An executor is a context manager that takes the number of processes and yields a function that runs
# jobs.
EXECUTORS: dict[str, Callable[[int], AbstractContextManager[Run]]] = {
    "in order": in_order,
    "processes": local_processes,
}
