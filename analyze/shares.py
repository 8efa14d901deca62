# SPDX-License-Identifier: Apache-2.0
"""Make the summary of a report from separate shares of the sessions. Any process may work on a share.

    names -> join of each share -> merge -> counts of each share -> merge -> chosen rows of each share -> merge

A step reads files and writes files in one folder, and its result is the path of these files. A step that is repeated
after a failure gives the same files.
"""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from ..common.duck import sql_text
from ..common.files import make_private, write_json
from ..schemas import Folder
from ..schemas.tape_set import TapeSet
from .database import ENUMS, AnalysisDatabase, open_analysis
from .inputs import Share, create_views, open_report, set_bins, set_variables, without_events
from .merge import merge_files
from .model import Report, Runner, Settings, Work

NAMES = ("digest_name", "short_name")  # types with the names of a tape
JOINED = "joined"
SPANS = ("spans",)
COUNTS = (
    *("shape_parts", "service_bins", "response_bins", "ratio_bins", "pair_counts", "block_parts", "block_bins"),
    *("part_counts", "time_bins", "heat_counts", "tenth_counts", "wait_counts", "session_counts", "account_counts"),
    *("late_bins", "lost_counts", "error_counts", "error_changes", "failed_counts", "matched_counts"),
    *("spoiled_writes", "tape_bins"),
)
CHOSEN = ("session_bins", "few_rows", "result_counts", "suspects_acts", "suspects_ends", "suspects_limited")
# Merged tables that the next step of each share needs.
NEEDED = {"count": SPANS, "choose": (*SPANS, "pair_counts", "session_counts", "matched_counts", "spoiled_writes")}
MADE = {"join": (JOINED, *SPANS), "count": COUNTS, "choose": CHOSEN}
ORDER = "order.json"


@dataclass(frozen=True)
class Order:
    """The work on the shares of a report.

    - `folder`: where the steps exchange their files.
    - `shares`: how many.
    - `tapes`: the tapes of each share. Empty means that the sessions are divided by their hash.
    """

    tape: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    folder: str
    shares: int
    seed: int = 0
    tapes: tuple[tuple[str, ...], ...] = ()
    skip_ns: int = 0
    memory: str = "1500MB"
    threads: int | None = None

    @classmethod
    def of(cls, report: Report, work: Work) -> "Order":
        """Return the order for a report."""
        a, b = (tuple(str(run.path.absolute()) for run in runs) for runs in (report.a, report.b))
        skip_ns, memory = report.settings.skip_ns, report.settings.memory
        named = (str(report.tape.path.absolute()), a, b, str(work.folder.absolute()))
        return cls(*named, work.shares, work.seed, divide(report.tape, work.shares), skip_ns, memory, work.threads)

    def open(self) -> Report:
        """Return the report without results."""
        settings = Settings(skip_ns=self.skip_ns, memory=self.memory)
        return open_report(Path(self.tape), [*map(Path, self.a)], [*map(Path, self.b)], settings)

    def share(self, number: int) -> Share:
        """Return a share of the sessions."""
        return Share(number, self.shares, self.seed, self.tapes[number] if self.tapes else ())


def divide(tape: Folder, shares: int) -> tuple[tuple[str, ...], ...]:
    """Return the tapes of a set for each share, of similar numbers of events.

    Returns nothing if there are fewer tapes than shares.
    """
    if not isinstance(tape, TapeSet) or len(tape.members) < shares:
        return ()
    sizes = {each.tape.path.name: int(each.tape.info["counts"]["events"]) for each in tape.members}
    groups: list[list[str]] = [[] for _ in range(shares)]
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        min(groups, key=lambda group: sum(sizes[each] for each in group)).append(name)
    return tuple(tuple(group) for group in groups)


def make_tables(database: AnalysisDatabase, report: Report, work: Work) -> None:
    """Make the tables of the summary up to those of chosen.sql. The views of inputs.py must exist."""
    order = Order.of(report, work)
    folder = Path(order.folder)
    database.set_variable("joined_later", True, "BOOLEAN")
    database.run("summary/names")
    for name in NAMES:
        database.con.execute(
            f"COPY (SELECT unnest(enum_range(NULL::{name}))::VARCHAR AS name) TO {sql_text(folder / name)}"
            " (FORMAT parquet)"
        )
    without_events(database, report)
    database.run("summary/join")
    database.run("summary/spans")
    _run(database, order, "join", SPANS, work.run)
    database.run("summary/facts")
    set_bins(database, report)
    write_json(folder / ORDER, {**asdict(order), "bin_ns": report.bin_ns})
    database.run("summary/events")
    _run(database, order, "count", COUNTS, work.run)
    database.run("summary/chosen")
    _run(database, order, "choose", CHOSEN, work.run)


def _run(database: AnalysisDatabase, order: Order, step: str, tables: Sequence[str], run: Runner) -> None:
    """Run a step of all shares, and merge its tables."""
    folder = Path(order.folder)
    for table in NEEDED.get(step, ()):
        if not (path := folder / f"{table}.parquet").exists():
            database.con.execute(f"COPY {table} TO {sql_text(path)} (FORMAT parquet)")
    found = run([partial(run_step, order, step, number) for number in range(order.shares)])
    for table in tables:
        merge_files(database, table, [path / f"{table}.parquet" for path in found])


def run_step(order: Order, step: str, number: int) -> Path:
    """Run a step of a share and return the folder with its tables. A finished step is not repeated."""
    folder = Path(order.folder)
    final = folder / f"{step}-{number}"
    if final.exists():
        return final
    report = order.open()
    with closing(open_analysis(order.memory, order.threads)) as database:
        set_variables(database, report)
        create_views(database, report, order.share(number))
        database.place(_rows(report) // order.shares)
        database.run("prelude")
        _read_names(database, folder)
        database.set_variable("joined_later", step != "join", "BOOLEAN")
        database.run("summary/join")
        database.run("summary/spans")
        if step != "join":
            _insert(database, JOINED, folder / f"join-{number}")
            _insert(database, "spans", folder)
            database.run("summary/facts")
            database.set_variable("bin_ns", json.loads((folder / ORDER).read_text())["bin_ns"], "BIGINT")
        if step == "count":
            database.run("summary/events")
        if step == "choose":
            for table in NEEDED[step][len(SPANS) :]:
                _create(database, table, folder)
            database.run("summary/chosen")
        return _keep(database, MADE[step], final)


def _rows(report: Report) -> int:
    """Return the number of events of a side, or 0 if it is unknown."""
    counts = report.tape.tape_info.get("counts") or {}
    return int(counts.get("events") or 0) * max(1, report.rounds)


def _read_names(database: AnalysisDatabase, folder: Path) -> None:
    """Create the types of summary/names.sql with the names of the whole tape."""
    for name in NAMES:
        rows = f"SELECT name FROM read_parquet({sql_text(folder / name)})"
        database.con.execute(f"CREATE TYPE {name} AS ENUM ({rows} ORDER BY 1)")


def _insert(database: AnalysisDatabase, table: str, folder: Path) -> None:
    """Insert the rows of a file into an existing table without rows."""
    database.con.execute(f"DELETE FROM {table}")
    database.con.execute(f"INSERT INTO {table} BY NAME FROM read_parquet({sql_text(folder / f'{table}.parquet')})")


def _create(database: AnalysisDatabase, table: str, folder: Path) -> None:
    """Create a table of events.sql from a file."""
    source = f"read_parquet({sql_text(folder / f'{table}.parquet')})"
    names = [name for name, *_ in database.con.execute(f"DESCRIBE FROM {source}").fetchall()]
    casts = ", ".join(f'"{name}"::{ENUMS[name]} AS "{name}"' for name in names if name in ENUMS)
    replaced = f" REPLACE ({casts})" if casts else ""
    database.con.execute(f"CREATE TABLE {table} AS SELECT *{replaced} FROM {source}")


def _keep(database: AnalysisDatabase, tables: Sequence[str], final: Path) -> Path:
    """Write the tables into a folder. The folder gets its name when it is complete."""
    made = final.with_name(f"{final.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    make_private(made)
    try:
        for table in tables:
            file = made / f"{table}.parquet"
            database.con.execute(f"COPY {table} TO {sql_text(file)} (FORMAT parquet)")
        try:
            made.rename(final)
        except OSError:
            if not final.exists():  # another attempt of the same step was faster
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return final
