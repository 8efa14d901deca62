# SPDX-License-Identifier: Apache-2.0
"""New tapes from existing tapes, and damaged tapes. The kept data is complete, and damage is reported."""

import json
from pathlib import Path

import pytest
from querytape.capture.tools.derive import derive
from querytape.common.errors import InputError
from querytape.schemas import EventFilter

from tests.helpers.command_line import run_here
from tests.helpers.tape_tools import damages, found, make_tape

pytestmark = pytest.mark.slow


def test_merged_tape_renumbers_sessions(tmp_path: Path) -> None:
    """The merged tape has all events of both tapes in separate sessions. It also keeps the client ports, which only
    packet captures have.
    """
    a, b = make_tape(tmp_path, "a"), make_tape(tmp_path, "b", connections=2, offset=100)
    info = derive([a, b], tmp_path / "m.tape", EventFilter())
    assert info["counts"] == {"events": 45, "sessions": 5, "digests": 2, "problems": 0}
    ports = found(tmp_path / "m.tape", "SELECT session, port FROM sessions ORDER BY session")
    assert ports == [(1, 40000), (2, 40001), (3, 40002), (4, 40000), (5, 40001)]
    assert info["warnings"] == []
    assert damages(tmp_path / "m.tape", tmp_path) == []


@pytest.mark.long
def test_twenty_tapes_are_merged(tmp_path: Path) -> None:
    """Each client port from packets is kept. A file entry that represents seven rotated files uses seven file numbers."""
    tapes = [make_tape(tmp_path, f"t{number}", offset=100 * number) for number in range(20)]
    info = json.loads((tapes[0] / "tape.json").read_text())
    info["files"][0]["times"] = 7
    (tapes[0] / "tape.json").write_text(json.dumps(info))
    merged = derive(tapes, tmp_path / "m.tape", EventFilter())
    assert merged["counts"]["sessions"] == 60
    assert found(tmp_path / "m.tape", "SELECT DISTINCT port FROM sessions ORDER BY port") == [
        (40000,),
        (40001,),
        (40002,),
    ]
    assert found(tmp_path / "m.tape", "SELECT DISTINCT file FROM events ORDER BY file")[:3] == [(0,), (7,), (8,)]


def test_cut_keeps_a_time_window(tmp_path: Path) -> None:
    """The new tape has the events that began in the window, and seq is renumbered. A warning says that the tape is only
    a part.
    """
    tape = make_tape(tmp_path, "a")
    begin, end = found(tape, "SELECT quantile_disc(start_ns, 0.25), quantile_disc(start_ns, 0.75) FROM events")[0]
    info = derive([tape], tmp_path / "c.tape", EventFilter(from_ns=begin, to_ns=end))
    expected = found(tape, f"SELECT count(*) FROM events WHERE start_ns >= {begin} AND start_ns < {end}")[0][0]
    assert info["counts"]["events"] == expected
    assert [warning["kind"] for warning in info["warnings"]] == ["filtered"]
    assert damages(tmp_path / "c.tape", tmp_path) == []


def test_filter_by_digest_session_and_account(tmp_path: Path) -> None:
    """The filters select one of two digests, one session, and an account that does not exist."""
    tape = make_tape(tmp_path, "a")
    digest = found(tape, "SELECT digest FROM events WHERE statement::VARCHAR LIKE '%t1'")[0][0]
    info = derive([tape], tmp_path / "d.tape", EventFilter(digests=(digest,)))
    assert info["counts"]["events"] == 9 + 2 * 3  # plus connect and quit of each of three sessions
    info = derive([tape], tmp_path / "s.tape", EventFilter(sessions=(2,), classes=("read",)))
    assert info["counts"] == {"events": 9, "sessions": 1, "digests": 2, "problems": 0}
    with pytest.raises(InputError, match=r"no event of .* matches the conditions"):
        derive([tape], tmp_path / "n.tape", EventFilter(digests=("0" * 16,)))  # connect and quit alone do not match
    assert damages(tmp_path / "s.tape", tmp_path) == []
    with pytest.raises(InputError, match=r"no event of .* matches the conditions"):
        derive([tape], tmp_path / "x.tape", EventFilter(users=("nobody",)))
    assert not (tmp_path / "x.tape").exists()


def test_cut_command_accepts_readable_times(tmp_path: Path) -> None:
    tape = make_tape(tmp_path, "a")
    times = ["--from", "2024-06-10 06:13:20", "--to", "2024-06-10T06:13:20.002+00:00"]
    done = run_here("tape", "cut", str(tape), *times, "-o", str(tmp_path / "c.tape"))
    assert done.code == 0, done.err
    assert "the tape contains only selected events" in done.out
