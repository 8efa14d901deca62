# SPDX-License-Identifier: Apache-2.0
"""Makes the two copies of a data folder that `querytape try` compares: before and after the DDL.

A private server makes both copies. The tables named in the DDL are analyzed on both copies, so that fresh statistics
are not mistaken for an effect of the index.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pymysql

from ..analyze import Report
from ..common.duck import open_database
from ..common.errors import InputError, TargetError
from ..common.text import printable
from ..common.units import count, duration, megabytes
from ..native.bindings.statements import Normalizer
from ..schemas import CLASSES, DANGERS, open_folder
from ..servers.data_folder import check_data
from ..servers.sandbox import Server, copies_folder, private_folder
from ..servers.sandbox_url import Sandbox
from ..servers.target import fault_text

COPIES = 3  # before the DDL, after the DDL, and the copy of a run
LEAST_GROWTH = 100_000  # bytes; smaller changes of the data size are not reported
TEXT_SHOWN = 60
ALLOWED_DANGERS = {DANGERS["none"], DANGERS["table_maintenance"]}


@dataclass(frozen=True)
class Copies:
    """The data folders of sides a and b, the ns of each statement, and the additional bytes of b."""

    folders: dict[str, Path]
    took: list[tuple[str, int]] = field(default_factory=list)
    grown: int = 0


def check_ddl(statements: Sequence[str]) -> None:
    """Raise InputError if a statement is not DDL."""
    normalizer = Normalizer()
    for text in statements:
        seen = normalizer.normalize(text.encode())
        if seen.danger not in ALLOWED_DANGERS or CLASSES[seen.class_] not in ("ddl", "admin") or not seen.text:
            raise InputError(
                f"--ddl: expected a DDL statement such as ALTER TABLE, CREATE INDEX or DROP INDEX, found: {text}"
            )


def usual_schema(tape: Path) -> str | None:
    """Return the most frequent schema of a tape's statements."""
    with open_database() as con:
        rows = con.execute(
            f"SELECT db FROM {open_folder('tape', tape).source('events')} WHERE db <> '' AND statement IS NOT NULL"
            " GROUP BY db ORDER BY count(*) DESC, db LIMIT 1"
        ).fetchall()
    return str(rows[0][0]) if rows else None


@contextmanager
def copies(
    sandbox: Sandbox, statements: Sequence[str], schema: str | None, say: Callable[[str], None]
) -> Iterator[Copies]:
    """Yield copies of a sandbox's data folder and remove them afterwards. `schema`: the schema in which the DDL runs.

    Raises InputError if a statement fails or the disk has no room for the copies. Raises TargetError if no server
    starts.
    """
    assert sandbox.data is not None
    check_room(sandbox.data)
    place = private_folder("qt-try-", copies_folder())
    try:
        tables = sorted({name for text in statements for name in Normalizer().names(text.encode())[0]})
        with sandbox.start(place / "a") as server:
            analyze(server, tables, schema)
        with replace(sandbox, data=server.datadir).start(place / "b") as after:
            took = [(text, _run(after, text, schema, say)) for text in statements]
            analyze(after, tables, schema)
        folders = {"a": server.datadir, "b": after.datadir}
        yield Copies(folders, took, size_of(folders["b"]) - size_of(folders["a"]))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _run(server: Server, statement: str, schema: str | None, say: Callable[[str], None]) -> int:
    """Run a statement and return its duration in ns. Raises InputError if the statement fails."""
    say(statement)
    began = time.monotonic_ns()
    try:
        server.execute(statement, db=schema)
    except pymysql.Error as error:
        raise InputError(f"--ddl: {statement}: {fault_text(error)}; nothing was replayed") from error
    return time.monotonic_ns() - began


def analyze(server: Server, tables: Sequence[str], schema: str | None) -> None:
    """Update the statistics of tables. Missing tables are ignored. Raises TargetError if the server fails."""
    for table in tables:
        quoted = ".".join(f"`{part.strip('`').replace('`', '``')}`" for part in table.split("."))
        try:
            server.execute(f"ANALYZE TABLE {quoted}", db=schema)
        except pymysql.Error as error:
            raise TargetError(f"ANALYZE TABLE {table}: {fault_text(error)}") from error


def size_of(folder: Path) -> int:
    """Return the total bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def check_room(data: Path) -> None:
    """Raise InputError if `data` is not a data folder, or the copies would not fit on the disk."""
    check_data(data)
    room = copies_folder()
    needed, free = COPIES * size_of(data), shutil.disk_usage(room).free
    if needed > free:
        raise InputError(
            f"{data}: three copies of this folder need {megabytes(needed)}, but {room} has only {megabytes(free)}"
            f" free. Set TMPDIR"
            " to a folder with more space"
        )


def sentences(report: Report, made: Copies) -> list[str]:
    """Return lines with the DDL and its results: reads and writes by verdict, and each write that became slower."""
    lines = [f"DDL: {printable(text)} (duration {duration(ns)})" for text, ns in made.took]
    if abs(made.grown) >= LEAST_GROWTH:
        lines[-1] += f"; data size {'increased' if made.grown > 0 else 'decreased'} by {megabytes(abs(made.grown), 1)}"
    kinds = {"reads": [e for e in report.digests if e["class"] == "read"]}
    kinds["writes"] = [entry for entry in report.digests if entry["class"] == "write"]
    for name, entries in kinds.items():
        words = Counter(entry["verdict"] for entry in entries)
        counted = ", ".join(f"{count(n)} {word}" for word, n in words.most_common())
        lines.append(f"{name}: {counted or 'none on the tape'}")
    if not any(entry["verdict"] == "faster" for entry in report.digests):
        lines.append("no digest has the verdict 'faster'")
    for name, entries in kinds.items():
        for word in ("slower", "faster"):
            lines += [
                f"{word} {name[:-1]}: {printable(entry['text'], TEXT_SHOWN)} ({entry['why']})"
                for entry in entries
                if entry["verdict"] == word
            ]
    return lines
