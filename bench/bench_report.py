# SPDX-License-Identifier: Apache-2.0
"""Measures the first and the second report on two runs of 1 and 10 million events.

The peer is pt-query-digest on a log of 1 million events.
"""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

import duckdb

from ..common.duck import sql_text
from ..common.files import make_private, write_json
from ..replay.calibrate import make_even_tape
from ..schemas import FORMAT_VERSION, select_list
from .made_tapes import list_files
from .pairs import Figures, MissingError, Pair, Side, run_program

SMALL, LARGE = 1_000_000, 10_000_000
DIGESTS = 500
SESSIONS = 100


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one pair for each of the two sizes. Only the smaller size has a peer: pt-query-digest."""
    for events in (SMALL, LARGE):
        tape = apart(make_tape, work / f"{events}.tape", events)
        runs = [apart(make_run, work / f"{events}-{number}.run", events) for number in (1, 2)]
        peer = None
        if events == SMALL:
            if shutil.which("pt-query-digest") is None:
                raise MissingError("no pt-query-digest: it is in percona-toolkit")
            log = write_log(work / "same.log", events)
            theirs = ("pt-query-digest", "--no-version-check", "--limit", "10", str(log))
            peer = Side("pt-query-digest", " ".join(theirs), lambda c=theirs: timed(*c))  # type: ignore[misc]
        command = (
            sys.executable,
            "-m",
            "querytape",
            "report",
            str(tape),
            *map(str, runs),
            "--html",
            str(work / "x.html"),
        )
        shown = f"querytape report {tape.name} {runs[0].name} {runs[1].name} --html x.html"
        first = Side("querytape", shown, lambda c=command, r=runs[-1]: first_report(r, *c))  # type: ignore[misc]
        yield Pair(
            f"A report on two runs of {events:,} events each",
            first,
            peer,
            "pt-query-digest reads one log of the same events: a report reads twice as many, from Parquet."
            if peer
            else "",
        )
        yield Pair(
            f"A second report on two runs of {events:,} events each, against the first",
            Side("second", shown, lambda c=command: timed(*c)),  # type: ignore[misc]
            Side("first", first.command, first.run),
            "The second report reads the summary that the first report keeps in the folder of the last run.",
        )


def first_report(run: Path, *command: str) -> Figures:
    """Run a report without a kept summary."""
    shutil.rmtree(run / "summary", ignore_errors=True)
    return timed(*command)


def apart(make: Callable[[Path, int], Path], path: Path, events: int) -> Path:
    """Make a file in a separate process.

    The peak memory of a child process starts from its parent's memory. A separate process keeps the parent small.
    """
    child = get_context("spawn").Process(target=make, args=(path, events))
    child.start()
    child.join()
    if child.exitcode:
        raise RuntimeError(f"{path}: could not be made")
    return path


def timed(*command: str) -> Figures:
    """Run a program and return its seconds and its peak memory."""
    began = time.monotonic()
    ran = run_program(*command)
    return {"seconds": time.monotonic() - began, "CPU s": ran.cpu_s, "peak MB": ran.peak_bytes / 1e6}


def make_tape(path: Path, events: int) -> Path:
    """Write a tape with many digests."""
    make_even_tape(path, SESSIONS, events, 10_000)
    with duckdb.connect() as con:
        part = path / "events" / "part-00000.parquet"
        con.execute(
            f"CREATE TABLE e AS SELECT * REPLACE (printf('%016x', \"offset\" % {DIGESTS}) AS digest) FROM '{part}'"
        )
        con.execute(f"COPY e TO {sql_text(part)} (FORMAT parquet)")
        rows = (
            "SELECT printf('%016x', i) AS digest, 'read' AS class,"
            " 'select c from t' || i || ' where id = ?' AS normalized,"
            f" ('SELECT c FROM t' || i || ' WHERE id = 1')::BLOB AS sample, 30 AS sample_bytes,"
            f" {events // DIGESTS} AS events, 0 AS duration_ns, 0 AS first_ns, 0 AS last_ns FROM range({DIGESTS}) t(i)"
        )
        have = {
            "digest",
            "class",
            "normalized",
            "sample",
            "sample_bytes",
            "events",
            "duration_ns",
            "first_ns",
            "last_ns",
        }
        query = f"SELECT {select_list('tape', 'digests', have)} FROM ({rows})"
        con.execute(f"COPY ({query}) TO {sql_text(path / 'digests.parquet')}")
    list_files(path)
    return path


def make_run(path: Path, events: int) -> Path:
    """Write a run of the tape whose execution times have a log-normal distribution."""
    make_private(path)
    make_private(path / "outcomes")
    rows = (
        f"SELECT 1 + i % {SESSIONS} AS session, 1 + i // {SESSIONS} AS seq, 0 AS clone, i * 100000 AS due_ns,"
        " due_ns AS queued_ns, due_ns AS free_ns, due_ns + 20000 AS sent_ns, (due_ns + 20000 + 200000"
        " * exp(0.3 * sqrt(-2 * ln(random() + 1e-12)) * cos(6.2832 * random())))::BIGINT AS done_ns,"
        f" 'executed' AS status, 0 AS errno, 1 AS rows_sent, 0 AS warnings FROM range({events}) t(i)"
    )
    have = {"session", "seq", "clone", "due_ns", "queued_ns", "free_ns", "sent_ns", "done_ns", "status", "errno"}
    query = f"SELECT {select_list('run', 'outcomes', have | {'rows_sent', 'warnings'})} FROM ({rows})"
    with duckdb.connect() as con:
        con.execute(f"COPY ({query}) TO {sql_text(path / 'outcomes' / 'part-00000.parquet')} (FORMAT parquet)")
    write_json(
        path / "run.json",
        {
            "format_version": FORMAT_VERSION,
            "finished": True,
            "partial": None,
            "measuring_point": "client",
            "target": {"name": "a server"},
            "tape": {"events": events},
            "accounting": {"balanced": True},
        },
    )
    return path


def write_log(path: Path, events: int) -> Path:
    """Write a slow log with this number of statements."""
    with path.open("w") as out:
        for number in range(events):
            second = number // 10_000
            out.write(
                f"# Time: 2026-11-20T12:{second // 60 % 60:02d}:{second % 60:02d}.{number % 10000:04d}00Z\n"
                f"# User@Host: app[app] @ web1 [10.0.0.1]  Id: {number % SESSIONS}\n"
                "# Query_time: 0.000200  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
                f"SET timestamp={1795176000 + second};\n"
                f"SELECT c FROM t{number % DIGESTS} WHERE id = {number};\n"
            )
    return path
