# SPDX-License-Identifier: Apache-2.0
"""A whole capture, whatever the kind of its source: files checked, recorded, finished; no tape without an event."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..native.errors import NativeFault
from ..native.reader import ReaderStats
from .finish import finish
from .inputs import check_files, order_by_time, total_bytes
from .kinds import Settings, SourceKind
from .recorder import Source, record


def capture(kind: SourceKind, names: Sequence[str], path: Path, settings: Settings) -> dict[str, Any]:
    """Record files (or what the settings say, for a live source) into a new tape at `path`; return the tape's JSON.

    Raises InputError where nothing of it is of this kind (no tape is left then) or a file can't be read.
    """
    check_files(names)
    ordered = order_by_time(names, kind.first_time) if kind.first_time else list(names)
    total = total_bytes(ordered) if names else None
    try:
        reader = kind.open(ordered, settings)
    except NativeFault as fault:
        raise InputError(str(fault)) from fault

    def describe() -> dict[str, Any]:
        found = reader.describe()
        zone = found.pop("timezone_ns", None)
        return {
            "server_version": found.pop("server_version", None),
            "log_timezone_ns": zone if settings.timezone_ns is None else settings.timezone_ns,
            "input": found,
        }

    over = kind.over(settings)

    def watch(stats: ReaderStats) -> None:
        settings.watch(stats, total)
        if over(stats) or (kind.live(settings) and _size(path) > (settings.extra.get("max_disk") or 1 << 62)):
            reader.stop()

    source = Source(kind.name, kind.measuring_point, ordered, describe, settings.server)
    try:
        info = record(source, reader, path, watch)
        stats = reader.stats()
        if stats.events == 0:
            shutil.rmtree(path)
            reasons = [warning["text"] for warning in kind.warnings(info["input"])]
            raise InputError("; ".join([nothing_found(kind, ordered, stats), *reasons]))
        return finish(path, info, [*kind.warnings(info["input"]), *_stopped(info, live=kind.live(settings))])
    finally:
        reader.close()


def _size(path: Path) -> int:
    return sum(part.stat().st_size for part in (path / "events").glob("*"))


def nothing_found(kind: SourceKind, names: Sequence[str], stats: ReaderStats) -> str:
    """Return the sentence for input without a single event."""
    what = ", ".join("standard input" if name == "-" else name for name in names)
    if not names:
        return "no event was seen: nothing was captured (no tape was written)"
    if stats.bytes_read == 0:
        return f"{what}: empty: there is nothing to capture (no tape was written)"
    return (
        f"{what}: not {kind.title}, or one without events: expected {kind.expected}, found none in"
        f" {stats.bytes_parsed:,} bytes (no tape was written)"
    )


def _stopped(info: dict[str, Any], *, live: bool) -> list[dict[str, str]]:
    if live or not info.get("stopped"):
        return []
    return [{"kind": "stopped", "text": "the capture was stopped by hand: the rest of the input is not on the tape"}]
