# SPDX-License-Identifier: Apache-2.0
"""A tape under way is published part by part; what --keep drops is counted and said."""

import json
import threading
from pathlib import Path
from typing import Any

import duckdb
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.source import Endless
from querytape.common.files import is_held

from tests.helpers.growing import wait_until
from tests.helpers.log_writers import FIRST_S, slow_log

STATEMENTS = [b"SELECT %d FROM t" % number for number in range(100)]


class Capture:
    """A capture that follows a log in a thread of its own; `published` is what its tape.json says."""

    def __init__(self, log: Path, tape: Path, endless: Endless) -> None:
        self.log, self.tape = log, tape
        self.info: dict[str, Any] = {}
        self._end = threading.Event()
        log.touch()
        self._out = log.open("ab", buffering=0)
        settings = Settings(watch=self._watch, endless=endless)
        self._thread = threading.Thread(target=self._run, args=(settings,), daemon=True)
        self._thread.start()

    def _run(self, settings: Settings) -> None:
        self.info = capture_source(SOURCES["slowlog"], [str(self.log)], self.tape, settings)

    def _watch(self, stats: Any, total: int | None) -> None:
        assert total is None
        if self._end.is_set():
            raise KeyboardInterrupt

    def write(self, data: bytes) -> None:
        """Write to the log."""
        self._out.write(data)

    @property
    def published(self) -> dict[str, Any]:
        """What tape.json says now."""
        try:
            info: dict[str, Any] = json.loads((self.tape / "tape.json").read_text())
        except FileNotFoundError:
            return {"parts": []}
        return info

    def wait_for(self, events: int) -> dict[str, Any]:
        """Wait until so many events are published, dropped ones too; return what tape.json says then."""
        wait_until(lambda: (self.published.get("published") or {"events": 0})["events"] >= events, f"{events} events")
        return self.published

    def end(self) -> dict[str, Any]:
        """End it in order; return the finished tape's JSON."""
        self._end.set()
        self._thread.join()
        self._out.close()
        return self.info


def pieces(*places: int) -> list[bytes]:
    """Return the log of STATEMENTS, cut behind so many of them each; the last one's end shows with the next."""
    whole = slow_log(STATEMENTS)
    cuts = [0, *(len(slow_log(STATEMENTS[:place])) for place in places)]
    return [whole[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(whole)], strict=True)]


def test_parts_are_published_as_they_are_made(tmp_path: Path) -> None:
    """An unfinished tape's JSON names whole parts with their sums, and says until when it is and what was read."""
    first, second, third = pieces(10, 30)
    capture = Capture(tmp_path / "slow.log", tmp_path / "t.tape", Endless(part_every_ns=1_000_000))
    capture.write(first + second[:190])
    info = capture.wait_for(10)
    assert info["finished"] is False
    assert info["published"]["last_ns"] == info["parts"][-1]["last_ns"] == (FIRST_S + 9) * 10**9 + 100_000
    assert info["published"]["file"] == str(tmp_path / "slow.log")
    assert info["published"]["file_bytes"] >= len(first)
    for part in info["parts"]:
        with duckdb.connect() as con:
            rows = con.execute(f"SELECT count(*) FROM '{tmp_path / 't.tape' / part['file']}'").fetchall()
        assert rows == [(part["rows"],)]
    assert is_held(tmp_path / "t.tape")
    capture.write(second[190:] + third[:190])
    assert capture.wait_for(30)["parts"][: len(info["parts"])] == info["parts"]
    capture.write(third[190:])
    done = capture.end()
    assert (done["counts"]["events"], done["finished"], done["warnings"]) == (100, True, [])
    assert "published" not in done
    assert not is_held(tmp_path / "t.tape")
    assert done["files"] == [{"path": str(tmp_path / "slow.log"), "bytes": None, "sha256": None}]


def test_a_file_that_was_turned_over_is_named_again(tmp_path: Path) -> None:
    """Each event's `file` has an entry in tape.json, however often the name was another file's."""
    first, second = pieces(10)
    capture = Capture(tmp_path / "slow.log", tmp_path / "t.tape", Endless(part_every_ns=1_000_000))
    capture.write(first)
    capture.wait_for(9)
    (tmp_path / "slow.log").rename(tmp_path / "slow.log.1")
    (tmp_path / "slow.log").write_bytes(second)
    capture.wait_for(99)
    info = capture.end()
    assert len(info["files"]) == 2
    with duckdb.connect() as con:
        query = f"SELECT file, count(*) FROM '{tmp_path}/t.tape/events/*.parquet' GROUP BY file ORDER BY file"
        assert con.execute(query).fetchall() == [(0, 10), (1, 90)]


def test_a_ring_of_the_last_hours(tmp_path: Path) -> None:
    """Whole parts go behind; what is left has right counts, sessions and digests, and the tape says what went."""
    capture = Capture(tmp_path / "slow.log", tmp_path / "t.tape", Endless(1_000_000, keep_ns=20 * 10**9))
    for number, piece in enumerate(pieces(*range(10, 100, 10)), 1):
        capture.write(piece)
        info = capture.wait_for(number * 10 - 1)
    kept = sum(part["rows"] for part in info["parts"])
    assert info["dropped"]["events"] + kept == info["published"]["events"]
    assert kept < 60
    on_disk = {path.name for path in (tmp_path / "t.tape" / "events").glob("*.parquet")}
    assert {Path(part["file"]).name for part in info["parts"]} <= on_disk
    done = capture.end()
    assert done["counts"]["events"] + done["dropped"]["events"] == 100
    (warning,) = done["warnings"]
    assert warning["kind"] == "dropped_by_keep"
    assert "events before 2024-06-10" in warning["text"]
    with duckdb.connect() as con:
        events = f"'{tmp_path}/t.tape/events/*.parquet'"
        shown = con.execute(
            f"SELECT session, events, first_ns FROM '{tmp_path}/t.tape/sessions.parquet' ORDER BY session"
        )
        counted = f"SELECT session, count(*), min(start_ns) FROM {events} GROUP BY session ORDER BY session"
        assert shown.fetchall() == con.execute(counted).fetchall()
        opened = con.execute(f"SELECT DISTINCT open_at_start FROM '{tmp_path}/t.tape/sessions.parquet'").fetchall()
        assert opened == [(True,)]
        assert con.execute(f"SELECT sum(events) FROM '{tmp_path}/t.tape/digests.parquet'").fetchall() == [
            (done["counts"]["events"],)
        ]
