# SPDX-License-Identifier: Apache-2.0
"""Describe a kind of source: how its files are detected, opened and read. One SourceKind a file of `sources/`."""

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

TapeWarning = dict[str, str]  # kind (short and stable) and text, as in tape.json


@dataclass(frozen=True)
class Option:
    """An option that only one kind of source has, as `--name`.

    `type`: text, int, duration (a value is nanoseconds), bytes or flag.
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
    """How a capture without an end publishes: a part at latest every `part_every_ns`.

    `keep_ns`: parts whose events are older than this are dropped, None = never. `follow`: the last file is followed by
    its name as it grows; else the source is live. `from_end`: what that file holds already is skipped.
    """

    part_every_ns: int = PART_EVERY_NS
    keep_ns: int | None = None
    follow: bool = True
    from_end: bool = False


@dataclass(frozen=True)
class Settings:
    """How to capture. `timezone_ns`: the zone of local times, None = as the input shows it.

    `server`: what the recording server said of itself, for tape.json. `extra`: the kind's own options by name.
    `watch` gets the reader's counters and the bytes to read (None = unknown) a few times a second. `not_threads`:
    server's connections whose events do not go onto the tape. `judge` gets the events as view `events` before the tape
    is finished: it returns more entries of tape.json, and warnings. `open_sessions`: those that the recording server
    had when it was asked. `endless`: of a log that is followed, or a live source. `running` gets the capture when it
    begins; it can be looked at from any thread.
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
        """How the native reader follows the last file; None where it does not."""
        if self.endless is None or not self.endless.follow:
            return None
        return Follow(self.endless.part_every_ns / 1e9, self.endless.from_end)


def sniff_pattern(pattern: bytes) -> Callable[[bytes], int]:
    """Return a `sniff` that looks for a regular expression, in which ^ is the beginning of a line."""

    def sniff(head: bytes) -> int:
        match = re.search(pattern, head, re.MULTILINE)
        return -1 if match is None else match.start()

    return sniff


def no_warnings(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return no warnings: for inputs that do not say what they left out."""
    return []


def restarts(description: Mapping[str, Any]) -> list[str]:
    """Return the sentence of the server's starts in a log, if there are any."""
    count = description.get("restarts", 0)
    times = "once" if count == 1 else f"{count:,} times"
    return [f"the server restarted {times}. Each restart ended the open sessions"] if count else []


@dataclass(frozen=True)
class SourceKind:
    """A kind of source.

    `open` takes file names in order and the settings. `sniff` looks at a file's first bytes (uncompressed) and
    returns where in them the kind's marks are, -1 = nowhere. `expected` ends the sentence "not a ...: expected
    ...", or makes its end of the settings. `warnings` makes warnings of a reader's description: which events the
    input left out. `notes` makes sentences for the summary that are no warnings.
    `measuring_point`: where durations were taken: server, proxy, wire or client. `first_time`: a
    file's first time in nanoseconds since the epoch; files are read in this order. `local_times`: the input may
    show local times. `look_for_holes` makes warnings of the events, as view `events`, and a reader's description. `ask`
    asks what --source names where that is no MySQL server: it gets the URL and --ask-password, and returns `server` of
    tape.json, None where it is one. `live`: whether the input has no end. `time_is_up` is called when a capture begins
    and returns a function that says whether it must end. `follows`: whether a growing file of it can be followed.
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
