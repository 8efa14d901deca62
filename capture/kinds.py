# SPDX-License-Identifier: Apache-2.0
"""What a kind of source says of itself: how it is known, opened and described. One value a source, in its own file."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..native.reader import Reader, ReaderStats


@dataclass(frozen=True)
class Option:
    """An option that only one kind of source has, as `--name`. `type`: text, int, duration (given as
    nanoseconds), bytes or flag."""

    name: str
    help: str
    type: str = "text"
    default: Any = None
    multiple: bool = False
    metavar: str | None = None


@dataclass(frozen=True)
class Settings:
    """How to capture. `timezone_ns`: offset of local times from UTC, None = as the input shows it.

    `server`: what the recording server said of itself, kept in tape.json. `extra`: the kind's own options by name.
    `watch` gets the reader's counters and the bytes there are (None = unknown) a few times a second.
    """

    timezone_ns: int | None = None
    server: dict[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    watch: Callable[[ReaderStats, int | None], None] = field(default=lambda stats, total: None)


def seen_at(pattern: re.Pattern[bytes]) -> Callable[[bytes], int]:
    """Return a `knows` that looks for a pattern."""

    def knows(head: bytes) -> int:
        found = pattern.search(head)
        return -1 if found is None else found.start()

    return knows


def no_warnings(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return no warnings: the input says nothing of what it left out."""
    return []


@dataclass(frozen=True)
class SourceKind:
    """A kind of source.

    `open` takes file names in order and the settings. `knows` looks at a file's first bytes (uncompressed) and returns
    where in them it sees itself, -1 = nowhere: the kind that is seen first has the file. `expected` ends "not a ...:
    expected ...". `warnings` makes of a reader's description what must be said of events that the input left out.
    `measuring_point`: server, wire or client. `live`: is there no end to the input? `over` returns what says during a
    capture that it has had its time.
    """

    name: str
    title: str
    help: str
    examples: str
    expected: str
    open: Callable[[Sequence[str], Settings], Reader]
    knows: Callable[[bytes], int]
    measuring_point: str = "server"
    warnings: Callable[[Mapping[str, Any]], list[dict[str, str]]] = no_warnings
    first_time: Callable[[str], int] | None = None
    local_times: bool = True
    options: tuple[Option, ...] = ()
    live: Callable[[Settings], bool] = field(default=lambda settings: False)
    over: Callable[[Settings], Callable[[ReaderStats], bool]] = field(default=lambda settings: lambda stats: False)
