# SPDX-License-Identifier: Apache-2.0
"""The registry of analyses, one `.sql` file and one word each; and the database in which they run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import load_sql, open_database, sql_text
from ..common.temporary import TemporaryFolder
from ..schemas import ddl

# What a report shows: files of sql/report.
REPORT = (
    "accounting",
    "lateness",
    "totals",
    "digests",
    "pairs",
    "errors",
    "error_counts",
    "failed_everywhere",
    "lost_sessions",
    "results",
    "compared",
    "timeline",
    "stalls",
    "relative_latency",
    "groups",
    "counters",
    "series",
    "rounds",
    "server_times",
    "interference",
)
SUSPECTS = "suspects"  # before all of these: what it makes is in no report; row_values.py
# What the statement details and the heat map draw, and what the verdicts are computed from: also files of sql/report.
DETAILS = ("distribution", "digest_timeline", "heat")
VERDICTS = ("blocks", "slow_tail", "few_pairs")
# What is on a tape: files of sql/inspect.
INSPECT = (
    "totals",
    "commands",
    "classes",
    "digests",
    "accounts",
    "concurrency",
    "arrivals",
    "transactions",
    "sizes",
    "tables",
)
# What its page draws: also files of sql/inspect.
PICTURES = ("over_time", "heat", "think_times")
# What a report of a fault has of it, next to some of those.
FACTS = ("flags", "errors")
# What its statements do: files of sql/workload, and those that make what they stand on.
WORKLOAD = (
    "parsed",
    "not_parsed",
    "usage",
    "columns",
    "signatures",
    "lock_orders",
    "n_plus_one",
    "open_transactions",
    "not_committed",
    "constant_reads",
    "hot_rows",
    "waits",
)
WORKLOAD_TABLES = ("digests", "events", "transactions", "keys")

Row = dict[str, Any]
ROW_BYTES = 160  # that a row of the largest table takes in memory, at most about


@dataclass
class AnalysisDatabase:
    """A DuckDB connection with bounded memory in which analyses run, each named by its path in `sql` without suffix."""

    con: duckdb.DuckDBPyConnection
    folder: TemporaryFolder
    made: dict[str, str] = field(default_factory=dict)  # of analyses whose tables are there: the SELECT that is left

    def set_variable(self, name: str, value: Any, type_name: str) -> None:
        """Set an SQL variable of a type that it also has where the value is None."""
        self.con.execute(f"SET VARIABLE {name} = CAST($1 AS {type_name})", [value])

    def place(self, rows: int) -> None:
        """Say how many rows the largest table will have: few of them are kept in memory.

        Packing them for the file takes longer than all that is asked of them.
        """
        self.con.execute("USE memory" if rows * ROW_BYTES <= self.limit() // 4 else "USE disk")

    def is_small(self, rows: int) -> bool:
        """Whether so many outcomes are kept as a table, where each query would open their files again."""
        return rows * ROW_BYTES <= self.limit() // 64

    def limit(self) -> int:
        """Return its bound of memory, in bytes."""
        ((limit,),) = self.con.execute("SELECT parse_formatted_bytes(current_setting('memory_limit'))").fetchall()
        return int(limit)

    def run(self, name: str) -> None:
        """Run a file that only makes tables and views."""
        self.con.execute(_sql(name))

    def query(self, name: str) -> list[Row]:
        """Return an analysis' rows as dicts."""
        cursor = self.con.execute(self.made.get(name) or _sql(name))
        columns = [column[0] for column in cursor.description or []]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]

    def columns(self, name: str) -> dict[str, Any]:
        """Return an analysis' rows as NumPy columns."""
        return dict(self.con.execute(self.made.get(name) or _sql(name)).fetchnumpy())

    def close(self) -> None:
        """Close the connection and remove what it spilled."""
        self.con.close()
        self.folder.remove()


def analysis_texts() -> list[tuple[str, str]]:
    """Return name and text of each analysis of a report."""
    return [(f"report/{name}", _sql(f"report/{name}")) for name in (SUSPECTS, *REPORT, *DETAILS, *VERDICTS)]


def _sql(name: str) -> str:
    return load_sql(__package__, f"{name}.sql")


def open_analysis(memory: str = "1500MB") -> AnalysisDatabase:
    """Open a database for analyses; tables live in a temporary file, so that large runs need no large memory."""
    folder = TemporaryFolder()
    con = open_database(Path(folder.name) / "spill", memory, keep_order=False)
    con.execute(f"ATTACH {sql_text(Path(folder.name) / 'analysis.duckdb')} AS disk; USE disk")
    con.execute(ddl("names"))
    return AnalysisDatabase(con, folder)
