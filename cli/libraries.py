# SPDX-License-Identifier: Apache-2.0
"""Lists the versions of the libraries that querytape uses, for bug reports and inventories."""

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

from ..native.bindings.libraries import library_versions, login_plugins

OF_EVERY_SYSTEM = ("zlib",)  # excluded from wheels as the manylinux rules allow
NAME = re.compile(r"[A-Za-z0-9._-]+")


def library_lines() -> list[str]:
    """Return one line per library: C libraries of the wheel or the system, then Python and its packages."""
    ours = login_plugins() is not None
    lines = [
        f"{text} ({'bundled with querytape' if ours and not text.startswith(OF_EVERY_SYSTEM) else 'of the system'})"
        for text in library_versions()
    ]
    return [*lines, f"Python {platform.python_version()}", *package_lines()]


def package_lines() -> list[str]:
    """Return name and version of each required package. Omits extras that are not installed."""
    found = set()
    try:
        asked = requires("querytape") or []
    except PackageNotFoundError:  # checkout that was never installed
        return []
    for text in asked:
        name = NAME.match(text)
        if name is None or 'extra == "dev"' in text:
            continue
        try:
            found.add(f"{name[0]} {version(name[0])}")
        except PackageNotFoundError:
            if "extra ==" not in text:
                found.add(f"{name[0]} is missing")
    return sorted(found, key=str.lower)
