# SPDX-License-Identifier: Apache-2.0
"""Pseudonymized tapes: kept data, removed data and the key."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.capture.tools.pseudonymize import new_key, pseudonymize, read_key
from querytape.cli.main import group
from querytape.common.errors import InputError

from tests.helpers.duck import query
from tests.helpers.tapes import make_tape

KEY = bytes(range(16))


@pytest.mark.slow
def test_tape_is_pseudonymized(tmp_path: Path) -> None:
    """Counts, order, digests and times are kept. Samples, errors and (if requested) accounts are replaced by
    pseudonyms. The key can be stored in a file.
    """
    events: list[dict[str, Any]] = [
        {"statement": f"SELECT * FROM mails WHERE m = 'bob{n}@example.com'", "user": "bob", "host": "bobs.example.com"}
        for n in range(50)
    ]
    events.append({"statement": "INSERT INTO mails VALUES ('bob1@example.com')", "class": "write", "errno": 1062,
                   "error": "Duplicate entry 'bob1@example.com' for key 'm'", "user": "bob", "host": "bobs.example.com"})  # fmt: skip
    tape = make_tape(tmp_path / "t.tape", events, parts=2)
    (tmp_path / "key").write_text(KEY.hex())
    (tmp_path / "key").chmod(0o600)
    runner = CliRunner()
    given = ["tape", "pseudonymize", str(tape), "--key-file", str(tmp_path / "key"), "--accounts"]
    for name in ("a", "b"):
        result = runner.invoke(group, [*given, "-o", str(tmp_path / name)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    rows = [query(f"SELECT * FROM '{tmp_path / name}/events/*.parquet' ORDER BY session, seq") for name in ("a", "b")]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(events)
    for file in (tmp_path / "a").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            if file.suffix == ".parquet":
                content = str(query(f"SELECT * FROM '{file}'")).encode()
            assert b"bob" not in content, file
            assert b"example" not in content, file
    assert json.loads((tmp_path / "a" / "tape.json").read_text())["pseudonymized"] is True
    assert runner.invoke(group, ["tape", "verify", str(tmp_path / "a")]).exit_code == 0


def test_ambiguous_statements_are_counted(tmp_path: Path) -> None:
    """An ambiguous text is a value in some sql_mode or character set, so it is replaced. The summary and the tape
    report the number of statements with such a text.
    """
    events = [{"statement": rb"SELECT '\', secretone, 'secrettwo' -- '"}, {"statement": "SELECT 'it\\'s'"}]
    tape = make_tape(tmp_path / "t.tape", events)
    result = CliRunner().invoke(group, ["tape", "pseudonymize", str(tape), "-o", str(tmp_path / "a")])
    assert "1 statement has a different meaning" in result.output
    assert json.loads((tmp_path / "a" / "tape.json").read_text())["read_in_several_ways"] == 1
    for name in ("events/*", "digests"):
        content = str(query(f"FROM '{tmp_path / 'a'}/{name}.parquet'"))
        assert "secretone" not in content
        assert "secrettwo" not in content


def test_missing_key_file_is_created(tmp_path: Path) -> None:
    """Only the owner can read the new key file. Later runs use the same key."""
    key = read_key(tmp_path / "key")
    assert len(key) == len(new_key()) == 16
    assert read_key(tmp_path / "key") == key != new_key()
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_invalid_key_file_is_refused(tmp_path: Path) -> None:
    """A key file must have 32 hexadecimal digits. Otherwise, the command prints a message and writes no tape."""
    (tmp_path / "key").write_text("not a key")
    with pytest.raises(InputError, match="expected a key of 32 hexadecimal digits"):
        read_key(tmp_path / "key")
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with pytest.raises(ValueError, match="a key of 16 bytes"):
        pseudonymize(tape, tmp_path / "out", b"short")
    assert not (tmp_path / "out").exists()
