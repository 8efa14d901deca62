# SPDX-License-Identifier: Apache-2.0
"""Folders are private and never reused. Files appear completely or not at all."""

import errno
import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.common.files import (
    cache_folder,
    fault_of,
    new_folder,
    publish,
    refuse_existing,
    remove_folder,
    write_json,
)


def mode(path: Path) -> int:
    """Return the permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


def test_new_folder_is_private(tmp_path: Path) -> None:
    """Only the owner can read the new folder and its subfolders. A second folder of the same name is refused."""
    path = tmp_path / "shop.tape"
    new_folder(path, "events", "facts")
    assert [mode(path), mode(path / "events"), mode(path / "facts")] == [0o700] * 3
    with pytest.raises(
        InputError, match=r"shop.tape already exists: choose another name with -o, or remove the existing"
    ):
        new_folder(path)


def test_new_folder_needs_an_existing_parent_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the folder cannot be created: No such file"):
        new_folder(tmp_path / "none" / "shop.tape")


def test_refusal_of_an_existing_folder_names_the_output_option(tmp_path: Path) -> None:
    """The message names the option that sets another output folder."""
    refuse_existing(tmp_path / "free")
    with pytest.raises(InputError, match="another name with --tables"):
        refuse_existing(tmp_path, "--tables")


def test_published_file_is_complete_and_private(tmp_path: Path) -> None:
    """Publishing a file removes its temporary file."""
    final = tmp_path / "a.json"
    write_json(final, {"é": Path("x")})
    assert json.loads(final.read_text(encoding="utf-8")) == {"é": "x"}
    assert mode(final) == 0o600
    assert list(tmp_path.iterdir()) == [final]


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    """After a failed write, no temporary file remains."""
    final = tmp_path / "a"
    final.write_text("old")

    def write() -> None:
        with publish(final) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert final.read_text() == "old"
    assert list(tmp_path.iterdir()) == [final]


def test_error_of_a_published_file_names_the_file(tmp_path: Path) -> None:
    """The operating system names no file if a write fails."""
    with pytest.raises(OSError, match="No space") as caught, publish(tmp_path / "a"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert fault_of(caught.value) == f"{tmp_path}/a: No space left on device"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF])
def test_fault_of_a_full_disk_names_the_copy(number: int) -> None:
    """Other errors name the first file. An error without a file is a fault of querytape, unless a disk is full."""
    full, reason = number in (errno.ENOSPC, errno.EDQUOT), os.strerror(number)
    assert fault_of(OSError(number, reason, "old", None, "new")) == f"{'new' if full else 'old'}: {reason}"
    assert fault_of(OSError(number, reason, "old")) == f"old: {reason}"
    assert fault_of(OSError(number, reason)) == (reason if full else None)


def test_cache_folder_follows_xdg_cache_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without XDG_CACHE_HOME, the cache is in the home folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "querytape"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert cache_folder() == Path("/home/x/.cache/querytape")


def test_invalid_utf8_in_file_names_is_escaped_in_json(tmp_path: Path) -> None:
    r"""The byte 255 is written as `\xff`, so that the JSON stays valid."""
    write_json(tmp_path / "a.json", {"path": os.fsdecode(b"b\xff.log")})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"path": "b\\xff.log"}


def test_folder_is_removed_even_if_new_files_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that appear during the removal are removed as well. A missing folder causes no error."""
    folder = tmp_path / "a.run"
    (folder / "spill").mkdir(parents=True)
    real, late = shutil.rmtree, iter([True])

    def removing(path: Path, ignore_errors: bool = False) -> None:
        real(path, ignore_errors=ignore_errors)
        if next(late, False):
            (folder / "spill").mkdir(parents=True)

    monkeypatch.setattr(shutil, "rmtree", removing)
    remove_folder(folder)
    assert not folder.exists()
    remove_folder(folder)
