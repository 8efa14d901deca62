# SPDX-License-Identifier: Apache-2.0
"""`tape verify` finds and reports damage."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.tools.deal import deal
from querytape.capture.tools.gather import gather
from querytape.capture.tools.salvage import salvage
from querytape.capture.tools.verify import verify
from querytape.common.errors import InputError
from querytape.common.files import write_json

from tests.helpers.command_line import run_here
from tests.helpers.duck import database
from tests.helpers.tape_tools import damages, make_tape
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.slow


def change(tape: Path, key: str, value: Any) -> None:
    """Change one key in tape.json."""
    info = json.loads((tape / "tape.json").read_text())
    info[key] = value
    write_json(tape / "tape.json", info)


def test_verify_reports_damage_of_a_tape(tmp_path: Path) -> None:
    """The damage is a missing part, a cut part, missing events of a session, contradictory numbers or a future format
    version.
    """
    tape = make_tape(tmp_path, "a")
    part = tape / "events" / "part-00000.parquet"
    whole = part.read_bytes()
    assert damages(tape, tmp_path) == []
    part.write_bytes(whole[:-40])
    said = damages(tape, tmp_path)
    assert "bytes, but tape.json lists" in said[0]
    assert "cannot be read" in said[1]
    part.unlink()
    assert damages(tape, tmp_path) == ["events/part-00000.parquet is missing: 27 events"]
    part.write_bytes(whole)
    with database() as con:
        con.execute(f"COPY (FROM '{part}' WHERE seq <> 4) TO '{tape}/holes' (FORMAT parquet)")
    (tape / "holes").rename(part)
    said = damages(tape, tmp_path)
    assert any("3 sessions with missing or duplicate events" in text for text in said)
    assert any("24 events, but tape.json lists 27" in text for text in said)
    part.write_bytes(whole)
    change(tape, "format_version", 99)
    assert damages(tape, tmp_path) == ["found format version 99, but this querytape reads 1"]


def test_verify_command_sets_the_exit_code(tmp_path: Path) -> None:
    """`tape verify` exits with 0 for a valid tape and with 1 for a damaged tape."""
    tape = make_tape(tmp_path, "a")
    done = run_here("tape", "verify", str(tape))
    assert (done.code, done.out) == (0, f"{tape}: whole\n")
    change(tape, "finished", False)
    done = run_here("tape", "verify", str(tape))
    assert done.code == 1
    assert "the capture did not finish" in done.out


def made_set(tmp_path: Path, dealt: bool) -> Path:
    """Return a set of three tapes, either dealt from one tape or gathered from captures."""
    path = tmp_path / "x.set"
    if dealt:
        deal(make_tape(tmp_path, "a"), 3, path)
    else:
        path.mkdir()
        for name in ("01", "02", "03"):
            make_tape(path, name)
        gather(path)
    return path


def second_tape(path: Path) -> Path:
    """Return the second tape of a set."""
    return sorted(path.glob("0*"))[1]


SET_DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a tape is missing": (lambda path: shutil.rmtree(second_tape(path)), "is missing"),
    "a tape has no JSON": (lambda path: (second_tape(path) / "tape.json").unlink(), "is missing"),
    "a part is missing": (
        lambda path: next(second_tape(path).glob("events/*")).unlink(),
        "part-00000.parquet is missing",
    ),
    "an extra tape": (lambda path: shutil.copytree(second_tape(path), path / "09"), "set.json does not list 09"),
    "no set.json": (lambda path: (path / "set.json").unlink(), "3 tapes but no set.json"),
    "set.json is cut": (lambda path: os.truncate(path / "set.json", 10), "invalid JSON for a set"),
    "no digests": (lambda path: (path / "digests.parquet").unlink(), "digests.parquet: cannot be read"),
    "other digests": (lambda path: flip(path / "digests.parquet"), "the SHA-256 differs"),
}


def flip(file: Path) -> None:
    """Invert one bit in the middle of a file."""
    data = bytearray(file.read_bytes())
    data[8] ^= 1
    file.write_bytes(data)


@pytest.mark.sampled
@pytest.mark.parametrize("dealt", mostly_long([True, False], True), ids=["dealt", "gathered"])
@pytest.mark.parametrize("damage", SET_DAMAGES)
def test_verify_reports_damage_of_a_set(damage: str, dealt: bool, tmp_path: Path) -> None:
    """The message says how to repair the set. Only a dealt set can be dealt again."""
    path = made_set(tmp_path, dealt)
    assert list(verify(path, tmp_path)) == []
    how, said = SET_DAMAGES[damage]
    how(path)
    (found,) = verify(path, tmp_path)
    assert said in found.what
    known_as_dealt = dealt and (path / "set.json").exists() and damage not in ("set.json is cut", "a part is missing")
    assert ("querytape tape deal" in found.saved) == (known_as_dealt and damage != "an extra tape")


def test_set_cannot_be_salvaged_as_one_tape(tmp_path: Path) -> None:
    """The message explains how to salvage each tape of the set."""
    with pytest.raises(InputError, match="NAME --salvage") as said:
        salvage(made_set(tmp_path, dealt=True), tmp_path / "out")
    assert "`querytape tape set`" in str(said.value)
    assert not (tmp_path / "out").exists()
