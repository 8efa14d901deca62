# SPDX-License-Identifier: Apache-2.0
"""The contents of a written tape folder."""

import hashlib
import json
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.tape_writer import FileHashes
from querytape.native.bindings.reader import ReaderStats

from tests.helpers.logs import write_mariadb


def test_tape_files_are_private(tmp_path: Path) -> None:
    """Folders have mode 0700, and files have mode 0600."""
    log = write_mariadb(tmp_path / "s.log", [(1718000000, 1, 0.001, "SELECT 1")])
    capture_source(SOURCES["slowlog"], [str(log)], tmp_path / "t.tape", Settings())
    for path in [tmp_path / "t.tape", *(tmp_path / "t.tape").rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_tape_json_lists_files_and_parts(tmp_path: Path) -> None:
    """In tape.json, files have hashes and sizes, and parts have rows, bytes and times."""
    log = write_mariadb(tmp_path / "s.log", [(1718000000 + n, 1, 0.001, "SELECT 1") for n in range(3)])
    capture_source(SOURCES["slowlog"], [str(log)], tmp_path / "t.tape", Settings(server={"identity": "x"}))
    info = json.loads((tmp_path / "t.tape" / "tape.json").read_text())
    assert info["files"] == [
        {"path": str(log), "bytes": log.stat().st_size, "sha256": hashlib.sha256(log.read_bytes()).hexdigest()}
    ]
    (part,) = info["parts"]
    assert (part["file"], part["rows"]) == ("events/part-00000.parquet", 3)
    assert part["bytes"] == (tmp_path / "t.tape" / part["file"]).stat().st_size
    assert (part["first_ns"], part["last_ns"]) == (info["first_ns"], info["last_ns"])
    assert info["server"] == {"identity": "x"}
    assert info["finished"] is True
    assert sorted(path.name for path in (tmp_path / "t.tape").iterdir()) == [
        *("digests.parquet", "events", "problems.parquet", "sessions.parquet", "tape.json"),
    ]


def test_interrupted_capture_is_marked_as_incomplete(tmp_path: Path) -> None:
    """After Ctrl-C, the tape has the events that were already read."""
    log = write_mariadb(tmp_path / "s.log", [(1718000000 + n, 1, 0.001, "SELECT 1") for n in range(50)])

    def interrupt(stats: ReaderStats, total: int | None) -> None:
        raise KeyboardInterrupt

    info = capture_source(SOURCES["slowlog"], [str(log)], tmp_path / "t.tape", Settings(watch=interrupt))
    assert [warning["kind"] for warning in info["warnings"]] == ["stopped"]
    assert info["counts"]["events"] > 0


def test_only_regular_files_have_hashes(tmp_path: Path) -> None:
    """Standard input, and any other input without a file, has no hash."""
    hashes = FileHashes(["-", str(tmp_path)])
    hashes.start()
    assert [(entry["path"], entry["sha256"]) for entry in hashes.ended(give_up=False)] == [
        ("-", None),
        (str(tmp_path), None),
    ]


@pytest.mark.parametrize("larger", [0, 1])
def test_large_file_has_a_quick_hash(larger: int, tmp_path: Path) -> None:
    """Files up to 16 MiB have a SHA-256 hash. Larger files have an XXH3-128 hash. The key in tape.json names the
    algorithm.
    """
    (tmp_path / "large").write_bytes(b"querytape" * ((16 << 20) // 9) + bytes((16 << 20) % 9 + larger))
    hashes = FileHashes([str(tmp_path / "large")])
    hashes.start()
    (entry,) = hashes.ended(give_up=False)
    assert (entry["sha256"] is None, "xxh3" in entry) == (bool(larger), bool(larger))
    assert len(entry["xxh3" if larger else "sha256"]) == (32 if larger else 64)


def test_interrupted_capture_skips_the_hash_of_a_large_file(tmp_path: Path) -> None:
    """The hash would need all bytes of the file, and the interrupted capture does not read the rest."""
    (tmp_path / "large").write_bytes(bytes(64 << 20))
    hashes = FileHashes([str(tmp_path / "large")])
    hashes._given_up = True
    hashes.start()
    assert [(entry["bytes"], entry["sha256"]) for entry in hashes.ended(give_up=True)] == [(64 << 20, None)]
