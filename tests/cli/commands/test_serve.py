# SPDX-License-Identifier: Apache-2.0
"""Tests of the command line of `querytape serve`."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands import serve
from querytape.cli.commands.serve import serve_command
from querytape.common.errors import FolderError, InputError, OptionError


def run(*words: str) -> None:
    """Run the command. Exceptions reach the test."""
    CliRunner().invoke(serve_command, list(words), catch_exceptions=False, standalone_mode=False)


def test_serve_help_does_not_import_the_web_framework() -> None:
    """Listing the commands does not import the web framework either."""
    program = (
        "import sys; from querytape.cli.main import group\n"
        "for words in (['--help'], ['serve', '--help']):\n"
        "    group.main(words, prog_name='querytape', standalone_mode=False)\n"
        "print([name for name in ('starlette', 'uvicorn', 'duckdb', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_missing_web_framework_error_shows_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "NEEDED", ("starlette", "no_such_module"))
    with pytest.raises(InputError, match=r"serve needs no_such_module: pip install 'querytape\[serve\]'"):
        run(str(tmp_path))


def test_invalid_serve_options_are_refused_before_listening(tmp_path: Path) -> None:
    """The test gives a missing folder, a token file readable by others, a key without a certificate, or an address of
    all interfaces.
    """
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
