# SPDX-License-Identifier: Apache-2.0
"""Write the parts of a tape as a reader produces them. The module is independent of the source kind.

- main thread: starts a part, shows progress, handles Ctrl-C -> problems, session facts, tape.json
- part thread: reader.part() -> DuckDB -> events/part-00000.parquet
- hashes thread: source files -> hashes
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

from ..common.files import new_folder, write_json
from ..common.version import __version__
from ..native.bindings.file_hash import FileHash
from ..native.bindings.reader import Reader, ReaderStats
from ..schemas import FORMAT_VERSION
from .parts import Parts, Totals
from .publishing import Published, Publisher
from .source import Settings, SourceKind

# Number of events in a part. A part is one file. If the capture is killed, at most the unfinished part is lost.
PART_ROWS = 200_000
PART_BYTES = 48 << 20
HASHED_AT_ONCE = 1 << 20
SHA256_BYTES = 16 << 20
WATCH_INTERVAL_S = 0.1


@dataclass(frozen=True)
class Source:
    """The input of a recording: its source kind, its ordered files and its settings."""

    kind: SourceKind
    files: Sequence[str]
    settings: Settings


def new_tape(path: Path) -> None:
    """Create the folders of a tape. Raises InputError if the path exists."""
    new_folder(path, "events", "problems", "facts")


def record(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    stop: "Stop",
    path: Path,
    watch: Callable[[ReaderStats], None],
) -> tuple[dict[str, Any], Totals | None]:
    """Record all events of the reader in `stop` into the new tape at `path`.

    Returns the unfinished JSON of the tape and the totals. `watch` is called in this thread with the counters of the
    reader, several times per second. The reader stops when `stop` is called or `watch` raises KeyboardInterrupt. The
    events that were read are then still written, and the JSON has `stopped` set to true.
    """
    reader = stop.reader
    info = start_info(source)
    write_json(path / "tape.json", info)
    settings = source.settings
    # A growing file has no hash.
    followed = source.files[-1] if settings.follow is not None else None
    hashes = FileHashes(source.files if followed is None else source.files[:-1])
    hashes.start()
    publisher = Publisher(con, path, info, settings.endless, followed)
    parts = Parts(con, path, settings.not_threads)
    for number in count():
        name = f"part-{number:05d}.parquet" if settings.endless is None else endless_name(number)
        entry = _write_watched(parts, stop, path / "events" / name, watch)
        problems = parts.write_rows(reader.problems(), path / "problems" / name)
        told = parts.write_rows(reader.sessions(), path / "facts" / name)
        publisher.publish(Published(name, entry, problems, told), reader)
        if reader.stats().finished:
            break
    info["files"] = hashes.ended(give_up=stop.was_asked)
    if followed is not None:
        info["files"] += publisher.files(reader)[len(source.files) - 1 :]
    info.pop("published", None)
    info["not_understood_bytes"] = reader.stats().not_understood
    info["stopped"] = stop.was_asked
    info.update(end_info(reader, settings))
    return info, None if info.get("dropped") else parts.totals


def endless_name(number: int) -> str:
    """Return the file name of a part. The numbers have leading zeros, so the names sort in numeric order."""
    return f"part-{number:010d}.parquet"


class Stop:
    """Stops the reader at the first signal. Later signals do not prevent the writing of events that were read."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.was_asked = False

    def __call__(self) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the reader. The tape then contains only a part of the input."""
        self.was_asked = True
        self.reader.stop()


def _write_watched(parts: Parts, stop: Stop, part: Path, watch: Callable[[ReaderStats], None]) -> dict[str, Any] | None:
    """Write a part in a separate thread and return its entry.

    The calling thread shows the progress and handles Ctrl-C.
    """
    reader = stop.reader
    results: list[dict[str, Any] | BaseException | None] = []

    def work() -> None:
        try:
            results.append(parts.write_events(reader.part(PART_ROWS, PART_BYTES), part))
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


def start_info(source: Source) -> dict[str, Any]:
    """Return the JSON of a new tape before its first part."""
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
    """Return the properties of the input after it was read: server version, time zone and description."""
    description = reader.describe()
    zone = description.pop("timezone_ns", None)
    return {
        "server_version": description.pop("server_version", None),
        "log_timezone_ns": settings.timezone_ns if isinstance(settings.timezone_ns, int) else zone,
        "input": description,
    }


class FileHashes(threading.Thread):
    """Thread that hashes the source files during parsing. Standard input has no hash.

    Files of up to SHA256_BYTES get a SHA-256 hash. Larger files get XXH3-128, which is faster than reading the file.
    """

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__(daemon=True, name="hashes")
        self._files = files
        self._given_up = False
        self._entries: list[dict[str, Any]] = []

    def run(self) -> None:
        """Hash the files one after another."""
        for name in self._files:
            entry: dict[str, Any] = {"path": name, "bytes": None, "sha256": None}
            self._entries.append(entry)
            if name != "-":
                path = Path(name)
                entry["path"] = str(path.absolute())
                if path.is_file():
                    entry["bytes"] = path.stat().st_size
                    small = entry["bytes"] <= SHA256_BYTES
                    entry["sha256" if small else "xxh3"] = self._hash(path, hashlib.sha256() if small else FileHash())

    def ended(self, give_up: bool) -> list[dict[str, Any]]:
        """Wait for the hashes and return the file entries of tape.json. `give_up`: skip unfinished hashes."""
        self._given_up = give_up
        self.join()
        return self._entries

    def _hash(self, path: Path, made: "hashlib._Hash | FileHash") -> str | None:
        """Return the hash of a file, or None if hashing was given up."""
        block = memoryview(bytearray(HASHED_AT_ONCE))
        with path.open("rb", buffering=0) as handle:
            while n := handle.readinto(block):
                made.update(block[:n])
                if self._given_up:
                    return None
        return made.hexdigest()
