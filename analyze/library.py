# SPDX-License-Identifier: Apache-2.0
"""Reports for Python programs: how two runs differ, as DuckDB relations, HTML, JSON and Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import duckdb

from ..common.duck import open_database
from .build_report import build
from .gates import gate_values
from .model import Report, Settings
from .render.json_report import as_json
from .render.markdown import as_markdown
from .render.pages import as_html
from .render.tables import Table, all_rows, flat_verdicts, load_rows

AnyPath = str | PathLike[str]
ReportOptions = Settings  # as `import querytape` has it


@dataclass(frozen=True)
class ReportResult:
    """A report. `content` is everything it shows, as the renderers take it."""

    content: Report

    def verdicts(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each digest: its verdict, and both sides' times in nanoseconds."""
        return _relation(flat_verdicts(self.content))

    def answer(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return the rows of one query (analyze/sql/report/NAME.sql). Raises KeyError for another name."""
        return _relation(all_rows(self.content)[name])

    def numbers(self) -> dict[str, float]:
        """Return the names and values that `querytape report --fail-on` knows."""
        return gate_values(self.content)

    def html(self) -> str:
        """Return the report as one HTML file that needs nothing else."""
        return as_html(self.content)

    def json(self) -> str:
        """Return it as JSON."""
        return as_json(self.content)

    def markdown(self) -> str:
        """Return it as Markdown."""
        return as_markdown(self.content)


def report(
    tape: AnyPath,
    a: AnyPath | Sequence[AnyPath],
    b: AnyPath | Sequence[AnyPath] = (),
    options: ReportOptions | None = None,
) -> ReportResult:
    """Compare the runs `a` (the reference) and `b` of a tape, each one run or several rounds; without `b` show `a`.

    Raises FolderError where one of them is not what it is given as, InputError where they don't belong together.
    """
    return ReportResult(build(Path(tape), _paths(a), _paths(b), options))


def _paths(runs: AnyPath | Sequence[AnyPath]) -> list[Path]:
    return [Path(runs)] if isinstance(runs, str | PathLike) else [Path(run) for run in runs]


def _relation(rows: Table) -> duckdb.DuckDBPyRelation:
    con = open_database(memory=None)
    if not rows:
        return con.sql("SELECT NULL AS nothing WHERE false")
    load_rows(con, rows, "answer")
    return con.table("answer")
