# SPDX-License-Identifier: Apache-2.0
"""Write a tape's parts as a reader gives them. Knows no particular source.

main thread:   starts a part, shows progress, takes Ctrl-C     ->  problems, session facts, tape.json
part's thread:   reader.part() -> DuckDB -> events/part-00000.parquet
sha256's thread:   the source files -> their hashes
"""

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import open_database, sql_text, write_parquet
from ..common.files import file_entry, new_folder, write_json
from ..common.version import __version__
from ..native.bindings.reader import Reader, ReaderStats
from ..native.bindings.streams import Stream
from ..schemas import FORMAT_VERSION, select_list
from .publishing import Publisher
from .source import Settings, SourceKind

# A part is one file: the most that a kill can lose.
PART_ROWS = 200_000
PART_BYTES = 48 << 20
HASHED_AT_ONCE = 1 << 20
WATCH_INTERVAL_S = 0.1
MIN_MEMORY = 244 << 20
MEMORY_PER_EVENT = 24  # copies of the largest event that DuckDB makes while it groups, sorts and writes


@dataclass(frozen=True)
class Source:
    """What is recorded: the kind of source, its files in order, the settings of the capture."""

    kind: SourceKind
    files: Sequence[str]
    settings: Settings


def new_tape(path: Path) -> None:
    """Create the folders of a tape. Raises InputError where something of that name is there."""
    new_folder(path, "events", "problems", "facts")


def memory_for(largest: int) -> str:
    """Return DuckDB's memory limit for work on events of which the largest has so many bytes of texts."""
    return f"{max(MIN_MEMORY, MEMORY_PER_EVENT * largest) >> 20}MiB"


@contextmanager
def open_storage(folder: Path, threads: int | None = None, largest: int = 0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a DuckDB connection with bounded memory that spills into `folder`.

    `threads`: None = all cores. `largest`: bytes of the largest event's texts, 0 = small.
    """
    spill = folder / "spill"
    try:
        with open_database(spill, memory_for(largest), threads=threads) as con:
            yield con
    finally:
        shutil.rmtree(spill, ignore_errors=True)


def record(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    reader: Reader,
    path: Path,
    watch: Callable[[ReaderStats], None],
    stop: "Stop",
) -> dict[str, Any]:
    """Record everything that the reader gives into the new tape at `path`; return the tape's JSON so far.

    `watch` is called with the reader's counters a few times a second, in this thread. `stop`, or a KeyboardInterrupt of
    `watch`, stops the reader; what was read is written, and the JSON says `stopped`.
    """
    info = start_info(source)
    write_json(path / "tape.json", info)
    settings = source.settings
    # What grows has no hash.
    followed = source.files[-1] if settings.follow is not None else None
    hashes = FileHashes(source.files if followed is None else source.files[:-1])
    hashes.start()
    publisher = Publisher(path, info, settings.endless, followed)
    # A part is written as it comes, and a row of any size must pass: DuckDB's own bound. What sorts comes afterwards.
    con.execute("RESET memory_limit")
    for number in count():
        part = path / "events" / (f"part-{number:05d}.parquet" if settings.endless is None else endless_name(number))
        rows = _write_watched(con, reader, part, watch, stop, settings.not_threads)
        problems = write_rows(con, reader.problems(), path / "problems" / part.name)
        write_rows(con, reader.sessions(), path / "facts" / part.name)
        publisher.publish(part_entry(con, path, part) if rows else None, problems, reader)
        if reader.stats().finished:
            break
    info["files"] = hashes.ended(give_up=stop.was_asked)
    if followed is not None:
        info["files"] += publisher.files(reader)[len(source.files) - 1 :]
    info.pop("published", None)
    info["not_understood_bytes"] = reader.stats().not_understood
    info["stopped"] = stop.was_asked
    info.update(end_info(reader, settings))
    return info


def endless_name(number: int) -> str:
    """Return the name of a part, so that their order is that of the names however many there are."""
    return f"part-{number:010d}.parquet"


class Stop:
    """Stops the reader at the first signal; what was read is written, however many follow."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.was_asked = False

    def __call__(self) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the reader; from now on the tape is a part of the input."""
        self.was_asked = True
        self._reader.stop()


def _write_watched(
    con: duckdb.DuckDBPyConnection,
    reader: Reader,
    part: Path,
    watch: Callable[[ReaderStats], None],
    stop: Stop,
    not_threads: tuple[int, ...],
) -> int:
    """Write a part in a thread of its own, so that this one can show progress and take Ctrl-C; return its rows."""
    results: list[int | BaseException] = []

    def work() -> None:
        try:
            results.append(write_part(con, reader.part(PART_ROWS, PART_BYTES), part, not_threads))
        except BaseException as error:
            results.append(error)

    worker = threading.Thread(target=work, name="part")
    worker.start()
    while worker.is_alive():
        try:
            worker.join(WATCH_INTERVAL_S)
            watch(reader.stats())
        except KeyboardInterrupt:
            stop.stop()
    (result,) = results
    if isinstance(result, BaseException):
        raise result
    return result


def write_part(con: duckdb.DuckDBPyConnection, stream: Stream, final: Path, not_threads: tuple[int, ...] = ()) -> int:
    """Write one part of events, which comes sorted; return its rows. An empty one leaves no file."""
    con.register("incoming", stream)
    try:
        columns = {row[0] for row in con.execute("DESCRIBE incoming").fetchall()}
        query = f"SELECT {select_list('tape', 'events', columns)} FROM incoming"
        if not_threads:
            query += f" WHERE thread_id IS NULL OR thread_id NOT IN ({', '.join(map(str, not_threads))})"
        return write_parquet(con, query, final, "COMPRESSION zstd, COMPRESSION_LEVEL 1")
    finally:
        con.unregister("incoming")
        stream.close()


def write_rows(con: duckdb.DuckDBPyConnection, stream: Stream, final: Path) -> int:
    """Write a stream of problems or session facts as one file, where it has any row; return how many."""
    con.register("incoming", stream)
    try:
        con.execute("CREATE OR REPLACE TEMP TABLE arrived AS FROM incoming")
    finally:
        con.unregister("incoming")
        stream.close()
    rows = int(con.execute("SELECT count(*) FROM arrived").fetchall()[0][0])
    if rows:
        write_parquet(con, "FROM arrived", final)
    con.execute("DROP TABLE arrived")
    return rows


def part_entry(con: duckdb.DuckDBPyConnection, tape: Path, part: Path) -> dict[str, Any]:
    """Return what tape.json says of a part: file, rows, bytes, SHA-256, first start and last end in ns."""
    rows, first, last = con.execute(
        f"SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0)) FROM read_parquet({sql_text(part)})"
    ).fetchall()[0]
    return {**file_entry(tape, part, rows), "first_ns": first, "last_ns": last}


def start_info(source: Source) -> dict[str, Any]:
    """Return a new tape's JSON before its first part."""
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "finished": False,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source.kind.name,
        "measuring_point": source.kind.measuring_point,
        "files": [{"path": name, "bytes": None, "sha256": None} for name in source.files],
        "parts": [],
        "server": source.settings.server,
    }


def end_info(reader: Reader, settings: Settings) -> dict[str, Any]:
    """Return what is known of the input once it was read: the recording server's version, time zone, description."""
    description = reader.describe()
    zone = description.pop("timezone_ns", None)
    return {
        "server_version": description.pop("server_version", None),
        "log_timezone_ns": zone if settings.timezone_ns is None else settings.timezone_ns,
        "input": description,
    }


class FileHashes(threading.Thread):
    """SHA-256 of each source file, computed while they are parsed; standard input has none."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__(daemon=True, name="sha256")
        self._files = files
        self._given_up = False
        self._entries: list[dict[str, Any]] = []

    def run(self) -> None:
        """Hash the files one after the other."""
        for name in self._files:
            entry: dict[str, Any] = {"path": name, "bytes": None, "sha256": None}
            self._entries.append(entry)
            if name != "-":
                path = Path(name)
                entry["path"] = str(path.absolute())
                if path.is_file():
                    entry["bytes"] = path.stat().st_size
                    entry["sha256"] = self._hash(path)

    def ended(self, give_up: bool) -> list[dict[str, Any]]:
        """Wait for the hashes; return what tape.json says of the files. `give_up`: what is not done has none."""
        self._given_up = give_up
        self.join()
        return self._entries

    def _hash(self, path: Path) -> str | None:
        """Return the SHA-256 of a file; None where it is not wanted any more."""
        made = hashlib.sha256()
        with path.open("rb") as handle:
            while block := handle.read(HASHED_AT_ONCE):
                made.update(block)
                if self._given_up:
                    return None
        return made.hexdigest()
