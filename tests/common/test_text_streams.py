# SPDX-License-Identifier: Apache-2.0
"""Texts on terminals of any encoding."""

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
def test_microseconds_are_shown_as_the_encoding_allows(encoding: str, shown: str) -> None:
    """The unit sign where there is one, else a u; no other letter ends a command."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    take_every_text(stream)
    stream.write(f"{duration(85_000)} é")
    stream.flush()
    assert raw.getvalue().decode(encoding) == shown


def test_bytes_of_a_name_stay_what_they_are() -> None:
    """A file's name that is no text is shown byte for byte, as Python does it."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    take_every_text(stream, io.StringIO())  # what is no real stream stays as it is
    stream.write(os.fsdecode(b"a\xff"))
    stream.flush()
    assert raw.getvalue() == b"a\xff"


@pytest.mark.slow
def test_the_command_line_writes_to_any_terminal(checkout: Path, tmp_path: Path) -> None:
    """A name that the encoding lacks is told in an error, escaped: no traceback."""
    script = "import sys; sys.argv[1:] = ['inspect', 'µé.tape']; from querytape.cli.main import main; main()"
    environment = {**os.environ, "PYTHONIOENCODING": "koi8-r", "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False
    )
    assert run.returncode == 1
    assert b"Traceback" not in run.stderr
    assert b"u\\xe9.tape" in run.stderr
