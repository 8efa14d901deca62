# SPDX-License-Identifier: Apache-2.0
"""Write rows.py and tape_rows.py: row types of the analyses, derived from their SQL on empty tables (`make names`).

`check` writes nothing and fails if a file is out of date.
"""

import sys
from keyword import iskeyword
from pathlib import Path

from duckdb.sqltypes import DuckDBPyType

from ..common.duck import load_sql, open_database
from ..schemas import Folder, ddl
from ..schemas.executed_statements import executed_statements
from .database import (
    DETAILS,
    FACTS,
    INSPECT,
    PICTURES,
    QUANTILES,
    RACES,
    REPORT,
    SUMMARY,
    WORKLOAD,
    AnalysisDatabase,
    open_analysis,
)
from .row_values import parse_query
from .workload.workload import know_workload

HERE = Path(__file__).parent
PREFIXES = {
    "report": "",
    "servers": "",
    "": "",
    "inspect": "Tape",
    "workload": "Workload",
    "lint": "Lint",
}  # prefixes of type names, by folder of the SQL
# The variables and views that build_report.prepare creates, on empty tables of schemas/tape.sql and schemas/run.sql.
VARIABLES = {
    "errors_known": "BOOLEAN",
    "tape_in_server": "BOOLEAN",
    "tape_times": "BOOLEAN",
    "sort_lost": "BOOLEAN",
    "time_kept": "BOOLEAN",
    "writes_race": "BOOLEAN",
    "skip_ns": "BIGINT",
    "bin_ns": "BIGINT",
    "b": "VARCHAR",
    "shares": "INTEGER",
    "family_a": "VARCHAR",
    "family_b": "VARCHAR",
    "one_version": "BOOLEAN",
}
RUN = "SELECT '' AS run, 1::INTEGER AS round, "
VIEWS = {
    "tape_event": "FROM tape.events",
    "tape_digest": "FROM tape.digests",
    "every_outcome": f"{RUN}* FROM run.outcomes",
    "run_session": f"{RUN}* FROM run.sessions",
    "run_outcomes": "FROM run.outcomes",
    "schema_fact": "SELECT '' AS run, * FROM run.schema_facts",
    "log_event": "SELECT '' AS run, * FROM tape.events",
    "sampled": f"{RUN}real_ns, real_ns AS at_ns, source, name, value FROM run.samples",
}
# Columns that may be NULL, by analysis. SQL types do not include this property. tests/analyze/test_rows.py checks the
# list.
NULLABLE: dict[str, tuple[str, ...]] = {
    "report/accounting": ("reason", "service_ns"),
    "report/totals": (
        "elapsed_ns",
        "per_second",
        "service_ns",
        "service_p50_ns",
        "service_p90_ns",
        "service_p95_ns",
        "service_p99_ns",
        "service_p999_ns",
        "service_max_ns",
        "response_p50_ns",
        "response_p90_ns",
        "response_p95_ns",
        "response_p99_ns",
        "response_max_ns",
        "rows_sent",
        "rows_affected",
    ),
    "report/digests": (
        "total_ns",
        "p50_ns",
        "p90_ns",
        "p95_ns",
        "p99_ns",
        "p999_ns",
        "max_ns",
        "response_p95_ns",
        "rows_sent",
        "rows_affected",
        "tape_p50_ns",
        "tape_p95_ns",
        "tape_total_ns",
    ),
    "report/pairs": ("tail_share",),
    "report/errors": ("digest", "before", "after", "tape", "error", "error_before", "set_digest"),
    "report/error_counts": ("digest", "error"),
    "report/failed_everywhere": ("succeeded_errno", "unknown_errno", "first_session", "first_seq"),
    "report/lost_sessions": ("error",),
    "report/results": ("digest", "known", "reason", "more_sent", "root_digest", "root_errno"),
    "report/timeline": ("p50_ns", "p95_ns", "p99_ns"),
    "report/stalls": ("digest",),
    "report/groups": ("total_ns", "p50_ns", "p95_ns", "p99_ns"),
    "report/counters": ("a", "b"),
    "report/series": ("value",),
    "report/rounds": ("per_second", "p50_ns", "p95_ns", "p99_ns", "relative_latency"),
    "report/server_times": (
        "tape_n",
        "a_n",
        "b_n",
        "tape_p50_ns",
        "a_p50_ns",
        "b_p50_ns",
        "tape_p95_ns",
        "a_p95_ns",
        "b_p95_ns",
    ),
    "report/interference": ("others", "waiting", "pressure"),
    "servers/schema_differences": ("fact", "a", "b"),
    "sweep": ("elapsed_ns", "p50_ns", "p95_ns", "p99_ns"),
    "lint/findings": ("duration_ns",),
    "inspect/accounts": ("user", "db"),
    "inspect/arrivals": (
        "max_per_second",
        "median_per_second",
        "burstiness",
        "think_ns",
        "max_connects_per_second",
        "connects_per_second",
    ),
    "inspect/classes": ("duration_ns",),
    "inspect/concurrency": ("max_sessions", "max_statements", "mean_statements"),
    "inspect/digests": ("duration_ns", "p50_ns", "p95_ns", "max_ns"),
    "inspect/over_time": ("running",),
    "inspect/sizes": ("statement_bytes", "max_statement_bytes", "rows_sent", "max_rows_sent", "rows_affected"),
    "inspect/tables": ("reads", "writes", "others", "duration_ns"),
    "inspect/totals": (
        "first_ns",
        "last_ns",
        "per_second",
        "p50_ns",
        "p95_ns",
        "p99_ns",
        "max_ns",
        "busy_ns",
        "precision_ns",
    ),
    "inspect/transactions": ("statements", "most_statements", "span_ns", "longest_ns"),
    "inspect/two_tapes": ("mean_a_ns", "mean_b_ns"),
    "workload/columns": ("table_name", "duration_ns"),
    "workload/constant_reads": ("saved_ns",),
    "workload/hot_rows": ("lock_ns", "duration_ns"),
    "workload/n_plus_one": ("partner", "partner_normalized", "duration_ns"),
    "workload/not_committed": ("lost_ns",),
    "workload/not_parsed": ("duration_ns",),
    "workload/parsed": ("duration_ns",),
    "workload/signatures": ("duration_ns", "lock_ns"),
    "workload/usage": ("tables[].alias", "columns[].table", "columns[].op"),
    "workload/waits": ("signature", "held_by_signature", "waited", "lock_ns", "longest_ns", "duration_ns"),
}
# Analyses with rows that may be missing, for example for a digest that one side never ran. Their types allow `row or
# DigestsPart()`.
IN_PARTS = ("report/totals", "report/digests", "report/pairs", "report/rounds")
PYTHON_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), "int"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("varchar", "enum"), "str"),
    "boolean": "bool",
}
HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
"""What the rows of each analysis have: dicts with the columns of its last SELECT.

Made by `make names` from the files of {folders}. Do not edit.
"""

from typing import TypedDict
'''


def prepare_empty(database: AnalysisDatabase) -> None:
    """Create all tables and views that the analyses of a report read, without rows."""
    database.con.execute("USE memory")
    for kind in ("tape", "run"):
        database.con.execute(f"CREATE SCHEMA {kind}; USE memory.{kind}")
        database.con.execute(ddl(kind))
    database.con.execute("USE memory.main")
    for name, type_name in VARIABLES.items():
        database.set_variable(name, None, type_name)
    for name, query in VIEWS.items():
        database.con.execute(f"CREATE TEMP VIEW {name} AS {query}")
    database.run("prelude")
    for name in (*SUMMARY, QUANTILES):
        database.run(f"summary/{name}")
    with open_database(large_arrow=True) as reading:
        reading.execute(ddl("tape"))
        parse_query(database, reading, executed_statements("events", "NULL", "true"), "statement_values", "rows")
    database.run(f"summary/{RACES}")


def prepare_tape(database: AnalysisDatabase) -> None:
    """Create all tables and views that the analyses of one or two tapes read, without rows."""
    tape = Folder("tape", Path("no.tape"), {})
    tape.attach(database.con, "tape")
    tape.attach(database.con, "other")
    database.run("lint/texts")
    for name, type_name in (("bin_ns", "BIGINT"), ("hours", "DOUBLE"), ("other_hours", "DOUBLE")):
        database.set_variable(name, None, type_name)
    know_workload(database, tape, "500MB")


def columns_of(database: AnalysisDatabase, name: str) -> dict[str, DuckDBPyType]:
    """Return the columns of an analysis' last SELECT by name."""
    *steps, select = database.con.extract_statements(load_sql(__package__, f"{name}.sql"))
    for step in steps:
        database.con.execute(step)
    rows = database.con.sql(select.query)
    return dict(zip(rows.columns, rows.types, strict=True))


class Rows:
    """The types of one analysis' rows and of their nested values. `name`: for example report/errors."""

    def __init__(self, name: str, columns: dict[str, DuckDBPyType]) -> None:
        self.name, self.inner = name, list[str]()
        self._nullable = set(NULLABLE.get(name, ()))
        self._types = {column: self._column(column, kind) for column, kind in columns.items()}
        if self._nullable:
            raise ValueError(f"{name}: NULLABLE names {', '.join(sorted(self._nullable))}, which it does not have")

    def texts(self) -> list[str]:
        """Return the source of the types. Nested types come before the types that use them."""
        found = [*self.inner, dict_text(type_name(self.name), f"A row of {self.name}.sql.", self._types)]
        if self.name in IN_PARTS:
            what = f"What there is of a row of {self.name}.sql."
            found.append(dict_text(type_name(self.name, "Part"), what, self._types, total=False))
        return found

    def _column(self, path: str, kind: DuckDBPyType) -> str:
        """Return the type of a column or of its elements, with None if it may be NULL."""
        text = self._python_type(path, kind)
        if path not in self._nullable:
            return text
        self._nullable.remove(path)
        return f"{text} | None"

    def _python_type(self, path: str, kind: DuckDBPyType) -> str:
        """Return the Python type for an SQL type. Raises ValueError if the SQL type is not supported."""
        if kind.id == "list":
            ((_, inside),) = _children(kind)
            return f"list[{self._column(f'{path}[]', inside)}]"
        if kind.id == "struct":
            name = type_name(self.name, path.strip("[]").capitalize())
            types = {field: self._column(f"{path}.{field}", of_field) for field, of_field in _children(kind)}
            self.inner.append(dict_text(name, f"What is in {path} of a row of {self.name}.sql.", types))
            return name
        if kind.id not in PYTHON_TYPES:
            raise ValueError(f"{self.name}.{path}: expected a type of {', '.join(PYTHON_TYPES)}, found {kind}")
        return PYTHON_TYPES[kind.id]


def _children(kind: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    """Return the names and types inside a list or a struct."""
    return [(name, inside) for name, inside in kind.children if isinstance(inside, DuckDBPyType)]


def type_name(name: str, end: str = "Row") -> str:
    """Return the type name for an analysis' rows, for example ErrorCountsRow."""
    folder, _, words = name.rpartition("/")
    return PREFIXES[folder] + "".join(word.capitalize() for word in words.split("_")) + end


def dict_text(name: str, what: str, types: dict[str, str], total: bool = True) -> str:
    """Return the source of a TypedDict. The call syntax is used if a column name is a Python keyword."""
    if not any(map(iskeyword, types)):
        lines = "".join(f"    {column}: {kind}\n" for column, kind in types.items())
        return f'class {name}(TypedDict{"" if total else ", total=False"}):\n    """{what}"""\n\n{lines}'
    lines = "".join(f'        "{column}": {kind},\n' for column, kind in types.items())
    last = "" if total else "    total=False,\n"
    return f'# {what}\n{name} = TypedDict(\n    "{name}",\n    {{\n{lines}    }},\n{last})\n'


def all_text(name: str, what: str, folder: str, analyses: tuple[str, ...]) -> str:
    """Return the source of the type that contains several analyses' rows by name. All keys are optional."""
    types = {each: f"list[{type_name(f'{folder}/{each}')}]" for each in analyses}
    return dict_text(name, what, types, total=False)


def file_text(database: AnalysisDatabase, names: list[str], *groups: str) -> str:
    """Return the text of a file: the types of these analyses, then the group types."""
    paths = dict.fromkeys(f"analyze/sql/{name.rpartition('/')[0] or f'{name}.sql'}" for name in names)
    folders = " and ".join([", ".join([*paths][:-1]), [*paths][-1]])
    rows = [text for name in names for text in Rows(name, columns_of(database, name)).texts()]
    return "\n\n".join([HEAD.format(folders=folders), *rows, *groups])


def made() -> dict[Path, str]:
    """Return the text of each file."""
    report, tape = open_analysis(), open_analysis()
    try:
        prepare_empty(report)
        prepare_tape(tape)
        return {
            HERE / "rows.py": file_text(
                report,
                [*(f"report/{name}" for name in (*REPORT, *DETAILS)), "servers/schema_differences", "sweep"],
                all_text("Answers", "What a report shows: rows by analysis (database.REPORT).", "report", REPORT),
                all_text(
                    "Details", "What is drawn of digests: rows by analysis (database.DETAILS).", "report", DETAILS
                ),
            ),
            HERE / "tape_rows.py": file_text(
                tape,
                [f"inspect/{name}" for name in (*INSPECT, *PICTURES, *FACTS, "two_tapes")]
                + [*(f"workload/{name}" for name in WORKLOAD), "lint/findings"],
                all_text("TapeAnswers", "What is on a tape: rows by analysis (database.INSPECT).", "inspect", INSPECT),
                all_text("TapePictures", "What its page draws: rows by analysis (PICTURES).", "inspect", PICTURES),
                all_text("Workload", "What its statements do: rows by analysis (WORKLOAD).", "workload", WORKLOAD),
            ),
        }
    finally:
        report.close()
        tape.close()


def main() -> None:
    """Write the files, or check that they are up to date."""
    files = made()
    old = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if old and "check" in sys.argv:
        sys.exit(f"{', '.join(path.name for path in old)}: out of date with the SQL of the analyses: run `make names`")
    for path in old:
        path.write_text(files[path], encoding="utf-8")


if __name__ == "__main__":
    main()
