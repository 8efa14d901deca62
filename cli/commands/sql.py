# SPDX-License-Identifier: Apache-2.0
"""`querytape sql`: opens DuckDB with the tables of a tape or run."""

import csv
import json
import sys
from pathlib import Path

import click
import duckdb

from ...capture.literals import define_texts
from ...common.duck import open_database, plain_reason, sql_text
from ...common.errors import InputError, QuerytapeError
from ...common.temporary import temporary_folder
from ...schemas import open_folder
from ...schemas.engine_views import NAMES, define_views
from ..stored_folders import StoredFolder, local_copy

PROMPT = "querytape> "
FAILED = """
SELECT o.session, o.seq, o.clone, o.errno, o.error, e.errno AS tape_errno, e.digest, e."user", e.db, e.text
FROM run_outcomes AS o JOIN event_texts AS e USING (session, seq)
WHERE o.status = 'executed' AND o.errno <> 0
"""
UNREADABLE = (duckdb.IOException, duckdb.InternalException, duckdb.InvalidInputException, duckdb.OutOfMemoryException)


@click.command(
    "sql",
    epilog="""\b
Examples:
  querytape sql new.run
  querytape sql new.run -c 'SELECT errno, count(*) FROM outcomes GROUP BY 1'
  querytape sql shop.tape -c 'FROM digests ORDER BY events DESC LIMIT 5'
  querytape sql new.run --format csv -c 'FROM ticks' > ticks.csv
  querytape sql new.run -c "SELECT error, text FROM failed LIMIT 1"
  querytape sql shop.tape --views spark > shop.sql
""",
)
@click.argument("folder", type=StoredFolder())
@click.option(
    "-c",
    "--command",
    "commands",
    multiple=True,
    metavar="SQL",
    help="Run this statement and exit; may be given several times.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["box", "csv", "json"]),
    default="box",
    show_default=True,
    help="Output format of the rows.",
)
@click.option(
    "--views",
    "engine",
    type=click.Choice(sorted(NAMES)),
    help="Instead: print statements that define the tables in this engine, and exit.",
)
def sql_command(folder: Path, commands: tuple[str, ...], shape: str, engine: str | None) -> None:
    """Query a tape or a run with SQL (DuckDB).

    A tape has the tables events, sessions, digests and problems. A run has the tables outcomes, sessions, ticks,
    samples, texts, query_plans and schema_facts. The tables of a run's tape are named tape_events, tape_sessions, and
    so on.

    The view `event_texts` contains each event with its statement and bound values (column `text`). The view `failed`
    contains a run's failed events with errors and texts. All tables are read-only. Without -c, a shell reads statements
    that end with a semicolon, until Ctrl-D.

    --views defines the tables in another engine, which must see the files at the same paths. For Trino, the statements
    need a schema of a Hive catalog.
    """
    if engine is not None:
        kind = "run" if (folder / "run.json").exists() else "tape"
        click.echo("\n\n".join(define_views(open_folder(kind, folder), engine)))
        return
    with temporary_folder() as spill, attach(folder, Path(spill)) as con:
        statements = list(commands) or (None if sys.stdin.isatty() else [sys.stdin.read()])
        if statements is None:
            shell(con, shape)
            return
        for statement in statements:
            try:
                run(con, statement, shape)
            except duckdb.Error as error:
                raise InputError(reason(error)) from error


def attach(folder: Path, spill: Path) -> duckdb.DuckDBPyConnection:
    """Return a database with a view for each table. Raises FolderError if the folder is neither a tape nor a run."""
    con = open_database(spill, memory=None)
    kind = "run" if (folder / "run.json").exists() else "tape"
    opened = open_folder(kind, folder)
    opened.attach(con, kind)
    for name in [row[0] for row in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]:
        con.execute(f"CREATE TEMP VIEW {name.removeprefix(f'{kind}_')} AS FROM {name}")
    if kind == "run":
        named = str(opened.info.get("tape", {}).get("path", ""))
        try:
            path = Path(local_copy(named, click.get_current_context(silent=True)))
            open_folder("tape", path).attach(con, "tape")
        except QuerytapeError:
            click.echo(f"the run's tape was not found at {named}, so the tables tape_events, ... are missing", err=True)
        else:
            define_texts(con)
            con.execute(f"CREATE TEMP VIEW failed AS {FAILED}")
    else:
        define_texts(con)
    con.execute(f"SET VARIABLE folder = {sql_text(folder)}")
    return con


def reason(error: duckdb.Error) -> str:
    """Return DuckDB's message about a user's statement, or querytape's own message about an unreadable file."""
    return plain_reason(error) if isinstance(error, UNREADABLE) else str(error)


def run(con: duckdb.DuckDBPyConnection, statement: str, shape: str) -> None:
    """Run statements and print the rows of the last statement. Raises duckdb.Error."""
    if shape == "box":
        relation = con.sql(statement)
        if relation is not None:
            click.echo(str(relation))
        return
    cursor = con.execute(statement)
    names = [column[0] for column in cursor.description or []]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if shape == "csv":
        writer.writerow(names)
    while rows := cursor.fetchmany(10_000):
        if shape == "csv":
            writer.writerows(rows)
        else:
            lines = (json.dumps(dict(zip(names, row, strict=True)), default=str, ensure_ascii=False) for row in rows)
            click.echo("".join(f"{line}\n" for line in lines), nl=False)


def shell(con: duckdb.DuckDBPyConnection, shape: str) -> None:
    """Read and run statements until the end of input. Errors are printed, and the shell continues."""
    tables = [
        row[0] for row in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1").fetchall()
    ]
    click.echo(f"tables: {', '.join(tables)}. End each statement with a semicolon. Press Ctrl-D to quit")
    waiting = ""
    while True:
        try:
            line = input("        -> " if waiting else PROMPT)
        except EOFError:
            click.echo()
            return
        except KeyboardInterrupt:
            waiting = ""
            click.echo()
            continue
        waiting += line + "\n"
        if not line.rstrip().endswith(";"):
            continue
        try:
            run(con, waiting, shape)
        except duckdb.Error as error:
            click.echo(reason(error), err=True)
        waiting = ""
