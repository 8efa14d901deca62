# SPDX-License-Identifier: Apache-2.0
"""The registry of questions: one `.sql` file each, one line here. And asking them."""

import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

REPORT = (
    "accounting",
    "lateness",
    "totals",
    "digests",
    "pairs",
    "errors",
    "error_counts",
    "results",
    "compared",
    "timeline",
    "stalls",
    "slowness",
    "groups",
    "counters",
    "series",
    "rounds",
    "server_times",
)
# What the page of each digest, and the heat map, draw.
PAGES = ("distribution", "digest_timeline", "heat")
INSPECT = (
    "inspect_totals",
    "inspect_commands",
    "inspect_classes",
    "inspect_digests",
    "inspect_accounts",
    "inspect_concurrency",
    "inspect_arrivals",
    "inspect_transactions",
    "inspect_sizes",
    "inspect_tables",
)

Row = dict[str, Any]


def text(name: str) -> str:
    """Return a question's SQL."""
    return (files(__package__) / f"{name}.sql").read_text(encoding="utf-8")


@dataclass
class Desk:
    """A DuckDB connection with bounded memory in which questions are asked."""

    con: duckdb.DuckDBPyConnection
    folder: "tempfile.TemporaryDirectory[str]"

    def set(self, **variables: Any) -> None:
        """Set SQL variables."""
        for name, value in variables.items():
            self.con.execute(f"SET VARIABLE {name} = $1", [value])

    def set_list(self, name: str, values: list[str]) -> None:
        """Set a variable to a list of texts; NULL where it is empty."""
        self.con.execute(f"SET VARIABLE {name} = CAST($1 AS VARCHAR[])", [values or None])

    def run(self, name: str) -> None:
        """Run a file that only makes tables."""
        self.con.execute(text(name))

    def ask(self, name: str) -> list[Row]:
        """Return a question's rows as dicts."""
        cursor = self.con.execute(text(name))
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def columns(self, name: str) -> dict[str, Any]:
        """Return a question's answer as NumPy columns."""
        return dict(self.con.execute(text(name)).fetchnumpy())

    def close(self) -> None:
        """Close the connection and remove what it spilled."""
        self.con.close()
        self.folder.cleanup()


def open_desk(memory: str = "1500MB") -> Desk:
    """Open a desk; tables live in a temporary file, so that large runs need no large memory."""
    folder = tempfile.TemporaryDirectory(prefix="querytape-")
    con = duckdb.connect(str(Path(folder.name) / "desk.duckdb"))
    con.execute(f"SET memory_limit = '{memory}'")
    con.execute(f"SET temp_directory = '{folder.name}/spill'")
    con.execute("SET enable_progress_bar = false")
    con.execute("SET preserve_insertion_order = false")
    return Desk(con, folder)
