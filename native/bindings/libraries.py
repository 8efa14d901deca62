# SPDX-License-Identifier: Apache-2.0
"""The C libraries that the extension runs with, and the login plugins that a wheel brings along."""

from pathlib import Path

from .._querytape import ffi, lib
from .errors import check

MAX_BYTES = 4096
# Connector/C looks for plugins in a folder that was compiled in, which only exists where it was installed; a wheel has
# those for caching_sha2_password, sha256_password, ed25519, cleartext and dialog here.
PLUGINS = Path(__file__).resolve().parent.parent / "plugins"


def login_plugins() -> str | None:
    """Return the folder of the login plugins that came with querytape; None where the library's own is used."""
    return str(PLUGINS) if PLUGINS.is_dir() else None


def library_versions() -> list[str]:
    """Return the name and version of each library that is loaded, such as `OpenSSL 3.0.17 1 Jul 2025`."""
    out = ffi.new("char[]", MAX_BYTES)
    check(lib.qt_library_versions(out, MAX_BYTES), ffi.new("struct qt_error *"))
    text = ffi.string(out)
    assert isinstance(text, bytes)
    return text.decode("utf-8", "replace").splitlines()
