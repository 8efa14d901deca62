# SPDX-License-Identifier: Apache-2.0
"""Text output to terminals with any encoding."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.common.text import take_every_text
from querytape.common.units import duration


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", "85.0µs é"), ("latin-1", "85.0µs é"), ("cp437", "85.0µs é"), ("ascii", "85.0us \\xe9")],
)
def test_micro_sign_depends_on_the_encoding(encoding: str, shown: str) -> None:
    """If the encoding lacks the micro sign, a u is printed. Other characters that the encoding lacks do not make a
    command fail.
    """
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    take_every_text(stream)
    stream.write(f"{duration(85_000)} é")
    stream.flush()
    assert raw.getvalue().decode(encoding) == shown


def test_invalid_bytes_of_a_file_name_are_kept() -> None:
    """Like Python itself, querytape prints the invalid bytes unchanged."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    take_every_text(stream, io.StringIO())  # an object that is not a real stream stays unchanged
    stream.write(os.fsdecode(b"a\xff"))
    stream.flush()
    assert raw.getvalue() == b"a\xff"


@pytest.mark.slow
def test_command_line_supports_any_terminal_encoding(checkout: Path, tmp_path: Path) -> None:
    """If the encoding lacks a character of a name, the error message escapes the character. There is no traceback."""
    script = "import sys; sys.argv[1:] = ['inspect', 'µé.tape']; from querytape.cli.main import main; main()"
    environment = {**os.environ, "PYTHONIOENCODING": "koi8-r", "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False
    )
    assert run.returncode == 1
    assert b"Traceback" not in run.stderr
    assert b"u\\xe9.tape" in run.stderr
