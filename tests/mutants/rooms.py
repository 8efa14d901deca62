# SPDX-License-Identifier: Apache-2.0
"""The rooms whose tests have to notice a fault: what is mutated in each, and which tests are asked.

A file is asked about by the tests of its own name first, then by the room's others; none of them starts a server.
"""

from dataclasses import dataclass
from pathlib import Path

MIN_KILLED = 0.85


@dataclass(frozen=True)
class Room:
    """Patterns of files, and folders or files of tests; `native:` names C tests (`make PART=...` in tests/native)."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "schemas": Room(("schemas/*.py",), ("tests/schemas",)),
    "native parsers and protocol": Room(
        (
            "native/slowlog/*.c",
            "native/logs/*.c",
            "native/packets/*.c",
            "native/protocol/*.c",
            "native/reader/*.c",
        ),
        (
            "tests/capture/sources/test_packets_protocol.py",
            "tests/capture/sources",
            "tests/native/bindings",
            "tests/capture/test_any_size.py",
            "native:event_rows",
        ),
    ),
    "engine order": Room(
        (
            "native/engine/commit_order.c",
            "native/engine/pace.c",
            "native/engine/prepare_event.c",
            "native/engine/read_split.c",
            "replay/plan/commit_order.py",
            "replay/plan/catalog.py",
            "replay/plan/sql/commit_order.sql",
        ),
        (
            "tests/replay/plan/test_commit_order.py",
            "tests/replay/plan/test_catalog.py",
            "native:engine",
        ),
    ),
    "replay plan and accounting": Room(
        (
            "replay/plan/*.py",
            "replay/plan/sql/*.sql",
            "replay/observe/accounting.py",
            "replay/observe/sql/accounting.sql",
            "replay/checks/preflight.py",
            "replay/summary.py",
        ),
        (
            "tests/replay/plan/test_make_plan.py",
            "tests/replay/plan/test_selection.py",
            "tests/replay/plan/test_split.py",
            "tests/replay/plan/test_database.py",
        ),
    ),
    "verdicts": Room(
        ("analyze/verdicts/*.py", "analyze/sql/report/*.sql", "analyze/sql/*.sql"),
        (
            "tests/analyze/test_golden.py",
            "tests/analyze/test_answers.py",
            "tests/analyze/test_answers_edges.py",
            "tests/analyze/test_pipeline.py",
            "tests/analyze/verdicts",
        ),
    ),
    "gates": Room(("analyze/gates.py",), ("tests/analyze/test_gates.py",)),
}
ELSEWHERE = "elsewhere"  # files of no room: mutants of listed.toml alone
# Much time for little: what they look at is looked at by others of their room, too.
LEFT_OUT = (
    "test_large_statements_are_fed_whole",
    "test_windows_give_what_one_sort_gives",
    "test_samples_are_stable",
    "test_packets_live",
    "test_a_danger_is_allowed_by_its_name",
    "test_equal_machines_give_no_verdict_of_slower",
    "test_real_regressions_are_found_and_nothing_else",
)


def room_of(path: str) -> str | None:
    """Return the first room that has a file; None where none has it."""
    for name, room in ROOMS.items():
        if any(Path(path).match(pattern) and Path(path).parent == Path(pattern).parent for pattern in room.files):
            return name
    return None


def asked(path: str, checkout: Path) -> tuple[list[str], list[str]]:
    """Return which tests are asked about a file: those of its own name first, and then the room's others."""
    room = ROOMS[room_of(path) or ""]
    folder, stem = Path(path).parent, Path(path).stem
    if path.endswith(".sql"):
        folder = folder.parent
    tests = checkout / "tests" / ("capture/sources" if folder.parts[0] == "native" else folder)
    own = [str(found.relative_to(checkout)) for found in sorted(tests.glob(f"test_{stem}*.py"))]
    others = []
    for entry in room.tests:
        where = checkout / entry
        found = sorted(where.glob("test_*.py")) if where.is_dir() else [where] if where.exists() else []
        others += [entry] if entry.startswith("native:") else [str(one.relative_to(checkout)) for one in found]
    rest = [name for name in dict.fromkeys(others) if name not in own]
    return (own, rest) if own else (rest[:1], rest[1:])
