# SPDX-License-Identifier: Apache-2.0
"""Report the loaded C libraries, and find the login plugins of a wheel."""

from pathlib import Path

from .._querytape import ffi, lib
from .errors import check

MAX_BYTES = 4096
# MariaDB Connector/C has a compiled-in path of its plugin folder. This folder exists only on machines where the library
# was installed. A wheel therefore contains plugins for caching_sha2_password, sha256_password, ed25519, cleartext and
# dialog.
PLUGINS = Path(__file__).resolve().parent.parent / "plugins"


def login_plugins() -> str | None:
    """Return the folder of login plugins in this installation. None means the plugin folder of MariaDB Connector/C."""
    return str(PLUGINS) if PLUGINS.is_dir() else None


def library_versions() -> list[str]:
    """Return the name and version of each loaded library, for example `OpenSSL 3.0.17 1 Jul 2025`."""
    out = ffi.new("char[]", MAX_BYTES)
    check(lib.qt_library_versions(out, MAX_BYTES), ffi.new("struct qt_error *"))
    text = ffi.string(out)
    assert isinstance(text, bytes)
    return text.decode("utf-8", "replace").splitlines()
