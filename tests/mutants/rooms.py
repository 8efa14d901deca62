# SPDX-License-Identifier: Apache-2.0
"""The source files to mutate and their tests. Tests named after a file run first, then the tests of its folder."""

import re
from pathlib import Path

MIN_KILLED = 0.85
ROOMS = {
    "schemas": ("schemas/*.py",),
    "native parsers and protocol": tuple(
        f"native/{folder}/*.c" for folder in ("slowlog", "logs", "packets", "protocol", "tls", "sql", "reader")
    ),
    "engine order": (
        *(f"native/engine/{name}.c" for name in ("commit_order", "pace", "prepare_event", "read_split")),
        *("native/sweep/*.c", "replay/plan/commit_order.py", "replay/plan/catalog.py"),
        "replay/plan/sql/order_events.sql",
    ),
    "replay plan and accounting": (
        *("replay/plan/*.py", "replay/plan/sql/*.sql", "replay/observe/accounting.py"),
        *("replay/observe/sql/accounting.sql", "replay/checks/preflight.py", "replay/summary.py"),
    ),
    "verdicts": ("analyze/verdicts/*.py", "analyze/sql/report/*.sql", "analyze/sql/*.sql"),
    "gates": ("analyze/gates.py",),
}
# The Python tests of each folder in native/, as patterns of file names in PYTHON_TESTS.
PYTHON_TESTS = ("tests/capture/sources", "tests/native/bindings", "tests/capture")
OF_NATIVE = {
    "slowlog": ("test_slow*", "test_logs*", "test_reader*", "test_open_quotes*"),
    "logs": ("test_logs*", "test_general*", "test_server_audit*", "test_binlog*", "test_proxysql*", "test_reader*"),
    "packets": ("test_packets*", "test_live*", "test_named_statements*"),
    "protocol": ("test_packets*", "test_server_replies*"),
    "tls": ("test_packets_encrypted*", "test_packets_renegotiated*"),
    "sql": ("test_statements*", "test_secrets*", "test_properties*", "test_executable_comments*"),
    "reader": ("test_logs*", "test_reader*", "test_following*", "test_open_*", "test_part_facts*", "test_inputs*"),
}
ALL_PARSERS = ("altered", "failures")  # C tests that read files of all source kinds


def room_of(path: str) -> str | None:
    """Return the first room that contains the file, or None."""
    return next((name for name, patterns in ROOMS.items() if any(_fits(path, one) for one in patterns)), None)


def _fits(path: str, pattern: str) -> bool:
    return Path(path).match(pattern) and Path(path).parent == Path(pattern).parent


def c_tests(path: str, checkout: Path) -> tuple[list[str], list[str]]:
    """Return the C tests named after a file, and the C tests of the file's folder.

    A C test belongs to a folder if it has the folder's name or includes a header of the folder.
    """
    if not path.startswith("native/"):
        return [], []
    folder, stem = Path(path).parent.name, Path(path).stem
    header = re.compile(rf'^#include "{folder}/', re.M)
    tests = {file.stem.removeprefix("test_"): file for file in sorted((checkout / "tests/native").glob("test_*.c"))}
    own = [name for name in tests if name.removeprefix("engine_").startswith(stem)]
    stems = {folder, *(file.stem for file in (checkout / "native" / folder).glob("*.c"))}
    others = [
        name
        for name, file in tests.items()
        if name in stems or name.startswith(f"{folder}_") or header.search(file.read_text(encoding="utf-8"))
    ]
    others += [name for name in ALL_PARSERS if folder in OF_NATIVE and name in tests]
    return own, [name for name in dict.fromkeys(others) if name not in own]


def python_tests(path: str, checkout: Path) -> tuple[list[str], list[str]]:
    """Return the Python tests named after a file, and the Python tests of the file's folder."""
    place = Path(path)
    if place.parts[0] == "native":
        folders, patterns = [*PYTHON_TESTS], OF_NATIVE.get(place.parent.name, ())
    else:
        parent = next(one for one in place.parents if one.name not in ("sql", "report"))
        folders, patterns = [f"tests/{parent}"], ("test_*",)

    def found(pattern: str) -> list[str]:
        files = [file for folder in folders for file in sorted((checkout / folder).glob(f"{pattern}.py"))]
        return [str(file.relative_to(checkout)) for file in files]

    own = found(f"test_{place.stem}*")
    others = [file for pattern in patterns for file in found(pattern)]
    return own, [file for file in dict.fromkeys(others) if file not in own]
