# SPDX-License-Identifier: Apache-2.0
"""Capture files or a live source into a tape: check the files, record the events, finish the tape.

names -> check_files -> order_by_time -> open_reader -> record (tape_writer) -> finish -> tape.json
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from ..common.errors import InputError, NativeFault, NoEventError
from ..common.files import hold, size_now
from ..common.signals import stop_on_signals
from ..common.staged import is_address
from ..common.units import plural
from ..native.bindings.inputs import STDIN, Pipe, as_input, head
from ..native.bindings.reader import Reader, ReaderStats
from ..schemas import Folder
from .finish import finish, gather_problems, problem_kinds
from .live import LiveCapture
from .publishing import dropped_warnings
from .source import Settings, SourceKind, TapeWarning
from .storage import open_storage
from .tape_writer import Source, Stop, new_tape, record
from .wrapped import unwrapping

if TYPE_CHECKING:
    from .session_handover import HandedOver

WRAPPED = ("slowlog", "general", "audit", "audit-json")  # log kinds that other programs often wrap with line prefixes
FEW = 50_000  # number of events that one thread parses before more threads start


def capture_source(kind: SourceKind, names: Sequence[str], path: Path, settings: Settings) -> dict[str, Any]:
    """Record files or a live source into a new tape at `path`, and return the JSON of the tape.

    `settings` name the live source. Raises InputError if a file cannot be read, `path` exists, or the input has no
    events. A tape without events is removed.
    """
    check_files(names, follow=settings.follow is not None)
    if kind.name in WRAPPED:
        refuse_wrapped(kind, names)
    ordered = order_by_time([as_input(name) for name in names], kind.first_time)
    endless = settings.endless is not None or kind.live(settings)
    total = None if endless else total_bytes(ordered)
    reader = open_reader(kind, ordered, settings)
    stop, live = Stop(reader), LiveCapture(reader, total)
    try:
        settings.running(live)
        given = hand_over_sessions(kind, reader, ordered, settings)
        watch = watcher(kind, settings, reader, path, total)
        # From this point, the first signal ends the recording, but the tape is still finished with the events read so
        # far.
        with stop_on_signals(stop):
            new_tape(path)
            with hold(path), open_storage(path, threads=1) as con:
                source = Source(kind, ordered, settings)
                info, totals = record(con, source, stop, path, watch)
                check_events(con, source, reader.stats(), info, path)
                described = {**info["input"], "server_version": info["server_version"]}
                info |= {"notes": notes} if (notes := kind.notes(described)) else {}
                warnings = [*kind.warnings(info["input"]), *stop_warnings(info, live=endless)]
                warnings += [*truncation_warnings(info["input"]), *dropped_warnings(info)]
                warnings += judged(con, source, path, info, given)
                if totals is None or totals.events > FEW:
                    con.execute("RESET threads")  # only 1 thread was allowed while the parser ran
                return finish(con, path, info, warnings, totals)
    finally:
        with closing(reader):
            live.end()


def hand_over_sessions(
    kind: SourceKind, reader: Reader, ordered: Sequence[str], settings: Settings
) -> "HandedOver | None":
    """Pass the sessions that were open before the capture to the reader.

    Returns None if no such sessions are known or the source kind cannot use them.
    """
    if settings.open_sessions is None:
        return None
    from .session_handover import KINDS, hand_over  # imported late, because it loads the client library

    return hand_over(reader, settings.open_sessions, ordered) if kind.name in KINDS else None


def judged(
    con: duckdb.DuckDBPyConnection, source: Source, path: Path, info: dict[str, Any], given: "HandedOver | None"
) -> list[TapeWarning]:
    """Let the settings and the source kind check the events, and describe sessions that began before the capture.

    Adds fields to the JSON of the tape and returns the warnings.
    """
    kind, judge = source.kind, source.settings.judge
    if judge is None and given is None and kind.look_for_holes is None:
        return []
    con.execute(f"CREATE VIEW events AS SELECT * FROM {Folder('tape', path, info).source('events')}")
    warnings: list[TapeWarning] = []
    if given is not None:
        from .session_handover import describe_state

        first_ns = con.execute("SELECT min(start_ns) FROM events").fetchall()[0][0]
        more, notes, warnings = describe_state(con, given, info, first_ns)
        info.update(more)
        info["notes"] = [*info.get("notes", []), *notes]
    if judge is not None:
        more, lacking = judge(con)
        info.update(more)
        warnings += lacking
    if kind.look_for_holes is not None:
        warnings += kind.look_for_holes(con, info["input"])
    con.execute("DROP VIEW events")
    return warnings


def check_files(names: Sequence[str], *, follow: bool = False) -> None:
    """Raise InputError unless every name is a readable, non-empty file (or one single "-").

    `follow`: accept an empty file, because it will grow.
    """
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice}: the file is given twice, so its events would be on the tape twice")
    for name in names:
        path = Path(name)
        if name == STDIN:
            continue
        if is_address(name):
            raise InputError(f"{name}: a log must be on this machine. Only tapes, sets and runs can be in a store")
        if not path.exists():
            raise InputError(f"{name}: no such file")
        if path.is_file() and path.stat().st_size == 0 and not follow:
            raise InputError(f"{name}: the file is empty (no tape was written)")


def refuse_wrapped(kind: SourceKind, names: Sequence[str]) -> None:
    """Raise InputError for a log file whose lines another program has wrapped."""
    for name in names:
        with suppress(NativeFault):  # the reader reports why the file is unreadable
            begin = head(name) if Path(name).is_file() else b""
            if text := unwrapping(name, begin, kind.sniff(begin)):
                raise InputError(f"{name}: {text} (no tape was written)")


def order_by_time(names: Sequence[str], first_time: Callable[[str], int] | None) -> list[str]:
    """Return the files in the order of their first events. Files without a time stay in their order at the end.

    A shell pattern lists rotated logs by name or newest first. If one of the files is a pipe, the order stays
    unchanged, because a pipe can be opened only once.
    """
    if first_time is None or len(names) < 2 or any(isinstance(as_input(name), Pipe) for name in names):
        return list(names)

    def key(name: str) -> tuple[int, int]:
        try:
            return (0, first_time(name))
        except NativeFault:
            return (1, 0)

    return sorted(names, key=key)


def open_reader(kind: SourceKind, names: Sequence[str], settings: Settings) -> Reader:
    """Open the source. Raises InputError if the source cannot be read."""
    try:
        return kind.open(names, settings)
    except NativeFault as error:
        raise InputError(str(error)) from error


def total_bytes(names: Sequence[str]) -> int | None:
    """Return the number of bytes to read. Return None if the number is unknown (a pipe or a live source)."""
    if not names or any(name == STDIN or not Path(name).is_file() for name in names):
        return None
    return sum(Path(name).stat().st_size for name in names)


def watcher(
    kind: SourceKind, settings: Settings, reader: Reader, path: Path, total: int | None
) -> Callable[[ReaderStats], None]:
    """Return a function that shows the progress and stops the reader at a time or disk limit.

    The caller runs this function several times per second.
    """
    time_is_up = kind.time_is_up(settings)
    max_disk = settings.extra.get("max_disk") if kind.live(settings) else None

    def watch(stats: ReaderStats) -> None:
        settings.watch(stats, total)
        if time_is_up() or (max_disk and events_bytes(path) > max_disk):
            reader.stop()

    return watch


def events_bytes(path: Path) -> int:
    """Return the size of the event files of a tape on disk, in bytes."""
    return sum(map(size_now, (path / "events").glob("*")))


def check_events(
    con: duckdb.DuckDBPyConnection, source: Source, stats: ReaderStats, info: dict[str, Any], path: Path
) -> None:
    """Remove the tape and raise InputError with possible reasons if the tape has no events."""
    if info["parts"]:
        return
    gather_problems(con, path)
    damaged = problem_kinds(con, path).get("damaged_archive", 0)
    shutil.rmtree(path)
    kind, names = source.kind, source.files
    if info["stopped"]:
        raise InputError("the capture was stopped before it read an event (no tape was written)")
    if damaged:
        packed = "compressed file is" if damaged == 1 else f"{damaged:,} compressed files are"
        raise InputError(f"{', '.join(names)}: no events: the {packed} damaged or truncated (no tape was written)")
    reasons = [*(warning["text"] for warning in kind.warnings(info["input"])), *kind.notes(info["input"])]
    raise NoEventError("; ".join([no_event_sentence(kind, names, stats, source.settings), *reasons]))


def no_event_sentence(kind: SourceKind, names: Sequence[str], stats: ReaderStats, settings: Settings) -> str:
    """Return the error message for input without any event."""
    what = ", ".join("standard input" if name == STDIN else name for name in names)
    if not names:
        return "the capture received no events (no tape was written)"
    if stats.bytes_read == 0:
        return f"{what}: the input is empty (no tape was written)"
    expected = kind.expected if isinstance(kind.expected, str) else kind.expected(settings)
    return (
        f"{what}: no events in {plural(stats.bytes_parsed, 'byte')}. Expected {kind.title} with {expected} (no tape was"
        " written)"
    )


def truncation_warnings(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return a warning if a followed log was truncated and no copy of the lost bytes was found."""
    n = description.get("truncations_without_copy", 0)
    if not n:
        return []
    times = "once" if n == 1 else f"{n:,} times"
    text = (
        f"the log was truncated {times}, and its folder contains no copy of the old content. The last bytes before a"
        " truncation may be missing"
    )
    return [{"kind": "truncated_log", "text": text}]


def stop_warnings(info: dict[str, Any], *, live: bool) -> list[TapeWarning]:
    """Return a warning if files were not read to their end. Live sources need no such warning."""
    if live or not info.get("stopped"):
        return []
    return [
        {
            "kind": "stopped",
            "text": ("the capture was stopped before the end of the input. The remaining events are not on the tape"),
        }
    ]
