# SPDX-License-Identifier: Apache-2.0
"""The registry and the database of analyses. Each SQL file is registered, variables have types, and the commands in the
file headers work.
"""

import re
from pathlib import Path

import duckdb
import pytest
from querytape.analyze.database import (
    DETAILS,
    FACTS,
    INSPECT,
    PICTURES,
    QUANTILES,
    RACES,
    REPORT,
    SUMMARY,
    SUSPECTS,
    VERDICTS,
    WORKLOAD,
    WORKLOAD_TABLES,
    open_analysis,
)
from querytape.common.duck import sql_text

from tests.helpers.runs import keep_sessions, make_run
from tests.helpers.tapes import MS, make_tape

SQL = Path(__file__).resolve().parents[2] / "analyze" / "sql"
LINT = ("lint/findings", "lint/texts")  # tested in tests/analyze/lint
NAMES = sorted(str(path.relative_to(SQL).with_suffix("")) for path in SQL.rglob("*.sql"))
TYPED = re.compile(r"^--   ( *(?:SET VARIABLE|CREATE VIEW|CREATE TABLE|INSERT INTO|UNION ALL|FROM|\.read) .*)$", re.M)


def head(text: str) -> str:
    return text[: re.search(r"^(?!--)", text, re.M).start()]  # type: ignore[union-attr]


def test_every_file_is_registered() -> None:
    """Each SQL file is registered once. Files that another analysis or only one caller uses are not registered."""
    registered = [f"report/{name}" for name in (*REPORT, *DETAILS, *VERDICTS)] + [
        f"inspect/{name}" for name in (*INSPECT, *FACTS, *PICTURES)
    ]
    registered += [f"summary/{name}" for name in (*SUMMARY, SUSPECTS, RACES, QUANTILES)]
    registered += [f"workload/{name}" for name in (*WORKLOAD, *WORKLOAD_TABLES)]
    assert (
        sorted(
            [
                *registered,
                "prelude",
                "sweep",
                "inspect/two_tapes",
                "servers/schema_differences",
                *LINT,
            ]
        )
        == NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_header_has_question_inputs_and_commands(name: str) -> None:
    """The header of an SQL file contains a question, the inputs, and commands to run the file manually. The first SQL
    file has no inputs.
    """
    text = head((SQL / f"{name}.sql").read_text())
    assert "?" in text
    assert "by hand" in text.lower()
    assert name == "prelude" or "Input:" in text


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with the tapes and runs that the headers mention."""
    folder = tmp_path_factory.mktemp("by-hand")
    events = [{"statement": "SELECT 1 FROM t", "duration_ns": MS, "user": "app", "db": "shop"}] * 320
    for name in ("shop.tape", "later.tape"):
        make_tape(folder / name, events)
    (folder / "shop.sweep").mkdir()
    for run in ("old.run", "new.run", "shop.sweep/8.run"):
        path = make_run(folder / run, folder / "shop.tape", [{} for _ in events])
        (path / "samples").mkdir()
        keep_sessions(path)
        with duckdb.connect() as con:
            con.execute(
                "CREATE TABLE s AS SELECT (1700000100 + n) * 1000000000 AS real_ns, source, name, 100.0 * n AS value"
                " FROM range(5) AS r(n), (VALUES ('status', 'Handler_read_key'), ('status', 'Threads_running')) AS c(source, name)"
            )
            facts = "SELECT 'index' AS kind, 'shop' AS db, 't' AS tbl, i AS name, '{}' AS facts FROM (VALUES ('k'), ('l')) AS v(i)"
            file = sql_text(path / "schema_facts.parquet")
            con.execute(f"COPY ({facts} LIMIT {1 + ('old' in run)}) TO {file} (FORMAT parquet)")
            con.execute(f"COPY s TO {sql_text(path / 'samples' / 'part-00000.parquet')} (FORMAT parquet)")
    return folder


def shell(lines: list[str], workplace: Path) -> int:
    """Run the lines as the DuckDB shell does, with paths relative to the folder. Return the row count of the last
    statement.
    """
    rows = 0
    with duckdb.connect() as con:
        for line in lines:
            if line.startswith(".read "):
                statement = (SQL.parents[1] / line.split()[1]).read_text()
            else:
                statement = re.sub(
                    r"'((?:shop|later|old|new)\.[^']*)'", lambda m: sql_text(str(workplace / m[1])), line
                )
            rows = len(con.execute(statement).fetchall())
    return rows


def commands(name: str) -> list[str]:
    """Return the commands of a file header. Continuation lines are joined."""
    joined = "\n".join(TYPED.findall(head((SQL / f"{name}.sql").read_text())))
    return joined.replace("\n    ", " ").splitlines()


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_commands_of_every_header_run(name: str, workplace: Path) -> None:
    """The paths in the header of an SQL file exist. Its commands run in their order, after those of prelude.sql."""
    lines = commands(name)
    assert name == "prelude" or lines[-1] == f".read analyze/sql/{name}.sql"
    variables = [line for line in commands("prelude") if not line.startswith(".read analyze")]
    rows = shell(lines if name == "prelude" else [*variables, *lines], workplace)
    may_be_empty = (
        "prelude",
        "inspect/errors",
        "inspect/flags",
        "report/results",
        "report/errors",
        "report/error_counts",
        "report/lost_sessions",
        "report/stalls",
        "report/server_times",
        "report/interference",
        "report/few_pairs",
        "lint/texts",
    )
    assert rows > 0 or name in may_be_empty or name.startswith("summary/")


def test_sql_commands_of_the_report_page_are_those_of_the_headers() -> None:
    page = (SQL.parents[1] / "docs" / "report.md").read_text()
    block = page.partition("in the `duckdb` shell, from a checkout of querytape:\n\n")[2].partition("\n\n")[0]
    shown = [line[4:] for line in block.replace("\n        ", " ").splitlines()]
    variables = [line for line in commands("prelude") if not line.startswith(".read analyze")]
    assert shown == [*variables, *commands("report/totals")]


def test_variables_have_types() -> None:
    """A variable that is NULL still has a type, so that analyses can test it. Rows are available as dicts and as
    columns.
    """
    database = open_analysis()
    try:
        database.set_variable("names", None, "VARCHAR[]")
        database.set_variable("number", 7, "BIGINT")
        kinds = database.con.execute("SELECT typeof(getvariable('names')), typeof(getvariable('number'))").fetchall()
        assert kinds == [("VARCHAR[]", "BIGINT")]
        database.con.execute("CREATE VIEW tape_events AS SELECT 'ping' AS command, NULL AS class, NULL AS statement")
        assert database.query("inspect/commands") == [
            {"command": "ping", "events": 1, "with_statement": 0, "without_class": 1}
        ]
        assert list(database.columns("inspect/commands")["events"]) == [1]
        folder = Path(database.folder.name)
        assert folder.exists()
    finally:
        database.close()
    assert not folder.exists()


def test_tables_with_few_rows_are_kept_in_memory() -> None:
    """Tables with few rows are in memory and made in one step. Tables with many rows are in a file and made in shares.
    Tables with an unknown number of rows are in a file."""
    database = open_analysis("64MB")
    try:
        for name, rows, shares in (("unknown", None, 1), ("few", 1000, 1), ("many", 1_000_000, 3)):
            if rows is not None:
                assert database.place(rows) == shares
            database.con.execute(f"CREATE TABLE {name} AS SELECT 1 AS x")
        rows_of = "SELECT table_name, database_name FROM duckdb_tables() ORDER BY ALL"
        assert database.con.execute(rows_of).fetchall() == [("few", "memory"), ("many", "disk"), ("unknown", "disk")]
        assert database.con.execute("SELECT x FROM many").fetchall() == [(1,)]
    finally:
        database.close()
