# SPDX-License-Identifier: Apache-2.0
"""Versions of the C libraries, and the folder of login plugins.

The folder is the bundled folder if it exists, otherwise the system's folder.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.native.bindings import libraries
from querytape.native.bindings.libraries import library_versions, login_plugins
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape

WITH_PLUGINS = """
import sys
from pathlib import Path
from querytape.native.bindings import libraries
libraries.PLUGINS = Path(sys.argv.pop(1))
from querytape.__main__ import main
main()
"""
NAMES = ("MariaDB Connector/C 3.", "OpenSSL ", "libpcap version ", "zlib ", "Zstandard ", "liblzma ")


def test_each_library_reports_its_version() -> None:
    lines = library_versions()
    assert [line.startswith(name) for line, name in zip(lines, NAMES, strict=True)] == [True] * len(NAMES), lines
    assert all(any(letter.isdigit() for letter in line) for line in lines)


def test_checkout_uses_the_system_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel contains a folder of login plugins, which replaces the system's folder."""
    monkeypatch.setattr(libraries, "PLUGINS", tmp_path / "plugins")
    assert login_plugins() is None
    (tmp_path / "plugins").mkdir()
    assert login_plugins() == str(tmp_path / "plugins")


@pytest.mark.server
@pytest.mark.parametrize("there", [True, False])
def test_login_plugin_is_loaded_only_from_the_bundled_folder(mysql80: Server, tmp_path: Path, there: bool) -> None:
    """The connector library does not contain caching_sha2_password. The test runs in its own process, because a loaded
    plugin stays loaded.
    """
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    system = subprocess.run(["mariadb_config", "--plugindir"], capture_output=True, text=True, check=True)
    if there:
        name = "caching_sha2_password.so"
        (plugins / name).symlink_to(Path(system.stdout.strip()) / name)
    mysql80.execute("DROP USER IF EXISTS plugged@'%'")
    mysql80.execute("CREATE USER plugged@'%' IDENTIFIED WITH caching_sha2_password BY 'In-Folder-1'")
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}] * 3)
    words = ["replay", str(tape), "--target", f"mysql://plugged@127.0.0.1:{mysql80.port}", "-o", str(tmp_path / "r")]
    done = subprocess.run(
        [sys.executable, "-c", WITH_PLUGINS, str(plugins), *words, "--pace", "none"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "QUERYTAPE_PASSWORD": "In-Folder-1"},
    )
    if there:
        assert open_folder("run", tmp_path / "r").info["accounting"]["executed"] == 3, done.stderr
    else:
        assert done.returncode != 0
        assert f"{plugins}/caching_sha2_password.so" in done.stdout + done.stderr
