# SPDX-License-Identifier: Apache-2.0
"""Reports for Python programs on the differences of two runs, as DuckDB relations, HTML, JSON and Markdown."""

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
ReportOptions = Settings  # public name in `import querytape`


@dataclass(frozen=True)
class ReportResult:
    """A report. `content` contains all of its data, for the renderers."""

    content: Report

    def verdicts(self) -> duckdb.DuckDBPyRelation:
        """Return one row per digest: its verdict, and both sides' times in nanoseconds."""
        return _relation(flat_verdicts(self.content))

    def answer(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return the rows of the query analyze/sql/report/NAME.sql. Raises KeyError if the name is unknown."""
        return _relation(all_rows(self.content)[name])

    def numbers(self) -> dict[str, float]:
        """Return the values that `querytape report --fail-on` can use, by name."""
        return gate_values(self.content)

    def html(self) -> str:
        """Return the report as one self-contained HTML file."""
        return as_html(self.content)

    def json(self) -> str:
        """Return the report as JSON."""
        return as_json(self.content)

    def markdown(self) -> str:
        """Return the report as Markdown."""
        return as_markdown(self.content)


def report(
    tape: AnyPath,
    a: AnyPath | Sequence[AnyPath],
    b: AnyPath | Sequence[AnyPath] = (),
    options: ReportOptions | None = None,
) -> ReportResult:
    """Compare run `a` (the reference) with run `b` of a tape. Each side is one run or a list of rounds.

    Without `b` the report shows `a` only. Raises FolderError if a path is not a folder of the expected kind. Raises
    InputError if a run belongs to another tape.
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
