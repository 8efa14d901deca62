# SPDX-License-Identifier: Apache-2.0
"""Writes a tape: parts as they come, then what follows from them. Knows nothing of any one source."""

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from .. import __version__
from ..errors import InputError
from ..native.reader import Reader
from ..schemas import FORMAT_VERSION, make_private, publish, select_list, sql_text, write_json
from ..signals import stop_on_signals

# A part is one COPY: what a kill can lose. The parser has a thread of its own, so one is left of two cores for writing.
PART_ROWS = 200_000
PART_BYTES = 48 << 20
MEMORY_LIMIT = "256MB"
THREADS = 1


@dataclass(frozen=True)
class Source:
    """What is being recorded: its kind, its files in order, and what tape.json says of it once it is read."""

    kind: str
    measuring_point: str
    files: Sequence[str]
    describe: Callable[[], dict[str, Any]]
    server: dict[str, Any] | None = None


class FileHashes(threading.Thread):
    """SHA-256 of each source file, computed beside the parser; standard input has none."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__(daemon=True, name="sha256")
        self._files = files
        self.found: list[dict[str, Any]] = []

    def run(self) -> None:
        """Hash the files one after the other."""
        for name in self._files:
            entry: dict[str, Any] = {"path": name, "bytes": None, "sha256": None}
            if name != "-":
                path = Path(name)
                entry["path"] = str(path.absolute())
                if path.is_file():
                    with path.open("rb") as handle:
                        entry["sha256"] = hashlib.file_digest(handle, "sha256").hexdigest()
                    entry["bytes"] = path.stat().st_size
            self.found.append(entry)


def open_storage(folder: Path, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection with bounded memory that spills into the tape's own folder; None = all cores."""
    con = duckdb.connect()
    con.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    con.execute(f"SET temp_directory = {sql_text(folder / 'spill')}")
    con.execute("SET preserve_insertion_order = true")
    if threads is not None:
        con.execute(f"SET threads = {threads}")
    con.execute("SET enable_progress_bar = false")
    return con


def write_part(con: duckdb.DuckDBPyConnection, stream: Any, final: Path) -> tuple[int, int | None, int | None]:
    """Write one part, which comes sorted; return its rows, first start and last end. An empty one leaves no file."""
    con.register("incoming", stream)
    try:
        have = {row[0] for row in con.execute("DESCRIBE incoming").fetchall()}
        with publish(final) as temporary:
            con.execute(
                f"COPY (SELECT {select_list('tape', 'events', have)} FROM incoming)"
                f" TO {sql_text(temporary)} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)"
            )
            rows, first, last = con.execute(
                "SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0))"
                f" FROM read_parquet({sql_text(temporary)})"
            ).fetchall()[0]
    finally:
        con.unregister("incoming")
        stream.close()
    if rows == 0:
        final.unlink()
    return rows, first, last


def write_rows(con: duckdb.DuckDBPyConnection, stream: Any, final: Path) -> None:
    """Write a stream as one part, where it has any row."""
    con.register("incoming", stream)
    try:
        with publish(final) as temporary:
            con.execute(f"COPY (FROM incoming) TO {sql_text(temporary)} (FORMAT parquet)")
            rows = con.execute(f"SELECT count(*) FROM read_parquet({sql_text(temporary)})").fetchall()[0][0]
    finally:
        con.unregister("incoming")
        stream.close()
    if rows == 0:
        final.unlink()


def start_info(source: Source) -> dict[str, Any]:
    """Return a new tape's JSON, before its first part."""
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "finished": False,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source.kind,
        "measuring_point": source.measuring_point,
        "files": [{"path": name, "bytes": None, "sha256": None} for name in source.files],
        "parts": [],
        "server": source.server,
    }


def create_folder(path: Path) -> None:
    """Create an empty tape folder. Raises InputError where something of that name is there."""
    if path.exists():
        raise InputError(f"{path} already exists: choose another name with -o, or remove it first")
    try:
        make_private(path)
        make_private(path / "events")
        make_private(path / "problems")
        make_private(path / "facts")
    except OSError as fault:
        raise InputError(f"{path}: can't be created: {fault.strerror}") from fault


def record(source: Source, reader: Reader, path: Path, watch: Callable[[Any], None]) -> dict[str, Any]:
    """Record everything the reader gives into a new tape at `path` and return the tape's JSON so far.

    `watch` is called with the reader's counters a few times a second, in this thread. The first SIGINT or SIGTERM
    stops the reader, writes what was read and is noted in the JSON as `stopped`; so does a KeyboardInterrupt that
    `watch` raises.
    """
    create_folder(path)
    info = start_info(source)
    write_json(path / "tape.json", info)
    hashes = FileHashes(source.files)
    hashes.start()
    stopped = False
    signals = 0

    def stop() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            raise KeyboardInterrupt
        reader.stop()

    with stop_on_signals(stop), open_storage(path, THREADS) as con:
        number = 0
        while True:
            result = _watched_part(con, reader, path, number, watch)
            stopped |= result.interrupted
            if result.rows:
                info["parts"].append(result.entry(path))
                write_json(path / "tape.json", info)
            write_rows(con, reader.problems(), path / "problems" / f"part-{number:05d}.parquet")
            write_rows(con, reader.sessions(), path / "facts" / f"part-{number:05d}.parquet")
            number += 1
            if reader.stats().finished:
                break
    hashes.join()
    info["files"] = hashes.found
    info["stopped"] = stopped or signals > 0
    info.update(source.describe())
    return info


@dataclass
class _Part:
    file: Path
    rows: int = 0
    first: int | None = None
    last: int | None = None
    interrupted: bool = False

    def entry(self, folder: Path) -> dict[str, Any]:
        return {
            "file": str(self.file.relative_to(folder)),
            "rows": self.rows,
            "bytes": self.file.stat().st_size,
            "first_ns": self.first,
            "last_ns": self.last,
        }


def _watched_part(
    con: duckdb.DuckDBPyConnection, reader: Reader, folder: Path, number: int, watch: Callable[[Any], None]
) -> _Part:
    """Write a part in a thread of its own, so that this one can show progress and take Ctrl-C."""
    part = _Part(folder / "events" / f"part-{number:05d}.parquet")
    faults: list[BaseException] = []

    def work() -> None:
        try:
            stream = reader.part(PART_ROWS, PART_BYTES)
            part.rows, part.first, part.last = write_part(con, stream, part.file)
        except BaseException as fault:
            faults.append(fault)

    worker = threading.Thread(target=work, name="part")
    worker.start()
    while worker.is_alive():
        try:
            worker.join(0.1)
            watch(reader.stats())
        except KeyboardInterrupt:
            part.interrupted = True
            reader.stop()
            time.sleep(0)
    if faults:
        raise faults[0]
    return part
