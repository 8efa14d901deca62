# SPDX-License-Identifier: Apache-2.0
"""Follow a tape while its capture writes the tape, until the capture ends.

live.tape (a capture's) ──hard links, as parts are published──► own.tape (the reader's, unfinished until its end)
                                                                  └─ snapshots/N: the new parts as a small tape

A separate thread links new parts immediately, because --keep may drop parts at any time. Events that were dropped
before they were linked are counted as lost. The reader keeps the folder of the tape open, so a renamed tape is still
read to its end.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import sql_text, write_parquet
from ...common.errors import InputError
from ...common.files import hold, is_held, make_private, remove_folder, write_json
from ...common.units import plural, utc_time
from ...schemas import Folder, open_folder
from ..finish import finish
from ..publishing import dropped_warnings
from ..source import PART_EVERY_NS, TapeWarning
from ..storage import open_storage
from ..tape_writer import new_tape
from .older_logins import OlderLogins
from .snapshot import ROOM, published, take

POLL_S = 0.2
PARTS_AT_ONCE = 200  # maximum number of parts in a small tape, except the first small tape
LOGIN = (
    'session, thread_id, "user", host, db, port, client_flags, charset, attributes, open_at_start, open_at_end,'
    " encrypted"
)


class Following:
    """A tape that is followed, and the reader's own copy of its parts. Created by `follow`.

    `live`: folder of the capture. `path`: folder of the copy. `begun`: last published time (ns) and number of events
    when the reader began. `lost`: number of events that were dropped before they were linked. `ended`: how the capture
    ended, or None while the capture runs.
    """

    def __init__(self, live: Path, path: Path) -> None:
        self.live, self.path = live.absolute(), path
        self.begun: dict[str, Any] = {}
        self.lost = 0
        self.ended: str | None = None
        self._handle = os.open(live, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._folder = Path(f"/proc/self/fd/{self._handle}")
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._info: dict[str, Any] = {}
        self._last = ""  # name of the last inspected part
        self._seen: tuple[int, int] | None = None
        self._before = self._taken = 0  # two counts: events before the first linked part, and linked events
        self._waiting: list[dict[str, Any]] = []
        self._given: list[dict[str, Any]] = []
        self._small = 0
        self._made = False
        self._logins = OlderLogins(self.path / "facts", self.path / ROOM / "logins.parquet")
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)

    @property
    def part_every_ns(self) -> int:
        """Maximum time between two published parts of the capture, in nanoseconds."""
        return int((self._info.get("published") or {}).get("part_every_ns") or PART_EVERY_NS)

    def start(self) -> None:
        """Link the published parts, wait for the first part if there is none, then continue in a thread.

        Raises InputError if the capture ends without a published part.
        """
        new_tape(self.path)
        self._made = True
        make_private(self.path / ROOM)
        self._look()
        while not self._waiting and self.ended is None:
            time.sleep(POLL_S)
            self._look()
        if not self._waiting:
            raise InputError(f"{self.live}: the capture ended without publishing any events")
        self.begun = {"last_ns": max(part["last_ns"] for part in self._waiting), "events": self._taken}
        self._thread.start()

    def more(self, wait_s: float = POLL_S) -> Folder | None:
        """Return a small tape with the parts linked since the last call. Return None if there are no new parts."""
        if self._error is not None:
            raise self._error
        with self._lock:
            count = len(self._waiting) if not self._given else PARTS_AT_ONCE
            first = not self._given
            parts, self._waiting = self._waiting[:count], self._waiting[count:]
            self._given += parts
        if not parts:
            self._stop.wait(wait_s)
            return None
        folder = self.path / ROOM / f"{self._small:06d}" / self.path.name
        make_private(folder.parent)
        self._small += 1
        new_tape(folder)
        info = {**self._info, "parts": parts, "finished": False}
        info.pop("published", None)
        write_json(folder / "tape.json", info)
        with open_storage(folder, largest=int(info.get("largest_event") or 0)) as con:
            self._link(con, folder, parts)
            finish(con, folder, info, self._warnings() if first else [])
        return open_folder("tape", folder)

    def done(self, tape: Folder) -> None:
        """Remove a small tape after use."""
        remove_folder(tape.path.parent)

    @property
    def is_over(self) -> bool:
        """Whether the capture has ended and all parts were returned."""
        return self.ended is not None and not self._waiting

    def finish(self) -> Folder:
        """Stop following, complete the reader's own tape from the returned parts, and return this tape."""
        self._end()
        remove_folder(self.path / ROOM)
        given = {Path(part["file"]).name for part in self._given}
        for part in self._waiting:
            (self.path / part["file"]).unlink(missing_ok=True)
        for file in sorted((self.path / "problems").glob("part-*.parquet")):
            if file.name not in given and self.ended != "finished":
                file.unlink()
        info = {**self._info, "parts": self._given, "finished": False, "followed": self.story()}
        told = info.get("warnings", []) if self.ended == "finished" else []
        for key in ("published", *(() if self._before else ("dropped",))):
            info.pop(key, None)
        with open_storage(self.path, largest=int(info.get("largest_event") or 0)) as con:
            info = finish(con, self.path, info, [*self._warnings(), *self._end_warnings()])
        known = {warning["kind"] for warning in info["warnings"]} | {"dropped_by_keep"}
        info["warnings"] += [warning for warning in told if warning["kind"] not in known]
        write_json(self.path / "tape.json", info)
        return open_folder("tape", self.path)

    def story(self) -> dict[str, Any]:
        """Return the `follow` entry of run.json.

        The entry has the tape, its progress at the start and now, and the number of lost events.
        """
        given = [part["last_ns"] for part in self._given]
        return {
            "tape": str(self.live),
            "begun_last_ns": self.begun["last_ns"],
            "begun_events": self.begun["events"],
            "last_ns": max(given, default=None),
            "events": sum(part["rows"] for part in self._given),
            "lost": self.lost,
            "ended": self.ended,
        }

    def _end(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def close(self) -> None:
        """Stop following the tape."""
        self._end()
        os.close(self._handle)
        if self._made and not self._last:
            remove_folder(self.path)

    def _run(self) -> None:
        try:
            while self.ended is None and not self._stop.wait(POLL_S):
                self._look()
        except BaseException as error:
            self._error = error

    def _look(self) -> None:
        """Link the parts that were published since the last check."""
        held = is_held(self._folder)  # before tape.json: the next call handles a capture that ends in between
        marker = (self._folder / "tape.json").stat()
        if self._seen != (marker.st_ino, marker.st_mtime_ns):
            info = published(self._folder)
            self._take_new(info)
            self._seen = (marker.st_ino, marker.st_mtime_ns)
            if info["ended"]:
                self._take_rest(info)
                self.ended = "finished"
        if not held and self.ended is None:
            self.ended = "killed"

    def _take_new(self, info: dict[str, Any]) -> None:
        new = [part for part in info["parts"] if Path(part["file"]).name > self._last]
        if not self._last and new:
            self._take_logins_before(Path(new[0]["file"]).name)
        taken = []
        for part in new:
            try:
                take(self._folder / part["file"], self.path / part["file"])
            except FileNotFoundError:
                continue  # the part was dropped after tape.json was read
            name = Path(part["file"]).name
            for folder in ("problems", "facts"):
                if (self._folder / folder / name).exists():
                    take(self._folder / folder / name, self.path / folder / name)
            taken.append(part)
        in_all = self._events(info)
        with self._lock:
            if not self._info:
                self._before = in_all - sum(part["rows"] for part in new)
            self._info = {key: value for key, value in info.items() if key != "ended"}
            self._taken += sum(part["rows"] for part in taken)
            self.lost = in_all - self._before - self._taken
            self._waiting += taken
            self._last = max([self._last, *(Path(part["file"]).name for part in new)])
            self._write()

    def _take_logins_before(self, name: str) -> None:
        """Link the login files of parts that --keep has dropped, because their sessions may still be open."""
        for file in sorted((self._folder / "facts").glob("part-*.parquet")):
            if file.name < name:
                take(file, self.path / "facts" / file.name)

    def _take_rest(self, info: dict[str, Any]) -> None:
        """Read the logins and problems of the last parts from the tables of the finished tape."""
        (sessions, problems) = (self._folder / f"{table}.parquet" for table in ("sessions", "problems"))
        with open_storage(self.path) as con:
            told = f"SELECT {LOGIN} FROM read_parquet({sql_text(sessions)})"
            write_parquet(con, told, self.path / "facts" / self._last)
        if info["counts"]["problems"]:
            for file in (self.path / "problems").glob("part-*.parquet"):
                file.unlink()
            take(problems, self.path / "problems" / self._last)

    @staticmethod
    def _events(info: dict[str, Any]) -> int:
        """Return the total number of events that the capture has published."""
        dropped = (info.get("dropped") or {}).get("events", 0)
        return int(sum(part["rows"] for part in info["parts"]) + dropped)

    def _link(self, con: duckdb.DuckDBPyConnection, folder: Path, parts: list[dict[str, Any]]) -> None:
        """Link parts and the logins of their sessions into a small tape."""
        for part in parts:
            take(self.path / part["file"], folder / part["file"])
        self._logins.give(con, folder, [folder / part["file"] for part in parts])

    def _write(self) -> None:
        """Write the JSON of the reader's own tape, so that the tape can be completed after a kill."""
        info = {**self._info, "finished": False, "parts": [*self._given, *self._waiting]}
        write_json(self.path / "tape.json", info)

    def _warnings(self) -> list[TapeWarning]:
        """Return warnings about events missing from the start of the tape."""
        return dropped_warnings(self._info) if self._before else []

    def _end_warnings(self) -> list[TapeWarning]:
        """Return warnings about lost events and events missing from the end of the tape."""
        found: list[TapeWarning] = []
        if self.lost:
            text = f"--keep dropped {plural(self.lost, 'event')} that the follower had not yet read"
            found.append({"kind": "lost", "text": text})
        if self.ended == "killed":
            text = "the capture was killed. Unpublished events are missing from the end of the tape"
            found.append({"kind": "killed", "text": text})
        if self.ended is None or self._waiting:
            until = max((part["last_ns"] for part in self._given), default=0)
            text = f"the capture was still running. Events after {utc_time(until)} UTC are missing"
            found.append({"kind": "snapshot", "text": text})
        return found


@contextmanager
def follow(live: Path, path: Path) -> Iterator[Following]:
    """Yield a tape that follows a running capture into the new tape `path`. The new tape is complete after `finish`.

    Raises InputError if the capture ends without a published part, or if `path` exists.
    """
    following = Following(live, path)
    try:
        following.start()
        with hold(path):
            yield following
    finally:
        following.close()
