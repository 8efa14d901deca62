# SPDX-License-Identifier: Apache-2.0
"""The summary of a report: small tables that the events of its runs are counted into.

The SQL files of sql/summary make the tables, and all analyses of a report read only them. The summary of many events is
kept in the folder `summary` of the last run, so that a second report of the same runs does not read the events again.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import load_sql, sql_text
from ..common.files import make_private, write_json
from ..common.staged import address_of
from ..schemas import Folder, ddl
from .database import ENUMS, QUANTILES, RACES, SUMMARY, SUSPECTS, AnalysisDatabase
from .inputs import set_bins
from .model import Report
from .row_values import find_values
from .shares import make_tables

FOLDER, INFO = "summary", "summary.json"
KEPT_EVENTS = 200_000  # a summary of fewer events takes less time to make than to keep
# Tables that analyses read. They are kept. The tables of bins are not kept, because only quantiles.sql reads them.
TABLES = (
    *(
        "spans",
        "shape_counts",
        "pair_counts",
        "block_counts",
        "part_counts",
        "heat_counts",
        "tenth_counts",
        "wait_counts",
    ),
    *("session_counts", "account_counts", "lost_counts", "error_counts", "error_changes", "failed_counts"),
    *("matched_counts", "spoiled_writes", "few_rows", "result_counts", "races_found", "limits_found"),
    *("digest_quantiles", "response_quantiles", "run_quantiles", "round_quantiles", "ratio_quantiles", "pair_tails"),
    *("block_quantiles", "tail_quantiles", "tick_quantiles", "tick_counts", "height_counts", "group_counts"),
    *("group_quantiles", "late_quantiles", "tape_quantiles"),
)
# SQL variables that the tables depend on.
VARIABLES = ("b", "skip_ns", "errors_known", "writes_race", "tape_times")
SHORT = ["-", "a", "b"]  # names that every report has
MADE_TABLES = ("joined", "failure", "late_rows")  # tables with a row per event, which no analysis reads


def make_summary(database: AnalysisDatabase, report: Report, events: int, shares: int) -> None:
    """Make the tables of the summary, or read them from the folder of the last run.

    The views and variables of inputs.py must exist. `events`: events of a side. `shares`: number of steps in which the
    sides are joined.
    """
    database.run("prelude")
    folder = (report.b or report.a)[-1].path / FOLDER
    made_from = _made_from(database, report)
    if not _read(database, folder, made_from):
        if report.settings.work is not None:
            make_tables(database, report, report.settings.work)
        else:
            _count(database, report, shares)
        find_values(database, report.tape, report.settings.memory)
        for table in MADE_TABLES:
            database.con.execute(f"DROP TABLE IF EXISTS {table}")
        database.run(f"summary/{QUANTILES}")
        if report.settings.keep_summary and events >= KEPT_EVENTS and address_of(folder.parent) is None:
            _keep(database, folder, made_from)
        return
    database.run("summary/facts")
    set_bins(database, report)


def _count(database: AnalysisDatabase, report: Report, shares: int) -> None:
    """Join the sides in shares, and count all events."""
    database.set_variable("shares", shares, "INTEGER")
    for name in SUMMARY:
        if name == "events":
            set_bins(database, report)
        database.run(f"summary/{name}")
        for share in range(1, shares) if name == "join" else ():
            database.con.execute(f"INSERT INTO joined FROM joined_of({share}, {shares})")


def _made_from(database: AnalysisDatabase, report: Report) -> dict[str, Any]:
    """Return what the tables depend on: the files of the tape and the runs, the variables, and the SQL itself."""
    names = ("prelude", *(f"summary/{name}" for name in (*SUMMARY, SUSPECTS, RACES, QUANTILES)))
    texts = ddl("names") + "".join(load_sql(__package__, f"{name}.sql") for name in names)
    runs = {
        f"{letter}{number}": _files(run, "outcomes", "sessions")
        for letter, rounds in report.sides.items()
        for number, run in enumerate(rounds, 1)
    }
    listed = ", ".join(f"getvariable('{name}')::VARCHAR" for name in VARIABLES)
    values = database.con.execute(f"SELECT {listed}").fetchall()[0]
    return {
        "sql": hashlib.sha256(texts.encode()).hexdigest(),
        "variables": dict(zip(VARIABLES, values, strict=True)),
        "tape": _files(report.tape, "events", "digests"),
        "runs": runs,
    }


def _files(folder: Folder, *tables: str) -> list[list[Any]]:
    """Return [name, bytes, time of the last change in ns] of each file of these tables."""
    paths = [path for table in tables for path in folder.files(table)]
    found = [(path, path.stat()) for path in paths]
    return [[str(path.relative_to(folder.path)), stat.st_size, stat.st_mtime_ns] for path, stat in found]


def _read(database: AnalysisDatabase, folder: Path, made_from: dict[str, Any]) -> bool:
    """Read the tables from a folder. Returns False if the folder has no such tables, or tables of other events."""
    try:
        info = json.loads((folder / INFO).read_text(encoding="utf-8"))
        if info["made_from"] != made_from:
            return False
        shapes = _rows(folder, "shape_counts")
        for kind, names in (
            ("digest_name", f"SELECT digest AS name FROM {shapes} UNION SELECT digest FROM tape_digest"),
            (
                "short_name",
                f'SELECT unnest([class, "user", db, run]) AS name FROM {shapes} UNION SELECT unnest({SHORT})',
            ),
        ):
            database.con.execute(
                f"CREATE TYPE {kind} AS ENUM (SELECT name FROM ({names}) WHERE name IS NOT NULL ORDER BY 1)"
            )
        for table in TABLES:
            casts = ", ".join(f'"{name}"::{ENUMS[name]} AS "{name}"' for name in info["enums"][table])
            replaced = f" REPLACE ({casts})" if casts else ""
            database.con.execute(f"CREATE TABLE {table} AS SELECT *{replaced} FROM {_rows(folder, table)}")
    except (OSError, ValueError, KeyError, TypeError, duckdb.Error):
        for table in TABLES:
            database.con.execute(f"DROP TABLE IF EXISTS {table}")
        database.con.execute("DROP TYPE IF EXISTS digest_name; DROP TYPE IF EXISTS short_name")
        return False
    return True


def _rows(folder: Path, table: str) -> str:
    return f"read_parquet({sql_text(folder / f'{table}.parquet')})"


def _keep(database: AnalysisDatabase, folder: Path, made_from: dict[str, Any]) -> None:
    """Write the tables into a folder, in place of an older summary. Remove what a killed report has left.

    If they cannot be written, or something else has the folder's name, nothing changes for the user.
    """
    if folder.exists() and not (folder / INFO).exists():
        return
    made = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    for left in folder.parent.glob(f"{folder.name}.*.tmp"):
        pid = left.suffixes[-2].removeprefix(".")
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)
    try:
        make_private(made)
        enums = {}
        for table in TABLES:
            kinds = database.con.execute(f"DESCRIBE {table}").fetchall()
            enums[table] = [name for name, kind, *_ in kinds if kind.startswith("ENUM")]
            database.con.execute(f"COPY {table} TO {sql_text(made / f'{table}.parquet')} (FORMAT parquet)")
        write_json(made / INFO, {"made_from": made_from, "enums": enums})
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    except (OSError, duckdb.Error):
        pass
    finally:
        shutil.rmtree(made, ignore_errors=True)
