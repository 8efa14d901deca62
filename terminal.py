# SPDX-License-Identifier: Apache-2.0
"""Small things that several commands print."""

from datetime import UTC, datetime

import click
import duckdb

from .schemas import Folder

PROBLEMS_SHOWN = 10_000


def clock(ns: int) -> str:
    """Return a time in nanoseconds since the epoch as `2024-06-10 06:13:20.123`, UTC."""
    try:
        when = datetime.fromtimestamp(ns // 1_000_000_000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{ns} ns"
    return f"{when:%Y-%m-%d %H:%M:%S}.{ns % 1_000_000_000 // 1_000_000:03d}"


def printable(text: str) -> str:
    """Return a text of unknown origin with control characters made harmless."""
    return "".join(c if c.isprintable() else "?" for c in text)


def show_problems(tape: Folder) -> None:
    """Print every problem of a tape as `file, line N: expected ..., found ...`."""
    names = [str(entry["path"]) for entry in tape.info["files"]]
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT file, line, kind, detail FROM {tape.source('problems')} ORDER BY file, line LIMIT ?",
            [PROBLEMS_SHOWN + 1],
        ).fetchall()
    for file, line, kind, detail in rows[:PROBLEMS_SHOWN]:
        name = names[file] if 0 <= file < len(names) else f"file {file}"
        click.echo(printable(f"{name}, line {line}: {kind}: {detail}"))
    if len(rows) > PROBLEMS_SHOWN:
        click.echo(f"... the first {PROBLEMS_SHOWN:,} were shown; the rest is in {tape.path / 'problems.parquet'}")
