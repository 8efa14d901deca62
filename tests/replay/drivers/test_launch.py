# SPDX-License-Identifier: Apache-2.0
"""Tests of the shell command that starts a driver on another host."""

import subprocess
import sys
from pathlib import Path

import pytest
from querytape.replay.drivers.launch import TAKE_KEY, DriverCommand, why_ended

HOSTILE = ("a b.set", "--db=it's", '--user="$(id)"', "--init=SELECT `x`; \\ !1 #", "--db=*", "--digest=\N{SNOWMAN}")


def driver(folder: Path, body: str) -> None:
    """Write a program `querytape` that stands for the driver."""
    program = folder / "bin" / "querytape"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\nimport os, sys, pathlib\n{body}\n")
    program.chmod(0o755)


def run(
    folder: Path, command: DriverCommand, join: str, shell: str = "sh", key: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    """Run the line in the login shell of a host."""
    line = command.line(3, join, "0123456789abcdef", TAKE_KEY)
    environment = {
        "PATH": f"{folder}/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "SSH_CONNECTION": "fe80::1 5 10.0.0.2 22",
    }
    return subprocess.run(
        [shell, "-c", line],
        cwd=folder,
        env=environment,
        input=key + b"\n",
        capture_output=True,
        timeout=60,
        check=False,
    )


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(autouse=True)
def _no_own_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/nonexistent/querytape"])


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_driver_gets_the_words_unchanged(shell: str, tmp_path: Path) -> None:
    """An address without a host is completed with the host from which ssh came."""
    driver(tmp_path, "pathlib.Path('said').write_text('\\0'.join([*sys.argv[1:], os.environ['QUERYTAPE_JOIN_KEY']]))")
    done = run(tmp_path, DriverCommand(HOSTILE, "big"), ":7000", shell, b"secret\\n'x")
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "said").read_text().split("\0")
    assert said == ["driver", *HOSTILE, "--join", "[fe80::1]:7000", "-o", "big-01234567-3.run", "secret\\n'x"]
    run(tmp_path, DriverCommand(("a.set",), "big"), "lead:7000", shell, b"k")
    assert (tmp_path / "said").read_text().split("\0")[2:4] == ["--join", "lead:7000"]
    assert names_in(tmp_path) == ["bin", "said"]


def test_log_of_a_driver_stays_only_with_its_part(tmp_path: Path) -> None:
    """The end of the log of a failed driver goes to the lead process."""
    driver(tmp_path, "print(*range(9), sep='\\n', flush=True); print('querytape: no', file=sys.stderr); sys.exit(2)")
    done = run(tmp_path, DriverCommand(("a.set",), "big"), "lead:7000")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"5\n6\n7\n8\nquerytape: no\n"
    assert names_in(tmp_path) == ["bin"]
    driver(tmp_path, "os.mkdir(sys.argv[-1]); print('kept'); sys.exit(1)")
    run(tmp_path, DriverCommand(("a.set",), "big"), "lead:7000")
    assert (tmp_path / "big-01234567-3.log").read_text() == "kept\n"
    assert (tmp_path / "big-01234567-3.log").stat().st_mode & 0o077 == 0


def test_host_without_querytape_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, DriverCommand(("a.set",), "big"), "lead:7000")
    assert (done.returncode, done.stderr) == (127, b"querytape was not found on this host\n")
    driver(tmp_path, "")
    (tmp_path / ".local").mkdir()
    (tmp_path / "bin").rename(tmp_path / ".local" / "bin")  # a place that is not in PATH
    assert run(tmp_path, DriverCommand(("a.set",), "big"), "lead:7000").returncode == 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("one\n  querytape: a.set: not a tape \n\n", "a.set: not a tape"),
        ("Usage: querytape driver\n\nError: no such option --x\n", "no such option --x"),
        ("", "exit code 2"),
        ("bad\x1b[31m\n", "bad [31m"),
    ],
)
def test_last_line_of_the_output_is_the_reason(said: str, why: str) -> None:
    assert why_ended("h", 2, said) == f"the driver on h ended before it joined: {why}"
