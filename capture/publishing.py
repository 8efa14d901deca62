# SPDX-License-Identifier: Apache-2.0
"""Publish a tape while it is made: its parts in tape.json as they are written, and how far it is; drop old parts.

events/part-N.parquet, problems/part-N.parquet, facts/part-N.parquet  ->  tape.json, replaced whole  ->  old parts go

Only what is in tape.json is published. A part goes from there first, and then from the disk.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..common.files import json_text, write_json, write_text
from ..common.units import short_duration, utc_time
from ..native.bindings.reader import Reader
from .source import Endless, TapeWarning


class Publisher:
    """Writes tape.json after each part; knows what was dropped. `followed`: the file that grows, where one does."""

    def __init__(self, path: Path, info: dict[str, Any], endless: Endless | None, followed: str | None) -> None:
        self._path = path
        self._info = info
        self._endless = endless
        self._followed = followed
        self._problems: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._files = list(info["files"])

    def publish(self, entry: dict[str, Any] | None, problems: int, reader: Reader) -> None:
        """Publish a part, None = one of problems alone: its entry, and how many problems were found with it."""
        if entry is not None:
            self._info["parts"].append(entry)
            self._info["largest_event"] = reader.stats().largest
        if self._endless is None:
            if entry is not None:
                write_json(self._path / "tape.json", self._info)
            return
        if entry is None:
            return
        self._problems[Path(entry["file"]).name] = problems
        gone = self._old_parts(self._endless.keep_ns)
        if gone:
            self._note_dropped(gone)
        self._info["files"] = self.files(reader)
        self._info["published"] = self._how_far(reader)
        write_text(self._path / "tape.json", self._text())
        self._remove(gone)

    def _text(self) -> str:
        """Return the text of tape.json. A part's entry is made once: a day has 17,280 of them."""
        parts = self._info["parts"]
        texts = self._texts
        self._texts = {part["file"]: texts.get(part["file"]) or json.dumps(part) for part in parts}
        # No text inside of JSON has a newline: only the key itself is found.
        listed = ",\n  ".join(self._texts.values())
        return json_text({**self._info, "parts": []}).replace('\n "parts": []', f'\n "parts": [\n  {listed}\n ]', 1)

    def files(self, reader: Reader) -> list[dict[str, Any]]:
        """Return the entries of the source's files: the followed one once for each file that had its name."""
        if self._followed is None:
            return self._files
        entry = {"path": str(Path(self._followed).absolute()), "bytes": None, "sha256": None}
        more = reader.stats().file + 2 - len(self._files)
        return [*self._files[:-1], *([entry] * max(more, 1))]

    def _how_far(self, reader: Reader) -> dict[str, Any]:
        """Return what tape.json says of an unfinished tape: until when it is, and how much of the source was read."""
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
        """Return the parts whose events all ended more than `keep_ns` before the newest part began."""
        if keep_ns is None:
            return []
        parts = self._info["parts"]
        horizon = max(part["first_ns"] for part in parts) - keep_ns
        return [part for part in parts if part["last_ns"] < horizon]

    def _note_dropped(self, gone: list[dict[str, Any]]) -> None:
        names = {part["file"] for part in gone}
        self._info["parts"] = [part for part in self._info["parts"] if part["file"] not in names]
        before = self._info.get("dropped") or {"parts": 0, "events": 0, "problems": 0, "before_ns": 0}
        self._info["dropped"] = {
            "parts": before["parts"] + len(gone),
            "events": before["events"] + sum(part["rows"] for part in gone),
            "problems": before["problems"] + sum(self._problems.pop(Path(part["file"]).name, 0) for part in gone),
            "before_ns": max(before["before_ns"], *(part["last_ns"] for part in gone)),
            "keep_ns": self._endless.keep_ns if self._endless is not None else None,
        }

    def _remove(self, gone: list[dict[str, Any]]) -> None:
        for part in gone:
            for folder in ("events", "problems"):
                (self._path / folder / Path(part["file"]).name).unlink(missing_ok=True)


def dropped_warnings(info: dict[str, Any]) -> list[TapeWarning]:
    """Return the warning of what --keep dropped, where it did."""
    dropped = info.get("dropped")
    if not dropped:
        return []
    problems = f" and {dropped['problems']:,} problems" if dropped["problems"] else ""
    text = (
        f"events before {utc_time(dropped['before_ns'])} UTC were dropped by --keep"
        f" {short_duration(dropped['keep_ns'])} ({dropped['events']:,} events{problems}): sessions that are older lack"
        " what they set and prepared until then"
    )
    return [{"kind": "dropped_by_keep", "text": text}]
