# SPDX-License-Identifier: Apache-2.0
"""A growing log is followed. After any kind of rotation, the events equal those of the unrotated log."""

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.parsers import Follow, open_slowlog
from querytape.native.bindings.reader import Reader

from tests.helpers.growing_log import GrowingLog, wait_until
from tests.helpers.log_writers import NATIVE, make_statements, slow_log
from tests.helpers.reading import Read, read_all

pytestmark = pytest.mark.slow

PLACES = ("file", "offset")  # columns that differ after a rotation
TURNS = ("rename", "rename_and_pack", "remove", "copy_and_truncate", "pack_and_truncate")


class Following:
    """A reader that follows a growing log in its own thread."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._read: list[Read] = []
        self._thread = threading.Thread(target=lambda: self._read.append(read_all(reader)), daemon=True)
        self._thread.start()

    def count(self, *names: str) -> int:
        """Return the sum of the given counters of the reader."""
        told = self.reader.describe()
        return sum(told[name] for name in names)

    def has_come_to(self, log: GrowingLog) -> None:
        """Wait until the reader has read the current file. The counters may already include a few bytes of the next
        file.
        """
        wait_until(lambda: self.count("rotations", "truncations") == log.turns, f"turn {log.turns} is seen")
        size = log.path.stat().st_size
        wait_until(lambda: self.count("followed_bytes") == size, "the new file is read")

    def end(self) -> Read:
        """Stop the reader, and return all of its results."""
        self.reader.stop()
        self._thread.join()
        (read,) = self._read
        return read


def without_places(read: Read) -> list[dict[str, Any]]:
    """Return the events without the columns file and offset, in the order of sessions."""
    kept = [{name: value for name, value in event.items() if name not in PLACES} for event in read.events]
    return sorted(kept, key=lambda event: (event["session"], event["seq"]))


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", NATIVE)
def test_rotated_log_gives_the_events_of_an_unrotated_log(kind: str, seed: int, tmp_path: Path) -> None:
    """The log is written in pieces and rotated in every way. A rotation may also happen inside an event."""
    open_log, make_log = NATIVE[kind]
    chance = random.Random(f"{kind} {seed}")
    statements = make_statements([chance.choice((40, 90, 700, 9000)) for _ in range(60)], seed)
    whole, at, number = make_log(statements), 0, 0
    log = GrowingLog(tmp_path / "the.log", chance)
    following = Following(open_log([log.path], follow=Follow(part_s=chance.choice((0.01, 0.2, 5)))))
    for turn in chance.sample(TURNS * 2, len(TURNS) * 2):
        number += chance.randrange(1, 6)
        end = len(make_log(statements[:number]))
        # Before a server reopens its log, it completes the last event. A rotation by copying may happen inside an
        # event.
        inside = chance.randrange(len(make_log(statements[: number - 1])) + 1, end)
        seen = chance.randrange(at + 1, inside + 1)
        log.write(whole[at:seen])
        following.has_come_to(log)
        log.write(whole[seen:inside])  # the next rotation may come before the reader reads these bytes
        getattr(log, turn)(whole[inside:end])
        at = end
    log.write(whole[at:])
    following.has_come_to(log)
    read = following.end()
    (tmp_path / "whole.log").write_bytes(whole)
    expected = read_all(open_log([tmp_path / "whole.log"]))
    assert without_places(read) == without_places(expected)
    assert [problem["kind"] for problem in read.problems] == expected.kinds
    assert read.description["truncations_without_copy"] == 0
    log.close()


def test_truncation_without_a_copy_is_reported(tmp_path: Path) -> None:
    """A truncation may lose the bytes that were written last. A problem reports the loss, and later statements are
    read.
    """
    statements = make_statements([50] * 20, 1)
    log = GrowingLog(tmp_path / "slow.log", random.Random(1))
    following = Following(open_slowlog([log.path], follow=Follow()))
    log.write(slow_log(statements[:10]))
    following.has_come_to(log)
    log.copy_and_truncate(b"")
    (tmp_path / "slow.log.1").write_bytes(b"another file")
    whole = slow_log(statements)
    log.write(whole[len(slow_log(statements[:10])) :])
    following.has_come_to(log)
    read = following.end()
    kinds = [problem["kind"] for problem in read.problems]
    if following_lost := kinds.count("truncated_log"):  # without this problem, the copy was complete
        assert following_lost == 1
        assert read.description["truncations_without_copy"] == 1
    assert [event["statement"] for event in read.events][-10:] == statements[10:]
    log.close()


def test_half_written_statement_waits_for_its_end(tmp_path: Path) -> None:
    """The log pauses in the middle of a statement, when the next part must be published. No part contains a partial
    statement.
    """
    statements = make_statements([50, 60, 70], 1)
    whole, half = slow_log(statements), len(slow_log(statements[:2])) - 30
    log = GrowingLog(tmp_path / "slow.log", random.Random(2))
    following = Following(open_slowlog([log.path], follow=Follow(part_s=0.01)))
    log.write(whole[:half])
    wait_until(lambda: following.reader.stats().events == 1, "the first event is read")
    log.write(whole[half:])
    read = following.end()
    assert [event["statement"] for event in read.events] == statements
    assert read.problems == []
    log.close()


def test_statements_larger_than_the_buffer_are_followed(tmp_path: Path) -> None:
    """Large statements are written before and after the rotation. Each read appends to the unread bytes and stays
    within the buffer.
    """
    statements = make_statements([300_000, 70_000, 400_000, 500_000, 40, 600_000, 1_500_000, 90, 700_000], 5)
    whole, before = slow_log(statements), len(slow_log(statements[:5])) + 100_000
    log = GrowingLog(tmp_path / "slow.log", random.Random(5))
    log.write(whole[:before])
    following = Following(open_slowlog([log.path], follow=Follow(part_s=0.01)))
    following.has_come_to(log)
    log.write(whole[before:])
    read = following.end()
    assert [event["statement"] for event in read.events] == statements
    assert read.problems == []
    log.close()


@pytest.mark.parametrize("kind", NATIVE)
def test_events_before_a_pause_have_the_right_times(kind: str, tmp_path: Path) -> None:
    """When the log pauses, all events are published. Their times equal the times in a capture of the complete log."""
    open_log, make_log = NATIVE[kind]
    statements = make_statements([50] * 12, 6)
    whole, half = make_log(statements), len(make_log(statements[:7]))
    (tmp_path / "whole.log").write_bytes(whole)
    expected = read_all(open_log([tmp_path / "whole.log"]))
    log = GrowingLog(tmp_path / "the.log", random.Random(6))
    following = Following(open_log([log.path], follow=Follow(part_s=0.01)))
    log.write(whole[:half])
    wait_until(lambda: following.reader.stats().last_ns is not None, "a part is handed over")
    log.write(whole[half:])
    assert without_places(following.end()) == without_places(expected)
    log.close()


def test_only_an_uncompressed_file_is_followed(tmp_path: Path) -> None:
    """A compressed file, a folder or a missing file is refused with a message."""
    packed = tmp_path / "slow.log.gz"
    packed.write_bytes(b"\x1f\x8b\x08\0 and so on")
    for path, said in (
        (packed, "found a compressed file"),
        (tmp_path, "expected a file to follow"),
        (tmp_path / "no", "No such file"),
    ):
        with pytest.raises(NativeFault, match=said):
            open_slowlog([path], follow=Follow())


def test_from_end_option_skips_old_content(tmp_path: Path) -> None:
    statements = make_statements([50] * 9, 1)
    whole, before = slow_log(statements), len(slow_log(statements[:4]))
    log = GrowingLog(tmp_path / "slow.log", random.Random(3))
    log.write(whole[:before])
    following = Following(open_slowlog([log.path], follow=Follow(from_end=True)))
    log.write(whole[before:])
    read = following.end()
    assert [event["statement"] for event in read.events] == statements[4:]
    log.close()


def test_earlier_files_are_read_before_the_followed_file(tmp_path: Path) -> None:
    """If several files are given, the last one is followed. The other files may be compressed."""
    statements = make_statements([50] * 9, 1)
    whole, before = slow_log(statements), len(slow_log(statements[:4]))
    (tmp_path / "slow.log.1").write_bytes(whole[:before])
    log = GrowingLog(tmp_path / "slow.log", random.Random(4))
    following = Following(open_slowlog([tmp_path / "slow.log.1", log.path], follow=Follow()))
    log.write(whole[before:])
    read = following.end()
    assert [(event["statement"], event["file"]) for event in read.events] == [
        (statement, int(number >= 4)) for number, statement in enumerate(statements)
    ]
    log.close()
