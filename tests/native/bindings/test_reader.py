# SPDX-License-Identifier: Apache-2.0
"""The Python interface of a reader: parts, counters, description, stop and close."""

from pathlib import Path

from querytape.native.bindings.parsers import open_slowlog

from tests.helpers.logs import write_mariadb
from tests.helpers.reading import read_all


def log(tmp_path: Path, events: int = 500) -> Path:
    """Return a slow log with `events` events, one per second."""
    return write_mariadb(tmp_path / "s.log", [(1718000000 + n, 1 + n % 3, 0.001, "SELECT 1") for n in range(events)])


def test_counters_match_the_log(tmp_path: Path) -> None:
    """The reader has no first time before the first event."""
    path = log(tmp_path)
    reader = open_slowlog([path])
    assert (reader.stats().events, reader.stats().first_ns, reader.stats().finished) == (0, None, False)
    while not reader.stats().finished:
        reader.drain_part(1000, 1 << 20)
    stats = reader.stats()
    reader.close()
    assert (stats.events, stats.sessions, stats.problems) == (500, 3, 0)
    assert stats.bytes_read == stats.bytes_parsed == path.stat().st_size
    assert stats.first_ns is not None
    assert stats.last_ns is not None
    assert stats.last_ns - stats.first_ns >= 498_000_000_000


def test_stop_ends_the_input_early(tmp_path: Path) -> None:
    reader = open_slowlog([log(tmp_path, 50_000)])
    reader.stop()
    read = read_all(reader)
    assert len(read.events) < 50_000


def test_resources_are_released_once_on_close(tmp_path: Path) -> None:
    reader = open_slowlog([log(tmp_path, 1)])
    calls: list[str] = []
    reader.resources.callback(calls.append, "released")
    assert isinstance(reader.describe(), dict)
    reader.close()
    reader.close()
    assert calls == ["released"]
