# SPDX-License-Identifier: Apache-2.0
"""Publish a tape during its capture: list new parts in tape.json, record the progress, drop old parts.

events/part-N.parquet, problems/part-N.parquet, facts/part-N.parquet -> tape.json (replaced) -> old parts deleted

Only the parts listed in tape.json are published. A part is removed from tape.json first and then from the disk.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from ..common.files import json_text, write_json, write_text
from ..common.units import plural, short_duration, utc_time
from ..native.bindings.reader import Reader
from ..schemas.json_shapes import MAX_TIMES
from .session_facts import FactsRing
from .source import Endless, TapeWarning

NEWEST = 3  # number of newest parts that are always kept, because their times define which parts are old


@dataclass(frozen=True)
class Published:
    """A part of a tape, ready to publish.

    `name`: its file name. `entry`: its entry in tape.json, or None if the part has no events. `problems` and `facts`:
    numbers of rows.
    """

    name: str
    entry: dict[str, Any] | None
    problems: int
    facts: int


class Publisher:
    """Updates tape.json after each part and counts dropped parts. `followed`: the growing log file, or None."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        path: Path,
        info: dict[str, Any],
        endless: Endless | None,
        followed: str | None,
    ) -> None:
        self._path = path
        self._facts = FactsRing(con, path / "facts")
        self._info = info
        self._endless = endless
        self._followed = followed
        self._problems: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._files = list(info["files"])

    def publish(self, part: Published, reader: Reader) -> None:
        """Add a part to tape.json and drop old parts."""
        entry = part.entry
        if entry is not None:
            self._info["parts"].append(entry)
            self._info["largest_event"] = reader.stats().largest
        if self._endless is None:
            if entry is not None:
                write_json(self._path / "tape.json", self._info)
            return
        if part.problems:
            self._problems[part.name] = part.problems
        if part.facts:
            self._facts.told(part.name)
        if entry is None:
            return
        gone = self._old_parts(self._endless.keep_ns)
        old_problems = self._note_dropped(gone) if gone else []
        self._info["files"] = self.files(reader)
        self._info["published"] = self._how_far(reader)
        write_text(self._path / "tape.json", self._text())
        for dropped in gone:
            (self._path / dropped["file"]).unlink(missing_ok=True)
        for name in old_problems:
            (self._path / "problems" / name).unlink(missing_ok=True)
        if gone:
            self._facts.drop_before(self._first_name())

    def _text(self) -> str:
        """Return the text of tape.json.

        Each part entry is serialized only once, because the tape of a day has 17,280 entries.
        """
        parts = self._info["parts"]
        texts = self._texts
        self._texts = {part["file"]: texts.get(part["file"]) or json.dumps(part) for part in parts}
        # JSON strings contain no newlines. The search therefore finds only the key "parts" itself.
        listed = ",\n  ".join(self._texts.values())
        return json_text({**self._info, "parts": []}).replace('\n "parts": []', f'\n "parts": [\n  {listed}\n ]', 1)

    def files(self, reader: Reader) -> list[dict[str, Any]]:
        """Return the entries of the source files.

        `times` in the entry of a followed file is the number of files that had its name.
        """
        if self._followed is None:
            return self._files
        entry = {"path": str(Path(self._followed).absolute()), "bytes": None, "sha256": None}
        times = reader.stats().file + 2 - len(self._files)
        return [*self._files[:-1], {**entry, "times": min(times, MAX_TIMES)} if times > 1 else entry]

    def _how_far(self, reader: Reader) -> dict[str, Any]:
        """Return the progress of an unfinished tape for tape.json.

        The progress is the time of the last event and the number of bytes read from the source.
        """
        parts, stats = self._info["parts"], reader.stats()
        dropped = self._info.get("dropped") or {}
        return {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "part_every_ns": self._endless.part_every_ns if self._endless is not None else None,
            "last_ns": max(part["last_ns"] for part in parts),
            "events": sum(part["rows"] for part in parts) + dropped.get("events", 0),
            "bytes_read": stats.bytes_read,
            "file": str(Path(self._followed).absolute()) if self._followed is not None else None,
            "file_bytes": reader.describe().get("followed_bytes") if self._followed is not None else None,
        }

    def _old_parts(self, keep_ns: int | None) -> list[dict[str, Any]]:
        """Return the parts whose events all ended more than `keep_ns` before the latest start of the newest parts."""
        parts = self._info["parts"]
        if keep_ns is None:
            return []
        horizon = max(part["first_ns"] for part in parts[-NEWEST:]) - keep_ns
        return [part for part in parts[:-NEWEST] if part["last_ns"] < horizon]

    def _first_name(self) -> str:
        return Path(self._info["parts"][0]["file"]).name

    def _note_dropped(self, gone: list[dict[str, Any]]) -> list[str]:
        """Remove parts from tape.json and return the names of the problem files to remove with them."""
        names = {part["file"] for part in gone}
        self._info["parts"] = [part for part in self._info["parts"] if part["file"] not in names]
        own, first = {Path(name).name for name in names}, self._first_name()
        old_problems = [name for name in self._problems if name in own or name < first]
        before = self._info.get("dropped") or {"parts": 0, "events": 0, "problems": 0, "before_ns": 0}
        self._info["dropped"] = {
            "parts": before["parts"] + len(gone),
            "events": before["events"] + sum(part["rows"] for part in gone),
            "problems": before["problems"] + sum(self._problems.pop(name) for name in old_problems),
            "before_ns": max(before["before_ns"], *(part["last_ns"] for part in gone)),
            "keep_ns": self._endless.keep_ns if self._endless is not None else None,
        }
        return old_problems


def dropped_warnings(info: dict[str, Any]) -> list[TapeWarning]:
    """Return a warning about events dropped by --keep, if there are any."""
    dropped = info.get("dropped")
    if not dropped:
        return []
    problems = f" and {plural(dropped['problems'], 'problem')}" if dropped["problems"] else ""
    text = (
        f"--keep {short_duration(dropped['keep_ns'])} dropped the events before {utc_time(dropped['before_ns'])} UTC"
        f" ({plural(dropped['events'], 'event')}{problems}). Older sessions lack their earlier settings and prepared"
        " statements"
    )
    return [{"kind": "dropped_by_keep", "text": text}]
