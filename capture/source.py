# SPDX-License-Identifier: Apache-2.0
"""Describe a kind of source: how to detect, open and read its files. Each file in `sources/` defines one SourceKind."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..common.zones import Zone
from ..native.bindings.parsers import Follow
from ..native.bindings.reader import Reader, ReaderStats
from .live import LiveCapture

if TYPE_CHECKING:
    import duckdb

    from ..servers.client_sessions import OpenSessions
    from ..servers.target import Target

TapeWarning = dict[str, str]  # has `kind` (short, stable) and `text`, as in tape.json


@dataclass(frozen=True)
class Option:
    """A command line option `--name` that belongs to one source kind.

    `type`: text, int, duration (in nanoseconds), bytes, or flag.
    """

    name: str
    help: str
    type: str = "text"
    default: Any = None
    multiple: bool = False
    metavar: str | None = None


PART_EVERY_NS = 5_000_000_000


@dataclass(frozen=True)
class Endless:
    """How an endless capture publishes its parts. A new part is published at least every `part_every_ns` nanoseconds.

    `keep_ns`: drop parts whose events are older than this many nanoseconds. None means never. `follow`: follow the last
    file by its name as the file grows. False means a live source. `from_end`: skip the current content of the followed
    file.
    """

    part_every_ns: int = PART_EVERY_NS
    keep_ns: int | None = None
    follow: bool = True
    from_end: bool = False


@dataclass(frozen=True)
class Settings:
    """Settings of a capture. `timezone_ns`: zone of local times; None means the zone shown by the input.

    - `server`: the description of the recording server for tape.json
    - `extra`: options of the source kind, by name
    - `watch`: receives the reader's counters and the total bytes (None if unknown) several times per second
    - `not_threads`: connection ids of the server whose events are omitted from the tape
    - `judge`: called with view `events` before the tape is finished; returns more tape.json entries and warnings
    - `open_sessions`: the sessions that were open when the recording server was queried
    - `endless`: options of a followed log or a live source
    - `running`: receives the capture at its start; any thread may read the capture
    """

    timezone_ns: Zone | None = None
    server: dict[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    watch: Callable[[ReaderStats, int | None], None] = field(default=lambda stats, total: None)
    not_threads: tuple[int, ...] = ()
    judge: "Callable[[duckdb.DuckDBPyConnection], tuple[dict[str, Any], list[TapeWarning]]] | None" = None
    open_sessions: "OpenSessions | None" = None
    endless: Endless | None = None
    running: Callable[[LiveCapture], None] = field(default=lambda live: None)

    @property
    def follow(self) -> Follow | None:
        """Options for the native reader to follow the last file, or None if no file is followed."""
        if self.endless is None or not self.endless.follow:
            return None
        return Follow(self.endless.part_every_ns / 1e9, self.endless.from_end)


def sniff_pattern(pattern: bytes) -> Callable[[bytes], int]:
    """Return a `sniff` function that searches for a regular expression. `^` matches the start of a line."""

    def sniff(head: bytes) -> int:
        match = re.search(pattern, head, re.MULTILINE)
        return -1 if match is None else match.start()

    return sniff


def no_warnings(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return no warnings. Used for source kinds that do not report omitted events."""
    return []


def restarts(description: Mapping[str, Any]) -> list[str]:
    """Return a note about server restarts in a log, if there are any."""
    count = description.get("restarts", 0)
    times = "once" if count == 1 else f"{count:,} times"
    return [f"the server restarted {times}. Each restart ended the open sessions"] if count else []


@dataclass(frozen=True)
class SourceKind:
    """A kind of source and its functions.

    - `open`: opens files, given in order, with the settings
    - `sniff`: searches the first bytes of a file (uncompressed) for marks of the kind; returns their offset or -1
    - `expected`: the events that the kind contains, for the message "no events in ...: Expected TITLE with ...", or a
      function of the settings that returns this text
    - `warnings`: returns warnings about omitted events from the description of a reader
    - `notes`: returns summary notes from the description of a reader
    - `measuring_point`: where durations were measured: server, proxy, wire or client
    - `first_time`: returns the first time in a file, in nanoseconds since the epoch; files are read in this order
    - `local_times`: whether the input may contain local times
    - `look_for_holes`: returns warnings from view `events` and the description of a reader
    - `ask`: queries a --source that is not a MySQL server and returns `server` of tape.json; None for a MySQL server
    - `live`: whether the input is endless
    - `time_is_up`: called at the start of a capture; returns a function that reports whether the capture must end
    - `follows`: whether a growing file can be followed
    """

    name: str
    title: str
    help: str
    examples: str
    expected: str | Callable[[Settings], str]
    open: Callable[[Sequence[str], Settings], Reader]
    sniff: Callable[[bytes], int]
    measuring_point: str = "server"
    warnings: Callable[[Mapping[str, Any]], list[TapeWarning]] = no_warnings
    notes: Callable[[Mapping[str, Any]], list[str]] = field(default=lambda description: [])
    first_time: Callable[[str], int] | None = None
    local_times: bool = True
    options: tuple[Option, ...] = ()
    live: Callable[[Settings], bool] = field(default=lambda settings: False)
    look_for_holes: "Callable[[duckdb.DuckDBPyConnection, Mapping[str, Any]], list[TapeWarning]] | None" = None
    ask: "Callable[[Target], dict[str, Any] | None]" = field(default=lambda target: None)
    follows: bool = False
    time_is_up: Callable[[Settings], Callable[[], bool]] = field(default=lambda settings: lambda: False)
