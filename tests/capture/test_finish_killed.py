# SPDX-License-Identifier: Apache-2.0
"""The tape of a killed capture is completed from the parts that were written completely."""

import json
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source, recover
from querytape.common.errors import FolderError, InputError

from tests.helpers.duck import query
from tests.helpers.logs import write_mariadb


def killed(tmp_path: Path) -> Path:
    """Return the tape of a killed capture. tape.json lacks one complete part, another part is only half written, and
    there are no tables.
    """
    log = write_mariadb(tmp_path / "s.log", [(1718000000 + n, 1, 0.001, f"SELECT {n}") for n in range(30)])
    tape = tmp_path / "t.tape"
    info = capture_source(SOURCES["slowlog"], [str(log)], tape, Settings())
    for name in ("sessions", "digests", "problems"):
        (tape / f"{name}.parquet").unlink()
    (tape / "events" / "part-00001.parquet.tmp").write_bytes(b"PAR1 and no end")
    kept = {key: info[key] for key in ("format_version", "files", "measuring_point", "source", "created")}
    (tape / "tape.json").write_text(json.dumps({**kept, "finished": False, "parts": []}))
    return tape


def test_killed_tape_is_recovered(tmp_path: Path) -> None:
    """The recovered tape has all events of the complete parts. The tape is finished and lists the missing data."""
    tape = killed(tmp_path)
    info = recover(tape)
    assert info["finished"] is True
    assert info["counts"] == {"events": 30, "sessions": 1, "digests": 1, "problems": 0}
    assert [part["rows"] for part in info["parts"]] == [30]
    assert info["warnings"][0]["kind"] == "killed"
    assert [path.name for path in (tape / "events").iterdir()] == ["part-00000.parquet"]
    assert json.loads((tape / "tape.json").read_text()) == info


def test_tape_without_a_complete_part_is_not_recovered(tmp_path: Path) -> None:
    """A folder without a complete part, and a folder that is not a tape, give a message."""
    tape = killed(tmp_path)
    (tape / "events" / "part-00000.parquet").unlink()
    with pytest.raises(InputError, match="no event"):
        recover(tape)
    with pytest.raises(FolderError):
        recover(tmp_path)


def test_recovered_tape_has_the_times_of_its_events(tmp_path: Path) -> None:
    """A recovered tape ends when its last statement ends, not when this statement starts."""
    log = write_mariadb(tmp_path / "s.log", [(1718000000 + n, 1, 2.5, f"SELECT {n}") for n in range(0, 30, 3)])
    tape = tmp_path / "t.tape"
    whole = capture_source(SOURCES["slowlog"], [str(log)], tape, Settings())
    kept = {key: whole[key] for key in ("format_version", "files", "measuring_point", "source", "created")}
    (tape / "tape.json").write_text(json.dumps({**kept, "finished": False, "parts": []}))
    info = recover(tape)
    assert (info["first_ns"], info["last_ns"]) == (whole["first_ns"], whole["last_ns"])
    assert info["last_ns"] >= 1718000027 * 10**9
    longest = f"SELECT max(start_ns + duration_ns), max(start_ns) FROM '{tape}/events/*.parquet'"
    ((last, last_start),) = query(longest)
    assert (info["last_ns"], info["parts"][0]["last_ns"]) == (last, last)
    assert last > last_start
