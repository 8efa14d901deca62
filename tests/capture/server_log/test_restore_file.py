# SPDX-License-Identifier: Apache-2.0
"""The file by which settings are set back: whole or not there, one a server, never believed."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest
from querytape.capture.server_log.restore_file import (
    RestoreFile,
    default_restore_file,
    pending_sentence,
    read_restore_file,
    replace_restore_file,
    write_restore_file,
)
from querytape.capture.server_log.settings import HOLD, Change
from querytape.common.errors import InputError

CHANGES = (Change("slow_query_log", "OFF", "ON"), Change("slow_query_log", "ON", "OFF", HOLD))
SAVED = RestoreFile("mysql://app@h:1/", "id", "2026-11-20", CHANGES, "/x.log", "file", 7, 9, (3, 4), 1_795_000_000)


def test_restore_file(tmp_path: Path) -> None:
    """What is written is read again; it is private; a second one is refused and names the way out."""
    path = tmp_path / "deep" / "restore.json"
    write_restore_file(path, SAVED)
    assert read_restore_file(path) == SAVED
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match=r"an earlier capture of this server was not restored: .*--restore"):
        write_restore_file(path, SAVED)
    assert [entry.name for entry in path.parent.iterdir()] == ["restore.json"]


def test_of_many_at_once_one_is_the_first(tmp_path: Path) -> None:
    """Two captures that begin at once: one has the file, whole, and all others are refused."""
    path = tmp_path / "r.json"
    barrier = [RestoreFile(f"mysql://app@h:{n}/", "id", "t", CHANGES, None) for n in range(16)]

    def begin(saved: RestoreFile) -> RestoreFile | None:
        try:
            write_restore_file(path, saved)
            return saved
        except InputError:
            return None

    with ThreadPoolExecutor(16) as pool:
        began = [saved for saved in pool.map(begin, barrier) if saved]
    assert len(began) == 1
    assert read_restore_file(path) == began[0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_neither_a_file_nor_a_link_is_written_over(tmp_path: Path) -> None:
    """O_EXCL: what is there stays as it is, a symlink to nowhere too."""
    link, aim = tmp_path / "r.json", tmp_path / "aim"
    link.symlink_to(aim)
    with pytest.raises(InputError, match="not restored"):
        write_restore_file(link, SAVED)
    assert not aim.exists()
    other = tmp_path / "other.json"
    other.write_text("mine")
    with pytest.raises(InputError, match="--restore"):
        write_restore_file(other, SAVED)
    assert other.read_text() == "mine"


def test_it_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before it is on the disk: there is none, and nothing keeps the next capture from its beginning."""
    path = tmp_path / "r.json"

    def killed(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        write_restore_file(path, SAVED)
    assert not path.exists()
    monkeypatch.undo()
    write_restore_file(path, SAVED)
    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        replace_restore_file(path, RestoreFile("other", "id", "t", (), None))
    assert read_restore_file(path) == SAVED


def test_replaced(tmp_path: Path) -> None:
    """The new one is in the place of the old one."""
    path = tmp_path / "r.json"
    write_restore_file(path, SAVED)
    replace_restore_file(path, RestoreFile("other", "id", "t", (), None, held=True))
    assert read_restore_file(path).held
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_pending(tmp_path: Path) -> None:
    """None without a file; with one, the command that restores; a damaged one is pending, too."""
    assert pending_sentence(tmp_path / "none") is None
    write_restore_file(tmp_path / "r", SAVED)
    assert "`querytape capture server mysql://app@h:1/ --restore`" in (pending_sentence(tmp_path / "r") or "")
    (tmp_path / "x").write_text("{")
    assert "capture server URL --restore" in (pending_sentence(tmp_path / "x") or "")


def test_missing_and_damaged(tmp_path: Path) -> None:
    """No file is nothing to restore; another file is named as such; no name of a variable becomes a statement."""
    with pytest.raises(InputError, match="there is nothing to restore"):
        read_restore_file(tmp_path / "none")
    good = asdict(SAVED)
    forged = [
        {**good, "changes": [{"name": "a = 1, GLOBAL b", "before": "1", "wanted": "2"}]},
        {**good, "changes": [{"name": "a", "before": 1, "wanted": "2"}]},
        {**good, "changes": [{"name": "a", "before": "1", "wanted": "2", "role": "x"}]},
        {**good, "first_id": "7"},
        {**good, "already": ["x"]},
        {**good, "identity": 5},
        {**good, "more": 5},
    ]
    for text in ("{", "[]", '{"changes": []}', *map(json.dumps, forged)):
        (tmp_path / "x").write_text(text)
        with pytest.raises(InputError, match="not a restore file"):
            read_restore_file(tmp_path / "x")


def test_one_file_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name comes of the server's identity, in the user's state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_restore_file("a").parent == Path("/state/querytape/restore")
    assert default_restore_file("a") == default_restore_file("a") != default_restore_file("b")
