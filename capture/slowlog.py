# SPDX-License-Identifier: Apache-2.0
"""Source: slow query logs of MySQL 5.7 to 9.x and MariaDB 10.x and 11.x, plain, .gz or .zst."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..native.errors import NativeFault
from ..native.slowlog import SlowlogReader, SlowlogStats, first_time
from .finish import finish
from .recorder import Source, record


@dataclass(frozen=True)
class SlowlogOptions:
    """How to read slow logs. `timezone_ns`: offset of the log's local times from UTC, None = as the log shows it."""

    timezone_ns: int | None = None
    server: dict[str, Any] | None = None
    watch: Callable[[SlowlogStats, int | None], None] = field(default=lambda stats, total: None)


def order_by_time(names: Sequence[str]) -> list[str]:
    """Return the logs in the order of their first events; names that tell no time keep their place at the end.

    Rotated logs come from a shell's `*` newest first or by name; standard input can't be looked at and stays.
    """
    if "-" in names or len(names) < 2:
        return list(names)

    def key(name: str) -> tuple[int, int]:
        try:
            return (0, first_time(name))
        except NativeFault:
            return (1, 0)

    return sorted(names, key=key)


def check_files(names: Sequence[str]) -> None:
    """Raise InputError unless every name is a readable, non-empty file (or one single "-")."""
    if len(set(names)) != len(names):
        raise InputError("the same log is named twice: its events would be on the tape twice")
    for name in names:
        path = Path(name)
        if name == "-":
            continue
        if not path.exists():
            raise InputError(f"{name}: no such file")
        if path.is_file() and path.stat().st_size == 0:
            raise InputError(f"{name}: the log is empty: there is nothing to capture (no tape was written)")


def total_bytes(names: Sequence[str]) -> int | None:
    """Return how many bytes there are to read, None where a pipe is among them."""
    if any(name == "-" or not Path(name).is_file() for name in names):
        return None
    return sum(Path(name).stat().st_size for name in names)


def capture_slowlog(names: Sequence[str], path: Path, options: SlowlogOptions) -> dict[str, Any]:
    """Record slow logs into a new tape at `path`; return the tape's JSON.

    Raises InputError where nothing of it is a slow log (no tape is left then) or a file can't be read.
    """
    check_files(names)
    ordered = order_by_time(names)
    total = total_bytes(ordered)
    try:
        reader = SlowlogReader(ordered, options.timezone_ns)
    except NativeFault as fault:
        raise InputError(str(fault)) from fault

    def describe() -> dict[str, Any]:
        stats = reader.stats()
        return {
            "server_version": stats.server_version or None,
            "log_timezone_ns": options.timezone_ns if options.timezone_ns is not None else stats.timezone_ns,
            "restarts": stats.restarts,
        }

    source = Source("slowlog", "server", ordered, total, describe, options.server)
    try:
        info = record(source, reader, path, lambda stats: options.watch(stats, total))
        stats = reader.stats()
        if stats.events == 0:
            _remove(path)
            raise InputError(nothing_found(ordered, stats))
        return finish(path, info, [*sampling(stats), *_stopped(info)])
    finally:
        reader.close()


def nothing_found(names: Sequence[str], stats: SlowlogStats) -> str:
    """Return the sentence for input without a single event."""
    what = ", ".join("standard input" if name == "-" else name for name in names)
    if stats.bytes_read == 0:
        return f"{what}: empty: there is nothing to capture (no tape was written)"
    return (
        f"{what}: not a slow log, or one without events: expected lines such as '# User@Host: ...' and"
        f" '# Query_time: ...', found none in {stats.bytes_parsed:,} bytes (no tape was written)"
    )


def sampling(stats: SlowlogStats) -> list[dict[str, str]]:
    """Return what the log itself says about events it left out."""
    if stats.rate_limit <= 1:
        return []
    if stats.rate_by_query:
        text = f"the server logged one query of {stats.rate_limit} (Log_slow_rate_type: query): sessions have holes"
        return [{"kind": "query_sampled", "text": text}]
    text = (
        f"the server logged one session of {stats.rate_limit} (Log_slow_rate_type: session):"
        " the load is a part of the real one"
    )
    return [{"kind": "session_sampled", "text": text}]


def _stopped(info: dict[str, Any]) -> list[dict[str, str]]:
    if not info.get("stopped"):
        return []
    return [{"kind": "stopped", "text": "the capture was stopped by hand: the rest of the log is not on the tape"}]


def _remove(path: Path) -> None:
    for child in sorted(path.rglob("*"), reverse=True):
        child.rmdir() if child.is_dir() else child.unlink()
    path.rmdir()
