# SPDX-License-Identifier: Apache-2.0
"""`querytape sql`: DuckDB with the tables of tapes and runs ready."""

import csv
import json
import sys
from pathlib import Path

import click
import duckdb

from .errors import InputError
from .schemas import FolderError, open_folder, sql_text

PROMPT = "querytape> "


@click.command(
    "sql",
    short_help="Ask DuckDB about a tape or run.",
    epilog="""\b
Examples:
  querytape sql new.run
  querytape sql new.run -c 'SELECT errno, count(*) FROM outcomes GROUP BY 1'
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
