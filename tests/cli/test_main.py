# SPDX-License-Identifier: Apache-2.0
"""Tests of the whole command line: few imports, one-line errors and exit codes."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click
import pytest
from querytape.cli import main as program
from querytape.cli.commands.capture import capture_group
from querytape.cli.lazy_group import LazyGroup
from querytape.cli.main import group
from querytape.common.errors import InputError
from querytape.common.signals import ENDING

from tests.conftest import skip_loudly
from tests.helpers.logs import write_mariadb
from tests.helpers.processes import default_signals
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow

HEAVY = {"duckdb", "numpy", "scipy", "cffi", "pymysql", "rich", "jinja2", "sqlparse", "vl_convert"}


def querytape(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a new process."""
    return subprocess.run([sys.executable, "-m", "querytape", *arguments], capture_output=True, text=True)


def imported(*arguments: str) -> set[str]:
    """Return the modules that `querytape ARGUMENTS` imports."""
    program = "import sys, querytape.cli.main as m\ntry: m.main()\nfinally: print('modules', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("modules ")[2].split())


def lazy_groups() -> Iterator[tuple[str, LazyGroup, str]]:
    """Yield the full name, the group and the short name of each lazy command."""
    for lazy, title in ((group, "querytape"), (capture_group, "querytape capture")):
        assert isinstance(lazy, LazyGroup)
        for name in lazy.lazy:
            yield f"{title} {name}", lazy, name


@pytest.mark.parametrize(("full", "lazy", "name"), list(lazy_groups()), ids=[full for full, _, _ in lazy_groups()])
def test_short_help_in_a_list_equals_the_help_of_the_command(full: str, lazy: LazyGroup, name: str) -> None:
    command = lazy.get_command(click.Context(lazy), name)
    assert command is not None
    assert command.name == name
    assert command.short_help in (None, lazy.lazy[name].short_help)
    assert (command.help or "").partition("\n")[0] == lazy.lazy[name].short_help


@pytest.mark.parametrize("arguments", [["--help"], ["capture", "--help"]])
def test_group_help_imports_no_heavy_module(arguments: list[str]) -> None:
    """DuckDB, the native extension, the sources and other commands are not imported."""
    modules = imported(*arguments)
    assert "click" in modules
    assert modules & HEAVY == set()
    commands = {name for name in modules if name.startswith("querytape.cli.commands.")}
    assert commands <= {"querytape.cli.commands.capture"}
    assert {name for name in modules if name.startswith(("querytape.capture.sources.", "querytape.native"))} == set()


def test_capture_of_a_file_imports_no_client_library(tmp_path: Path) -> None:
    """Without --source, a capture of a file imports neither PyMySQL and its dependencies nor `fractions`."""
    log = write_mariadb(tmp_path / "slow.log", [(1_718_000_000, 7, 0.1, "SELECT 1")])
    modules = imported("capture", "slowlog", str(log), "-o", str(tmp_path / "t.tape"))
    assert (tmp_path / "t.tape" / "sessions.parquet").exists()
    assert modules & {"pymysql", "cryptography", "ssl", "fractions", "numpy", "rich"} == set()


def test_help_of_a_source_imports_no_other_source(tmp_path: Path) -> None:
    modules = imported("capture", "slowlog", "--help")
    sources = {name for name in modules if name.startswith("querytape.capture.sources.")}
    assert sources == {"querytape.capture.sources.slowlog"}


def test_user_error_is_one_line_on_stderr(tmp_path: Path) -> None:
    """An error that the user can fix exits with 1. Wrong usage exits with 2."""
    done = querytape("inspect", str(tmp_path / "no.tape"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"querytape: {tmp_path / 'no.tape'}: no such tape\n"
    done = querytape("capture", "slowlog", "x" * 5000, "-o", str(tmp_path / "a.tape"))
    assert (done.returncode, done.stderr) == (1, f"querytape: {'x' * 5000}: File name too long\n")
    done = querytape("inspect")
    assert done.returncode == 2
    assert "Missing argument 'TAPE'" in done.stderr


# Runs a command on a small disk of its own, and lists the disk.
ON_SMALL_DISK = 'mount -t tmpfs -o size="$1" tmpfs "$2" || exit 77; cd "$2"; shift 2; "$@"; code=$?; ls; exit $code'
TAPE_TOOLS = {
    "copy": ("copy", "{tape}", "new"),
    "cut": ("cut", "{tape}", "--from", "+0s", "-o", "new"),
    "deal": ("deal", "{tape}", "2", "-o", "new"),
    "pseudonymize": ("pseudonymize", "{tape}", "-o", "new"),
    "salvage": ("verify", "{tape}", "--salvage", "new"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("size", ["4k", "8k", "12k", "16k", "24k"])
@pytest.mark.parametrize("tool", TAPE_TOOLS)
def test_full_disk_is_one_line_that_names_the_new_file(
    tool: str, size: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """No part of the new tape remains."""
    disk = tmp_path / "disk"
    disk.mkdir()
    tape = make_tape(tmp_path / "a.tape", [{"session": n, "statement": f"SELECT {n}"} for n in range(1, 300)], parts=3)
    words = [word.format(tape=tape) for word in ("tape", *TAPE_TOOLS[tool])]
    command = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        ON_SMALL_DISK,
        "sh",
        size,
        str(disk),
        sys.executable,
        "-m",
        "querytape",
    ]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if shutil.which("unshare") is None or (done.returncode in (1, 77) and "querytape" not in done.stderr):
        skip_loudly(request, "full disks: mounts need root (unshare, mount)")
    assert done.returncode == 1, done.stdout
    assert "new" not in done.stdout.splitlines()
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        r"querytape: (new\S*: No space left on device|the disk is full \(new/\S+\)|.* cannot be created: No space .*)",
        line,
    )


@pytest.mark.sampled
@pytest.mark.parametrize(
    "words",
    [
        ["tape", "filter", "{tape}", "--class", "nope", "-o", "{new}"],
        ["tape", "filter", "{tape}", "--digest", "xyz", "-o", "{new}"],
        ["replay", "{tape}", "--target", "mysql://root@127.0.0.1:1", "--from", "+10s", "--to", "+5s", "-o", "{new}"],
        ["replay", "{tape}", "--target", "mysql://root@127.0.0.1:1", "--speed", "x", "-o", "{new}"],
        ["speed", "{tape}", "x"],
        ["capture", "csv", "{log}", "--column", "nothing", "-o", "{new}"],
        ["capture", "packets", "{log}", "--port", "70000", "-o", "{new}"],
    ],
    ids=" ".join,
)
def test_invalid_option_value_exits_with_2_and_writes_nothing(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("a,b\n")
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    given = {"tape": tape, "new": tmp_path / "new", "log": tmp_path / "log.csv"}
    done = querytape(*[word.format(**given) for word in words])
    assert done.returncode == 2, done.stderr
    assert "--" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_unknown_command_error_mentions_the_help() -> None:
    done = querytape("rewind")
    assert done.returncode == 2
    assert "No such command 'rewind'" in done.stderr
    assert "querytape --help" in done.stderr


def test_version_option_shows_program_and_release() -> None:
    assert querytape("--version").stdout.startswith("querytape, version ")


@pytest.mark.parametrize("failing", [False, True])
def test_signal_during_exit_gives_no_traceback(
    failing: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test sends SIGTERM at each line that runs after the command, and at each line that prints an error. The exit
    code is valid.
    """

    def command(**_: Any) -> int:
        if failing:
            raise InputError("it went wrong")
        return 4

    monkeypatch.setattr(program.group, "main", command)
    for step in range(1, 1000):
        lines = 0

        def follow(frame: FrameType, event: str, _: Any, step: int = step) -> Any:
            nonlocal lines
            if event == "line" and signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
                lines += 1
                if lines == step:
                    os.kill(os.getpid(), signal.SIGTERM)
            return follow

        def ours(frame: FrameType, event: str, argument: Any, follow: Any = follow) -> Any:
            path = frame.f_code.co_filename
            return (
                follow
                if path.endswith(("cli/main.py", "common/signals.py", "contextlib.py", "common/text.py"))
                else None
            )

        with default_signals(*ENDING):
            sys.settrace(ours)
            try:
                with pytest.raises(SystemExit) as ended:
                    program.main()
            finally:
                sys.settrace(None)
        assert ended.value.code in ((1, 130) if failing else (4, 130)), step
        if lines < step:
            break
    assert lines > 20
    assert "Traceback" not in capsys.readouterr().err
