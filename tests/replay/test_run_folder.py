# SPDX-License-Identifier: Apache-2.0
"""Tests of the folder of a run while the replay writes it."""

import os
import signal
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.common.files import is_held, new_folder
from querytape.replay import run_folder
from querytape.replay.run_folder import new_run, open_storage


def test_run_folder_is_private(tmp_path: Path) -> None:
    """Only the owner can read the folder. The cleanup removes the spill folder."""
    with new_run(tmp_path / "a.run") as folder:
        assert (folder.path.stat().st_mode & 0o777, folder.outcomes.stat().st_mode & 0o777) == (0o700, 0o700)
        folder.write({"format_version": 1})
        folder.clean()
    assert not folder.spill.exists()
    assert folder.open().info == {"format_version": 1}


def test_run_folder_is_locked_during_the_replay(tmp_path: Path) -> None:
    """The lock shows other programs that the replay is running. The replay releases the lock at its end."""
    with new_run(tmp_path / "a.run") as folder:
        assert is_held(folder.path)
        folder.write({"format_version": 1})
    assert not is_held(tmp_path / "a.run")


def test_early_failure_removes_the_folder(tmp_path: Path) -> None:
    """The folder is removed if the replay fails before it writes run.json. An existing folder or a missing parent is
    refused.
    """
    with pytest.raises(ZeroDivisionError), new_run(tmp_path / "a.run"):
        raise ZeroDivisionError
    assert not (tmp_path / "a.run").exists()
    with pytest.raises(InputError, match="already exists"), new_run(tmp_path):
        pass
    with pytest.raises(InputError, match="cannot be created"), new_run(tmp_path / "no" / "a.run"):
        pass


def test_signal_during_creation_removes_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal takes effect after the folder has been created. A folder that existed before stays."""

    def make(path: Path, *inner: str) -> None:
        new_folder(path, *inner)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(run_folder, "new_folder", make)
    with pytest.raises(KeyboardInterrupt), new_run(tmp_path / "a.run"):
        pytest.fail("it goes on")
    assert not (tmp_path / "a.run").exists()
    (tmp_path / "b.run").mkdir()
    with pytest.raises(InputError), new_run(tmp_path / "b.run"):
        pytest.fail("it goes on")
    assert (tmp_path / "b.run").exists()


def test_storage_uses_one_thread_and_limited_memory(tmp_path: Path) -> None:
    """The sort of the plan must not disturb the timing. It spills into the folder of the run."""
    with open_storage(tmp_path / "spill", "64MB") as con:
        settings = con.execute(
            "SELECT current_setting('threads'), current_setting('memory_limit'), current_setting('temp_directory'),"
            " current_setting('arrow_large_buffer_size')"
        ).fetchall()[0]
    assert settings[0] == 1
    assert settings[1] == "61.0 MiB"
    assert settings[2] == str(tmp_path / "spill")
    assert settings[3] is True
