# SPDX-License-Identifier: Apache-2.0
"""Tests of the statement texts in the live view. A text is read when its digest is first shown."""

import shutil
from pathlib import Path

import duckdb
from querytape.cli.live_view import MOST, DigestTexts
from querytape.schemas import open_folder

from tests.helpers.tapes import make_tape


def test_digest_texts_are_short_printable_lines(tmp_path: Path) -> None:
    """If the tape lacks a digest, the view shows its hexadecimal name."""
    long = "select " + ", ".join(f"c{n}" for n in range(200))
    normalized = {
        "00000000000000aa": long,
        "00000000000000bb": "select\n  `a\x1b[2j`\tfrom t",
        "00000000000000cc": "do 1",
    }
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {name}", "digest": name} for name in normalized])
    file = tape / "digests.parquet"
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE digests AS FROM '{file}'")
        con.executemany("UPDATE digests SET normalized = ? WHERE digest = ?", [(b, a) for a, b in normalized.items()])
        con.execute(f"COPY digests TO '{file}'")
    texts = DigestTexts(open_folder("tape", tape))
    asked = [*normalized, "00000000deadbeef"]
    found = texts.of(asked)
    assert found == {
        "00000000000000aa": long[:MOST].strip(),
        "00000000000000bb": "select `a [2j` from t",
        "00000000000000cc": "do 1",
        "00000000deadbeef": "00000000deadbeef",
    }
    shutil.rmtree(tape)  # texts stay cached after the first read
    assert texts.of(asked) == found
    assert texts.of(["0123456789abcdef"]) == {"0123456789abcdef": "0123456789abcdef"}
