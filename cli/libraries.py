# SPDX-License-Identifier: Apache-2.0
"""Names the libraries that querytape runs with, for bug reports and for whoever has to know what is installed."""

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

from ..native.bindings.libraries import library_versions, login_plugins

OF_EVERY_SYSTEM = ("zlib",)  # wheels omit it, as the manylinux rules allow
NAME = re.compile(r"[A-Za-z0-9._-]+")


def library_lines() -> list[str]:
    """Return a line for each: C libraries, those of a wheel or of the system, then Python and its packages."""
    ours = login_plugins() is not None
    lines = [
        f"{text} ({'bundled with querytape' if ours and not text.startswith(OF_EVERY_SYSTEM) else 'of the system'})"
        for text in library_versions()
    ]
    return [*lines, f"Python {platform.python_version()}", *package_lines()]


def package_lines() -> list[str]:
    """Return name and version of each package that querytape asks for; without those of extras that are not here."""
    found = set()
    try:
        asked = requires("querytape") or []
    except PackageNotFoundError:  # a checkout that was never installed
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
