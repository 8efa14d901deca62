# SPDX-License-Identifier: Apache-2.0
"""A signal at any line of the code leaves neither a temporary folder nor an unpublished file."""

import gc
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.common.files import publish
from querytape.common.signals import ENDING, one_ending
from querytape.common.temporary import temporary_folder

from tests.helpers.processes import default_signals

pytestmark = pytest.mark.slow

MOST_LINES = 2000


def interrupted_at(line: int, act: Callable[[], None]) -> bool:
    """Run `act` and interrupt it before its n-th line. Return whether `act` reached that line."""
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if "signals.py" in frame.f_code.co_filename or frame.f_code.co_name == "handle":
            return None
        seen += event == "line"
        if event == "line" and seen == line:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGINT)
        return trace

    with default_signals(*ENDING), one_ending():
        sys.settrace(trace)
        try:
            act()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
    return seen >= line


def use() -> None:
    """Create a temporary folder with a file, and leave its context."""
    with temporary_folder() as name:
        (Path(name) / "x").write_text("x")


@pytest.mark.long
def test_interrupted_temporary_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal arrives at each line of the code in turn. The test files with which Python checks the location are
    removed as well.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for line in range(1, MOST_LINES):
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr(tempfile, "_once_lock", threading.Lock())
        came = interrupted_at(line, use)
        if any(tmp_path.iterdir()):
            gc.collect()  # also happens at the end of a program
        assert list(tmp_path.iterdir()) == [], line
        if not came:
            break
    assert 10 < line < MOST_LINES - 1


@pytest.mark.long
def test_interrupted_write_leaves_no_partial_file(tmp_path: Path) -> None:
    """A published file is complete or does not exist. No other file remains."""
    final = tmp_path / "x.json"

    def write() -> None:
        with publish(final) as temporary:
            temporary.write_text("whole")

    for line in range(1, MOST_LINES):
        final.unlink(missing_ok=True)
        came = interrupted_at(line, write)
        gc.collect()
        assert [path.read_text() for path in tmp_path.iterdir()] in ([], ["whole"]), line
        if not came:
            break
    assert 10 < line < MOST_LINES - 1


@pytest.mark.parametrize("kind", ["missing", "file", "full"])
def test_invalid_tmpdir_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python uses another folder, which may be on a smaller disk or visible to others."""
    given, reason = tmp_path / "tmp", {"missing": "No such file or directory", "file": "Not a directory"}.get(kind)
    if kind == "file":
        given.touch()
    if kind == "full":
        given.mkdir()
        reason = "No space left on device"

        def full(**_: Any) -> Any:
            return Path("/dev/full").open("wb")

        monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setenv("TMPDIR", str(given))
    with pytest.raises(InputError) as caught, temporary_folder():
        pass
    assert str(caught.value) == f"TMPDIR={given}: {reason}. Set TMPDIR to another folder, or unset it"
    with temporary_folder(tmp_path) as own:
        assert Path(own).parent == tmp_path
