# SPDX-License-Identifier: Apache-2.0
"""`querytape sql`: DuckDB with the tables of tapes and runs ready."""

import sys
from pathlib import Path

import click
import duckdb

from .errors import InputError
from .schemas import FolderError, open_folder, sql_text

PROMPT = "querytape> "
TAPE_TABLES = "tape_events, tape_sessions, tape_digests, tape_problems"


@click.command(
    "sql",
    short_help="Ask DuckDB about a tape or run.",
    epilog="""\b
Examples:
  querytape sql new.run
  querytape sql new.run -c 'SELECT status, count(*) FROM outcomes GROUP BY ALL'
  querytape sql shop.tape -c 'FROM digests ORDER BY events DESC LIMIT 5'
  querytape sql new.run --format csv -c 'FROM ticks' > ticks.csv
""",
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("-c", "--command", "commands", multiple=True, help="Run this and end; may be repeated.")
@click.option(
    "--format", "shape", type=click.Choice(["box", "csv", "json"]), default="box", show_default=True, help="Of rows."
)
def sql_command(folder: Path, commands: tuple[str, ...], shape: str) -> None:
    """Open a DuckDB shell on a run (outcomes, sessions, ticks, samples, texts, plans) or a tape (events, ...).

    A run's tape is there as well, where it lies where it was: tape_events, tape_sessions, tape_digests. Nothing of it
    can be changed. A line that ends with ; is run; Ctrl-D ends.
    """
    con = attach(folder)
    statements = list(commands) or (None if sys.stdin.isatty() else [sys.stdin.read()])
    if statements is None:
        shell(con, shape)
        return
    for statement in statements:
        try:
            run(con, statement, shape)
        except duckdb.Error as fault:
            raise InputError(str(fault)) from fault


def attach(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a database with a view for each table. Raises FolderError where it is neither tape nor run."""
    con = duckdb.connect()
    kind = "run" if (folder / "run.json").exists() else "tape"
    opened = open_folder(kind, folder)
    opened.attach(con, kind)
    for name in [row[0] for row in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]:
        con.execute(f"CREATE TEMP VIEW {name.removeprefix(f'{kind}_')} AS FROM {name}")
    if kind == "run":
        path = Path(str(opened.info.get("tape", {}).get("path", "")))
        try:
            open_folder("tape", path).attach(con, "tape")
        except FolderError:
            click.echo(f"the tape is not at {path}: there is no tape_events", err=True)
    con.execute(f"SET VARIABLE folder = {sql_text(folder)}")
    return con


def run(con: duckdb.DuckDBPyConnection, statement: str, shape: str) -> None:
    """Run statements and print the last one's rows. Raises duckdb.Error."""
    relation = con.sql(statement)
    if relation is None:
        return
    if shape == "box":
        click.echo(str(relation))
        return
    names = relation.columns
    if shape == "json":
        rows = con.sql(f"SELECT to_json(t)::VARCHAR FROM ({relation.sql_query()}) AS t").fetchall()
        click.echo("".join(f"{row[0]}\n" for row in rows), nl=False)
        return
    import csv

    writer = csv.writer(sys.stdout)
    writer.writerow(names)
    while rows := relation.fetchmany(10_000):
        writer.writerows(rows)


def shell(con: duckdb.DuckDBPyConnection, shape: str) -> None:
    """Read statements until the end of input; a fault is told and the shell goes on."""
    tables = [
        row[0] for row in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1").fetchall()
    ]
    click.echo(f"tables: {', '.join(tables)}; a statement ends with ;, Ctrl-D ends")
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
        except duckdb.Error as fault:
            click.echo(str(fault), err=True)
        waiting = ""
