# SPDX-License-Identifier: Apache-2.0
"""The quick exit of a program runs all registered exit functions, but does not free objects."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import atexit, sys, threading, time
from querytape.common.leaving import leave_at_once
class Object:
    def __del__(self): print("taken apart", flush=True)
def program():
    global kept
    kept = Object()
    atexit.register(print, "atexit has run")
    threading.Thread(target=lambda: (time.sleep(0.2), print("the thread has ended"))).start()
    sys.stdout.write("written")
    {end}
{before}
leave_at_once(program)
"""


def ended(end: str, before: str = "", **how: object) -> subprocess.CompletedProcess[str]:
    """Run a program that exits through the code `end`."""
    program = PROGRAM.format(end=end, before=before)
    return subprocess.run([sys.executable, "-c", program], text=True, **{"capture_output": True, **how})  # type: ignore[call-overload]


@pytest.mark.parametrize("status", [0, 1, 4, 130])
def test_quick_exit_joins_threads_and_flushes_output(status: int) -> None:
    """At the quick exit, atexit functions run and the exit code is right. Objects are not freed."""
    done = ended(f"sys.exit({status})")
    assert done.returncode == status
    assert done.stdout == "writtenthe thread has ended\natexit has run\n"


def test_quick_exit_uses_the_normal_exit_if_needed() -> None:
    """A traceback, a message in SystemExit or a profiler needs Python's normal exit."""
    assert "ZeroDivisionError" in ended("1 / 0").stderr
    said = ended("sys.exit('a sentence')")
    assert (said.returncode, said.stderr) == (1, "a sentence\n")
    told = "import os\nos._exit = lambda status: print('left at once', status)\n"
    assert "left at once 0" in ended("sys.exit(0)", before=told).stdout
    for watch in ("setprofile", "settrace"):
        assert "left at once" not in ended("sys.exit(0)", before=f"{told}sys.{watch}(lambda *_: None)").stdout


def test_failed_output_gives_pythons_exit_code() -> None:
    """Standard output is a file on a full disk, so the exit code is 120."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = ended("sys.exit(0)", capture_output=False, stdout=full, stderr=subprocess.PIPE, env=buffered)
    assert done.returncode == 120
    assert "No space left" in done.stderr


def test_commands_use_the_quick_exit() -> None:
    """Neither `python -m querytape` nor the installed command frees the objects of a module at exit."""
    code = (
        "import sys\nclass Object:\n    def __del__(self): print('taken apart', flush=True)\nkept = Object()\n"
        "sys.argv = ['querytape', '--version']\nfrom querytape.__main__ import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert "version" in done.stdout
    assert "taken apart" not in done.stdout
