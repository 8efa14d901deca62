# SPDX-License-Identifier: Apache-2.0
"""A running capture publishes its tape part by part. Parts that --keep removes are counted and reported."""

import json
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.publishing import Published, Publisher
from querytape.capture.session_facts import load_facts
from querytape.capture.source import Endless
from querytape.capture.tape_writer import endless_name, new_tape
from querytape.common.files import is_held
from querytape.schemas import count_files

from tests.helpers.growing_log import wait_until
from tests.helpers.log_writers import FIRST_S, slow_log

pytestmark = pytest.mark.slow

STATEMENTS = [b"SELECT %d FROM t" % number for number in range(100)]


class Capture:
    """A capture that follows a log in its own thread."""

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
        """Return the content of tape.json at this moment."""
        try:
            info: dict[str, Any] = json.loads((self.tape / "tape.json").read_text())
        except FileNotFoundError:
            return {"parts": []}
        return info

    def wait_for(self, events: int) -> dict[str, Any]:
        """Wait until this number of events is published, including events that --keep removed. Return tape.json."""
        wait_until(lambda: (self.published.get("published") or {"events": 0})["events"] >= events, f"{events} events")
        return self.published

    def end(self) -> dict[str, Any]:
        """Stop the capture normally. Return the JSON of the finished tape."""
        self._end.set()
        self._thread.join()
        self._out.close()
        return self.info


def pieces(*places: int) -> list[bytes]:
    """Return the log of STATEMENTS in pieces. A piece ends after each given number of statements. The next piece shows
    that the last statement has ended.
    """
    whole = slow_log(STATEMENTS)
    cuts = [0, *(len(slow_log(STATEMENTS[:place])) for place in places)]
    return [whole[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(whole)], strict=True)]


def test_parts_are_published_one_by_one(tmp_path: Path) -> None:
    """The JSON of an unfinished tape lists complete parts with checksums. It also has the end time of the published
    events and the number of bytes read.
    """
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


def test_rotated_file_has_a_new_entry(tmp_path: Path) -> None:
    """The `file` number of each event has an entry in tape.json, even if several files had the same name."""
    first, second = pieces(10)
    capture = Capture(tmp_path / "slow.log", tmp_path / "t.tape", Endless(part_every_ns=1_000_000))
    capture.write(first)
    capture.wait_for(9)
    (tmp_path / "slow.log").rename(tmp_path / "slow.log.1")
    (tmp_path / "slow.log").write_bytes(second)
    capture.wait_for(99)
    info = capture.end()
    assert info["files"] == [{"path": str(tmp_path / "slow.log"), "bytes": None, "sha256": None, "times": 2}]
    assert count_files(info) == 2
    with duckdb.connect() as con:
        query = f"SELECT file, count(*) FROM '{tmp_path}/t.tape/events/*.parquet' GROUP BY file ORDER BY file"
        assert con.execute(query).fetchall() == [(0, 10), (1, 90)]


def test_keep_option_retains_the_last_hours(tmp_path: Path) -> None:
    """Only whole parts are removed. The remaining counts, sessions and digests are right, and the tape reports the
    number of removed events.
    """
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


@dataclass
class Stats:
    """The counters of a reader that a publisher uses."""

    file: int = 0
    largest: int = 100
    bytes_read: int = 0


class FakeReader:
    """A reader of a rotating log."""

    def __init__(self) -> None:
        self.counters = Stats()

    def stats(self) -> Stats:
        """Return the counters."""
        return self.counters

    def describe(self) -> dict[str, Any]:
        """Return the description of the input."""
        return {"followed_bytes": 1}


class Ring:
    """A tape whose parts are created by the test and then published. Each part covers five seconds."""

    def __init__(self, tape: Path, con: duckdb.DuckDBPyConnection, keep_s: int) -> None:
        self.tape, self._con = tape, con
        new_tape(tape)
        self.info: dict[str, Any] = {"files": [{"path": "slow.log"}], "parts": [], "finished": False}
        self.reader = FakeReader()
        endless = Endless(5 * 10**9, keep_ns=keep_s * 10**9)
        self.publisher = Publisher(con, tape, self.info, endless, "slow.log")
        self._facts = tape / "one.parquet"
        con.execute(f"COPY (SELECT 1 AS session, 33 AS port) TO '{self._facts}' (FORMAT parquet)")

    def part(self, number: int, second: int, problems: int = 0, facts: int = 0, *, events: bool = True) -> None:
        """Create and publish one part."""
        name = endless_name(number)
        if events:
            (self.tape / "events" / name).touch()
        if problems:
            (self.tape / "problems" / name).touch()
        if facts:
            shutil.copyfile(self._facts, self.tape / "facts" / name)
        entry = {"file": f"events/{name}", "rows": 10, "bytes": 1000, "sha256": "0" * 64}
        entry |= {"first_ns": second * 10**9, "last_ns": (second + 5) * 10**9}
        self.publisher.publish(Published(name, entry if events else None, problems, facts), self.reader)  # type: ignore[arg-type]

    def files(self) -> int:
        """Return the number of files on the tape."""
        return sum(1 for path in self.tape.rglob("*") if path.is_file())


@pytest.mark.long
def test_keep_option_limits_the_size_of_an_endless_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The capture writes 2,000 parts, with a rotation, logins and problems in each. Only the last ten minutes remain."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    with duckdb.connect() as con:
        ring = Ring(tmp_path / "t.tape", con, keep_s=600)
        sizes, files = [], []
        for number in range(2_000):
            ring.reader.counters.file = number
            ring.part(number, number * 5, problems=1, facts=1, events=number % 3 > 0)
            if number % 200 == 199:
                sizes.append((ring.tape / "tape.json").stat().st_size)
                files.append(ring.files())
        assert max(sizes) < 40_000
        assert max(sizes[1:]) - min(sizes[1:]) < 400
        assert max(files) < 4 * 120 + 200
        (entry,) = ring.info["files"]
        assert entry["times"] == 2_000
        kept = ring.info["parts"]
        assert ring.info["dropped"]["problems"] + len(list((ring.tape / "problems").iterdir())) == 2_000
        assert 80 <= len(kept) <= 84
        load_facts(con, sorted((ring.tape / "facts").glob("part-*.parquet")))
        assert con.execute("SELECT session, port FROM telling").fetchall() == [(1, 33)]


def test_clock_set_back_does_not_empty_the_tape(tmp_path: Path) -> None:
    """The times of one part are one day ahead. Later parts are kept. The part is removed when the clock reaches its
    time.
    """
    with duckdb.connect() as con:
        ring = Ring(tmp_path / "t.tape", con, keep_s=600)
        for number in range(300):
            ring.part(number, number * 5 + (86_400 if number == 100 else 0))
            names = [Path(part["file"]).name for part in ring.info["parts"]]
            assert len(names) >= min(number + 1, 3)
        assert names == [endless_name(100), *(endless_name(number) for number in range(178, 300))]
