# SPDX-License-Identifier: Apache-2.0
"""The rooms whose tests have to notice a fault: what is mutated in each, and which tests are asked.

A file is asked about by the tests of its own name first, then by its part's others; none of them starts a server.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MIN_KILLED = 0.85


@dataclass(frozen=True)
class Part:
    """Patterns of files, and folders or files of tests; `native:` names C tests (`make PART=...` in tests/native)."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


SOURCES = "tests/capture/sources"
LARGE = "tests/capture/test_any_size.py::test_large_statements_are_whole_however_they_are_packed"
GOLDEN, ALTERED, PACKETS = (f"{SOURCES}/test_{name}.py" for name in ("logs_golden", "logs_altered", "packets_altered"))


def _of_logs(*names: str) -> tuple[str, ...]:
    """Return the tests that read some logs of golden/: whole, cut, in pieces, and with each line altered."""
    whole = ("test_golden", "test_in_another_time_zone", "test_cut_anywhere", "test_in_pieces")
    return (
        *(f"{GOLDEN}::{test}[{name}]" for name in names for test in whole),
        *(f"{ALTERED}::test_every_line_altered[{name}]" for name in names),
    )


def _parsers(files: tuple[str, ...], tests: tuple[str, ...]) -> Part:
    """Return a part of the native parsers: all are asked about altered files, memory that is out, reads that fail."""
    return Part(files, (*tests, "native:altered", "native:failures"))


READERS = (
    f"{SOURCES}/test_wrong_tapes.py",
    "tests/native/bindings/test_parsers.py",
    "tests/native/bindings/test_readers.py",
)
SAID = (f"{PACKETS}::test_every_byte_said", f"{PACKETS}::test_streams_that_are_pulled_apart")
TALKS = (
    f"{SOURCES}/test_server_replies.py",
    f"{SOURCES}/test_packets_protocol.py",
    f"{SOURCES}/test_packets_executions.py",
    f"{SOURCES}/test_packets_insert_ids.py",
    f"{SOURCES}/test_packets_midway.py",
    f"{SOURCES}/test_wrong_tapes.py",
    f"{SOURCES}/test_open_before.py",
    f"{SOURCES}/test_packets_encrypted.py",
)
ROOMS = {
    "schemas": (Part(("schemas/*.py",), ("tests/schemas",)),),
    "native parsers and protocol": (
        _parsers(
            ("native/slowlog/*.c",),
            (
                "native:slow_grammar",
                f"{SOURCES}/test_slowlog.py",
                "native:spans",
                *_of_logs("slow.log"),
                *READERS,
                "tests/native/bindings/test_reader.py",
                *(
                    f"{ALTERED}::test_every_line_altered[{path.name}]"
                    for path in sorted((Path(__file__).parents[2] / SOURCES / "logs").iterdir())
                ),
                f"{LARGE}[slow]",
            ),
        ),
        _parsers(
            ("native/logs/general*.c",),
            (
                f"{SOURCES}/test_general_log.py",
                "native:spans",
                *_of_logs("general_mysql.log", "general_mariadb.log", "general_copied.log"),
                f"{GOLDEN}::test_many_sessions",
                *READERS,
                f"{LARGE}[general]",
            ),
        ),
        _parsers(
            ("native/logs/server_audit.c",),
            (f"{SOURCES}/test_server_audit.py", *_of_logs("audit.log", "audit_aurora.log"), *READERS),
        ),
        _parsers(
            ("native/logs/proxysql*.c",),
            (f"{SOURCES}/test_proxysql.py", f"{ALTERED}::test_every_byte_of_a_binary_log", *READERS),
        ),
        _parsers(
            ("native/logs/*.c",),
            (
                *_of_logs("binlog.txt"),
                f"{SOURCES}/test_binlog.py",
                f"{SOURCES}/test_duck_rows.py",
                f"{SOURCES}/test_csv_file.py",
                f"{SOURCES}/test_cloud_exports.py",
                *READERS,
                f"{LARGE}[binlog]",
            ),
        ),
        _parsers(
            ("native/packets/frame.c", "native/packets/capture_file.c"),
            (
                f"{SOURCES}/test_packets_frames.py",
                f"{SOURCES}/test_packets.py",
                PACKETS,
                f"{SOURCES}/test_packets_encrypted.py",
            ),
        ),
        _parsers(
            ("native/packets/*.c",),
            (
                "native:parked",
                f"{SOURCES}/test_packets_golden.py",
                f"{SOURCES}/test_packets_renegotiated.py",
                *reversed(SAID),
                f"{SOURCES}/test_packets.py",
                f"{SOURCES}/test_named_statements.py",
                f"{SOURCES}/test_live.py",
                *TALKS,
            ),
        ),
        _parsers(
            ("native/protocol/*.c",),
            (
                f"{SOURCES}/test_packets_golden.py",
                "native:spans",
                "native:decoder",
                *SAID,
                f"{SOURCES}/test_packets.py",
                *TALKS,
                "native:encrypted",
            ),
        ),
        _parsers(
            ("native/tls/*.c",),
            (
                "native:tls",
                "native:encrypted",
                f"{SOURCES}/test_packets_renegotiated.py",
                f"{SOURCES}/test_packets_encrypted.py",
            ),
        ),
        _parsers(
            ("native/sql/*.c",),
            (
                "native:normalize",
                "native:actions",
                "native:split",
                "native:readings",
                "tests/native/bindings/test_statements_altered.py",
                "tests/native/bindings/test_statements.py",
                "native:engine_permit",
                "tests/capture/test_secrets_by_mode.py",
                "tests/native/bindings/test_readers.py",
                f"{SOURCES}/test_wrong_tapes.py",
            ),
        ),
        _parsers(
            ("native/reader/follow.c", "native/reader/counted_stream.c"),
            (
                "tests/capture/test_following.py",
                "tests/native/bindings/test_reader.py",
                f"{SOURCES}/test_logs_golden.py",
            ),
        ),
        _parsers(
            ("native/reader/log*.c", "native/reader/input.c"),
            (
                GOLDEN,
                "native:spans",
                "tests/native/bindings/test_readers.py",
                "tests/native/bindings/test_reader.py",
                ALTERED,
                f"{SOURCES}/test_slowlog.py",
                f"{SOURCES}/test_general_log.py",
                f"{SOURCES}/test_wrong_tapes.py",
                f"{SOURCES}/test_open_before.py",
                "tests/capture/test_any_size.py::test_a_file_and_a_pipe",
                "tests/capture/test_any_size.py::test_standard_input_is_detected",
                "tests/capture/test_following.py",
                f"{LARGE}[slow]",
            ),
        ),
        _parsers(
            ("native/reader/*.c",),
            (
                GOLDEN,
                "tests/native/bindings/test_reader.py",
                "tests/native/bindings/test_readers.py",
                "tests/native/bindings/test_open_sessions.py",
                f"{SOURCES}/test_packets_golden.py",
                *reversed(SAID),
                ALTERED,
                f"{SOURCES}/test_slowlog.py",
                f"{SOURCES}/test_packets.py",
                f"{SOURCES}/test_open_before.py",
                f"{SOURCES}/test_wrong_tapes.py",
                "tests/capture/test_any_size.py::test_a_file_and_a_pipe",
                "tests/capture/test_open_sessions.py",
                "tests/native/bindings/test_part_facts.py",
                "tests/capture/test_following.py",
                f"{LARGE}[slow]",
            ),
        ),
    ),
    "engine order": (
        Part(
            (
                "native/engine/commit_order.c",
                "native/engine/pace.c",
                "native/engine/prepare_event.c",
                "native/engine/read_split.c",
            ),
            ("native:engine",),
        ),
        Part(
            (
                "replay/plan/commit_order.py",
                "replay/plan/catalog.py",
                "replay/plan/sql/order_events.sql",
                "native/sweep/*.c",
            ),
            (
                "tests/replay/plan/test_commit_order.py",
                "tests/simulator/test_plans.py",
                "tests/replay/plan/test_catalog.py",
            ),
        ),
    ),
    "replay plan and accounting": (
        Part(
            ("replay/plan/*.py", "replay/plan/sql/*.sql"),
            (
                "tests/replay/plan/test_golden.py",
                "tests/replay/plan/test_make_plan.py",
                "tests/replay/plan/test_selection.py",
                "tests/replay/plan/test_split.py",
                "tests/replay/plan/test_database.py",
                "tests/replay/plan/test_transactions.py",
            ),
        ),
        Part(
            ("replay/observe/accounting.py", "replay/observe/sql/accounting.sql"),
            ("tests/replay/observe/test_accounting.py",),
        ),
        Part(("replay/checks/preflight.py",), ("tests/replay/checks/test_preflight.py",)),
        Part(("replay/summary.py",), ("tests/replay/test_summary.py",)),
    ),
    "verdicts": (
        Part(("analyze/verdicts/*.py",), ("tests/analyze/verdicts", "tests/analyze/test_golden.py")),
        Part(
            ("analyze/sql/report/*.sql", "analyze/sql/*.sql"),
            (
                "tests/analyze/test_golden.py",
                "tests/analyze/test_golden_varied.py",
                "tests/analyze/test_answers.py",
                "tests/analyze/test_answers_edges.py",
                "tests/analyze/test_build_report.py",
                "tests/analyze/test_sweep.py",
            ),
        ),
    ),
    "gates": (Part(("analyze/gates.py",), ("tests/analyze/test_gates.py",)),),
}
# Much time for little: what they look at is looked at by others of their room, too.
LEFT_OUT = (
    "test_large_statements_are_fed_whole",
    "test_windows_give_what_one_sort_gives",
    "test_samples_are_stable",
    "test_packets_live",  # test_live.py takes no server
    "test_a_statement_of_many_packets_is_whole",
    "test_a_danger_is_allowed_by_its_name",
    "test_equal_machines_give_no_verdict_of_slower",
    "test_real_regressions_are_found_and_nothing_else",
)


def room_of(path: str) -> str | None:
    """Return the first room that has a file; None where none has it."""
    return next((name for name, parts in ROOMS.items() if _part_of(path, parts)), None)


def _part_of(path: str, parts: Iterable[Part]) -> Part | None:
    for part in parts:
        if any(Path(path).match(pattern) and Path(path).parent == Path(pattern).parent for pattern in part.files):
            return part
    return None


def asked(path: str, checkout: Path) -> tuple[list[str], list[str]]:
    """Return which tests are asked about a file: those of its own name first, and then its part's others."""
    part = _part_of(path, (part for parts in ROOMS.values() for part in parts))
    assert part is not None
    own = _of_its_name(Path(path), checkout)
    others = []
    for entry in part.tests:
        where = checkout / entry
        found = sorted(where.glob("test_*.py")) if where.is_dir() else []
        others += [str(one.relative_to(checkout)) for one in found] or [entry]
    rest = [name for name in dict.fromkeys(others) if name not in own]
    return (own, rest) if own else (rest[:1], rest[1:])


def _of_its_name(path: Path, checkout: Path) -> list[str]:
    """Return the tests that have a file's name; of a parser in several files those of the first word."""
    native, name = path.parts[0] == "native", "engine_" * (path.parts[1] == "engine") + path.stem
    if native and (checkout / f"tests/native/test_{name}.c").exists():
        return [f"native:{name}"]
    other = Path("tests") / (path.parent.parent if path.suffix == ".sql" else path.parent)
    more = ("tests/native/bindings", "tests/capture") if path.parent.name == "reader" else ()
    folders = (SOURCES, *more) if native else (other,)
    words = path.stem.split("_")
    shortest = 1 if path.parts[:2] in (("native", "slowlog"), ("native", "logs")) else len(words)
    for count in range(len(words), shortest - 1, -1):
        for folder in folders:
            if found := sorted((checkout / folder).glob(f"test_{'_'.join(words[:count])}*.py")):
                return [str(one.relative_to(checkout)) for one in found]
    return []
