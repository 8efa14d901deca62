# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape completion`: each shell accepts the printed script, and bash completes with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.completion import SHELLS
from querytape.cli.main import COMMANDS, group

from ...conftest import skip_loudly


def printed(shell: str) -> str:
    found = CliRunner().invoke(group, ["completion", shell])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.parametrize("shell", SHELLS)
def test_shell_accepts_the_completion_script(shell: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if shutil.which(shell) is None:
        skip_loudly(request, f"no {shell}: its completion is not read by itself")
    script = tmp_path / "script"
    script.write_text(printed(shell))
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", set(COMMANDS)),
        ("re", {"replay", "report"}),
        ("tape ver", {"verify"}),
        ("replay --allow-w", {"--allow-writes"}),
        ("replay --order ", {"time", "commit"}),
        ("completion ", set(SHELLS)),
    ],
)
def test_bash_completes_commands_options_and_values(typed: str, expected: set[str], tmp_path: Path) -> None:
    program = tmp_path / "querytape"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m querytape "$@"\n')
    program.chmod(0o755)
    words = f"querytape {typed}".split(" ")
    asked = f"COMP_WORDS=({' '.join(word or chr(39) * 2 for word in words)}); COMP_CWORD={len(words) - 1}"
    shown = "printf '%s\\n' \"${COMPREPLY[@]}\""
    script = f"{printed('bash')}\n{asked}\n_querytape_completion querytape '{words[-1]}' ''\n{shown}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert set(done.stdout.split()) == expected, done.stderr
