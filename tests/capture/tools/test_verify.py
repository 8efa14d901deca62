# SPDX-License-Identifier: Apache-2.0
"""Damaged tapes: what is wrong is named."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
from querytape.common.files import write_json

from tests.helpers.tape_tools import damages, make_tape


def change(tape: Path, key: str, value: Any) -> None:
    """Change one thing in tape.json."""
    info = json.loads((tape / "tape.json").read_text())
    info[key] = value
    write_json(tape / "tape.json", info)


def test_damage_is_named(tmp_path: Path) -> None:
    """A missing part, a cut one, holes in a session, numbers that don't agree, a version from the future."""
    tape = make_tape(tmp_path, "a")
    part = tape / "events" / "part-00000.parquet"
    whole = part.read_bytes()
    assert damages(tape, tmp_path) == []
    part.write_bytes(whole[:-40])
    said = damages(tape, tmp_path)
    assert "bytes, tape.json says" in said[0]
    assert "cannot be read" in said[1]
    part.unlink()
    assert damages(tape, tmp_path) == ["events/part-00000.parquet is missing: 27 events"]
    part.write_bytes(whole)
    with duckdb.connect() as con:
        con.execute(f"COPY (FROM '{part}' WHERE seq <> 4) TO '{tape}/holes' (FORMAT parquet)")
    (tape / "holes").rename(part)
    said = damages(tape, tmp_path)
    assert any("3 sessions whose events are not numbered" in text for text in said)
    assert any("24 events, tape.json says 27" in text for text in said)
    part.write_bytes(whole)
    change(tape, "format_version", 99)
    assert damages(tape, tmp_path) == ["format version 99; this querytape reads 1"]


def test_verify_command(tmp_path: Path) -> None:
    """`tape verify` exits with 0 for a whole tape, and with 1 for another."""
    tape = make_tape(tmp_path, "a")
    command = [sys.executable, "-m", "querytape", "tape"]
    done = subprocess.run([*command, "verify", str(tape)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{tape}: whole\n")
    change(tape, "finished", False)
    done = subprocess.run([*command, "verify", str(tape)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "its capture did not end" in done.stdout
