# SPDX-License-Identifier: Apache-2.0
"""`querytape serve` on the command line."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands import serve
from querytape.cli.commands.serve import serve_command
from querytape.common.errors import FolderError, InputError, OptionError


def run(*words: str) -> None:
    """Run the command; what it raises comes out."""
    CliRunner().invoke(serve_command, list(words), catch_exceptions=False, standalone_mode=False)


def test_help_loads_no_framework() -> None:
    """Nor does the list of commands: they are there where somebody serves."""
    program = (
        "import sys; from querytape.cli.main import group\n"
        "for words in (['--help'], ['serve', '--help']):\n"
        "    group.main(words, prog_name='querytape', standalone_mode=False)\n"
        "print([name for name in ('starlette', 'uvicorn', 'duckdb', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_a_missing_framework_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    monkeypatch.setattr(serve, "NEEDED", ("starlette", "no_such_module"))
    with pytest.raises(InputError, match=r"serve needs no_such_module: pip install 'querytape\[serve\]'"):
        run(str(tmp_path))


def test_what_cannot_be_served(tmp_path: Path) -> None:
    """A sentence before anything listens: no folder, a token that others read, half a certificate, every address."""
    with pytest.raises(FolderError, match="missing"):
        run(str(tmp_path / "missing"))
    (tmp_path / "token").write_text("x" * 30)
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(InputError, match="other users can read the token"):
        run(str(tmp_path), "--token-file", str(tmp_path / "token"))
    with pytest.raises(OptionError, match="must be given together"):
        run(str(tmp_path), "--key", "x")
    with pytest.raises(InputError, match="use --name"):
        run(str(tmp_path), "--address", "0.0.0.0:0")
