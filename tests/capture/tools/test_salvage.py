# SPDX-License-Identifier: Apache-2.0
"""Recovery of damaged tapes."""

import json
from pathlib import Path

import pytest
from querytape.capture.tools.salvage import salvage
from querytape.common.errors import InputError

from tests.helpers.command_line import run_here
from tests.helpers.tape_tools import damages, found, make_tape
from tests.helpers.tapes import make_tape as built_tape

pytestmark = pytest.mark.slow


@pytest.mark.sampled
@pytest.mark.parametrize(
    "hurt", ["a part is cut", "a part is missing", "no tape.json", "no sessions", "bytes overwritten"]
)
def test_readable_parts_are_salvaged(tmp_path: Path, hurt: str) -> None:
    """The new tape has all readable parts, is valid, and reports the lost data."""
    tape = built_tape(
        tmp_path / "t.tape", [{"session": 1 + n % 3, "statement": f"SELECT {n}"} for n in range(90)], parts=3
    )
    part = sorted((tape / "events").iterdir())[1]
    content = part.read_bytes()
    if hurt == "a part is cut":
        part.write_bytes(content[:-40])
    elif hurt == "a part is missing":
        part.unlink()
    elif hurt == "no tape.json":
        (tape / "tape.json").write_text('{"format_ver')
    elif hurt == "no sessions":
        (tape / "sessions.parquet").write_bytes(b"PAR1")
    else:
        part.write_bytes(b"\xff" * len(content))
    done = run_here("tape", "verify", str(tape), "--salvage", str(tmp_path / "s.tape"))
    assert done.code == 0, done.err
    lost = 0 if hurt.startswith("no ") else 30
    assert damages(tmp_path / "s.tape", tmp_path) == []
    assert found(tmp_path / "s.tape", "SELECT count(*), count(DISTINCT session) FROM events") == [(90 - lost, 3)]
    warning = json.loads((tmp_path / "s.tape" / "tape.json").read_text())["warnings"][0]
    assert warning["kind"] == "salvaged"
    assert ("part-00001.parquet" in warning["text"]) == (lost > 0)


def test_tape_without_a_readable_part_cannot_be_salvaged(tmp_path: Path) -> None:
    """The command reports this and writes no tape."""
    tape = make_tape(tmp_path, "a")
    for part in (tape / "events").iterdir():
        part.write_bytes(b"gone")
    with pytest.raises(InputError, match="nothing can be salvaged"):
        salvage(tape, tmp_path / "s.tape")
    assert not (tmp_path / "s.tape").exists()
