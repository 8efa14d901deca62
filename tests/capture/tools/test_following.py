# SPDX-License-Identifier: Apache-2.0
"""A follower reads the parts of a tape while the capture publishes them. Each part is read once and in order, until the
capture ends. Removed parts are counted.
"""

from pathlib import Path

import pytest
from querytape.capture.source import Endless
from querytape.capture.tools.following import Following, follow
from querytape.capture.tools.verify import verify
from querytape.common.errors import InputError
from querytape.schemas import Folder, open_folder

from tests.capture.test_publishing import STATEMENTS, Capture, pieces
from tests.helpers.duck import database, query
from tests.helpers.growing_log import wait_until

pytestmark = pytest.mark.slow


def next_piece(following: Following) -> Folder:
    """Wait for the next piece of the followed tape."""
    while (tape := following.more()) is None:
        assert not following.is_over
    return tape


def test_each_published_part_is_read_once(tmp_path: Path) -> None:
    """The pieces have no gaps. At the end, the follower's tape equals the capture's tape and is complete."""
    tape, own = tmp_path / "t.tape", tmp_path / "own.tape"
    first, second, third = pieces(30, 60)
    capture = Capture(tmp_path / "slow.log", tape, Endless(part_every_ns=1_000_000))
    capture.write(first + second[:190])
    capture.wait_for(30)
    with follow(tape, own) as following:
        assert following.begun["events"] == 30
        counts = [next_piece(following).info["counts"]["events"]]
        capture.write(second[190:] + third[:190])
        capture.wait_for(60)
        while sum(counts) < 60:
            piece = next_piece(following)
            counts.append(piece.info["counts"]["events"])
            following.done(piece)
            assert not piece.path.exists()
        capture.write(third[190:])
        done = capture.end()
        while not following.is_over:
            if (piece_or_none := following.more()) is not None:
                counts.append(piece_or_none.info["counts"]["events"])
        whole = following.finish()
    assert sum(counts) == len(STATEMENTS) == whole.info["counts"]["events"]
    assert (whole.info["counts"], whole.info["warnings"]) == (done["counts"], done["warnings"])
    assert whole.info["followed"]["ended"] == "finished"
    assert list(verify(own, tmp_path)) == []


def test_removed_parts_and_an_early_stop_are_reported(tmp_path: Path) -> None:
    """Parts that --keep removes before the follower reads them are counted. The follower's tape reports that it was
    stopped early.
    """
    tape, own = tmp_path / "t.tape", tmp_path / "own.tape"
    cuts = pieces(*range(10, 100, 10))
    capture = Capture(tmp_path / "slow.log", tape, Endless(1_000_000, keep_ns=20 * 10**9))
    capture.write(cuts[0] + cuts[1][:190])
    capture.wait_for(10)
    with follow(tape, own) as following:
        next_piece(following)
        following._end()  # stops the follower's own thread
        capture.write(cuts[1][190:])
        for number, piece in enumerate(cuts[2:], 3):
            capture.write(piece)
            capture.wait_for(number * 10 - 1)
        following._look()
        assert following.lost > 0
        assert following.lost + sum(part["rows"] for part in following._given + following._waiting) >= 99
        whole = following.finish()
    capture.end()
    assert [warning["kind"] for warning in whole.info["warnings"]] == ["lost", "snapshot"]
    assert whole.info["followed"]["lost"] == following.lost
    assert open_folder("tape", own).info["counts"]["events"] == 10


def test_following_a_capture_without_parts_gives_a_message(tmp_path: Path) -> None:
    """The capture ends before it publishes a part. No files of the follower remain."""
    tape = tmp_path / "t.tape"
    tape.mkdir()
    wait_until(tape.exists, "it is there")
    (tape / "tape.json").write_text('{"format_version": 1, "finished": false, "parts": []}')
    with pytest.raises(InputError, match="without publishing any events"), follow(tape, tmp_path / "own.tape"):
        pass
    assert not (tmp_path / "own.tape").exists()


def test_session_properties_of_removed_parts_are_read(tmp_path: Path) -> None:
    """--keep removed parts before the follower started. The session properties of these parts are still read, because
    the sessions may continue.
    """
    tape, own = tmp_path / "t.tape", tmp_path / "own.tape"
    first, second = pieces(30)
    capture = Capture(tmp_path / "slow.log", tape, Endless(part_every_ns=1_000_000))
    capture.write(first + second[:190])
    capture.wait_for(30)
    old = tape / "facts" / "part--dropped.parquet"
    with database() as con:
        con.execute(f"COPY (SELECT 1 AS session, 33 AS port) TO '{old}' (FORMAT parquet)")
    with follow(tape, own) as following:
        piece = next_piece(following)
        found = query(f"SELECT port FROM '{piece.path}/sessions.parquet' WHERE session = 1")
        assert found == [(33,)]
        old.unlink()
        capture.end()
