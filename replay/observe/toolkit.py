# SPDX-License-Identifier: Apache-2.0
"""Keep the reports of Percona Toolkit about the machine and the server.

The reports are made if the toolkit is installed and --summaries is given.
"""

import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ...common.files import make_private, publish
from ...servers.target import Target

MAX_S = 120


def keep_summaries(run: Path, target: Target, local: bool, servers: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Write `toolkit/NAME.txt` for each available tool.

    Return the names of the tools. pt-summary runs only if `local`. `servers`: variables of up to three servers (source,
    target, read_target). pt-config-diff compares the variables of the other servers with those of the target.
    """
    folder = run / "toolkit"
    options = run / "spill" / "toolkit.cnf"
    with suppress(FileExistsError):
        make_private(folder)
    with publish(options) as temporary:
        temporary.write_text(option_file(target), encoding="utf-8")
    try:
        names = _run_tools(folder, options, local)
    finally:
        options.unlink()  # the file contains the password
    return names + _differences(folder, servers)


def _run_tools(folder: Path, options: Path, local: bool) -> list[str]:
    """Run the installed tools. Return the names of the tools that ran."""
    names = []
    for name, arguments in (("pt-mysql-summary", [f"--defaults-file={options}"]), ("pt-summary", [])):
        program = shutil.which(name)
        if program is None or (name == "pt-summary" and not local):
            continue
        try:
            done = subprocess.run([program, *arguments], capture_output=True, timeout=MAX_S, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            continue
        _write(folder / f"{name}.txt", done.stdout + done.stderr)
        names.append(name)
    return names


def _differences(folder: Path, servers: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Write the differences between each server's variables and the target's variables.

    Return the names of the reports. Does nothing if pt-config-diff is not installed.
    """
    program = shutil.which("pt-config-diff")
    others = [name for name in servers if name != "target" and servers[name]]
    if program is None or not others:
        return []
    for name, variables in servers.items():
        lines = (f"{key}\t{' '.join(value.split())}\n" for key, value in sorted(variables.items()))
        _write(folder / f"{name}-variables.txt", "Variable_name\tValue\n" + "".join(lines))
    names = []
    for name in others:
        files = [f"{name}-variables.txt", "target-variables.txt"]
        with suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run([program, *files], cwd=folder, capture_output=True, timeout=MAX_S, text=True)
            _write(folder / f"pt-config-diff-{name}.txt", done.stdout + done.stderr)
            names.append(f"pt-config-diff-{name}")
    return names


def _write(path: Path, content: str | bytes) -> None:
    """Write a file atomically. Only its owner can read the file at any time. An existing link is replaced."""
    with publish(path) as temporary:
        temporary.write_bytes(content if isinstance(content, bytes) else content.encode())


def option_file(target: Target) -> str:
    """Return a [client] group for a target. The password is quoted."""
    quoted = (target.password or "").replace("\\", "\\\\").replace('"', '\\"')
    where = [f"socket={target.socket}"] if target.socket else [f"host={target.address}", f"port={target.port}"]
    return "\n".join(["[client]", f"user={target.user}", f'password="{quoted}"', *where, ""])
