# SPDX-License-Identifier: Apache-2.0
"""A tape's summary on an 80-column terminal, with hostile texts."""

from pathlib import Path

import pytest
from querytape.analyze import compare_tapes, show_tape_difference, show_tape_summary, summarise_tape

from tests.helpers.reports import HOSTILE, printed
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, make_tape

pytestmark = pytest.mark.slow


def terminal_output(tape: Path) -> str:
    return printed(show_tape_summary, summarise_tape(tape), 5)


def test_summary_has_all_sections(small_paths: tuple[Path, Path, Path]) -> None:
    """The summary has totals, transactions, failed statements, classes, users, tables and statements."""
    text = terminal_output(small_paths[0])
    for words in (
        "60 events, 2 sessions, 3 digests in 5.9 s",
        "durations (in the server): p50 4.00ms",
        "0 statements failed",
        "Statement classes and other commands",
        "app   shop        60         2",
        "Statements by total time in the server",
    ):
        assert words in text, text


def test_summary_names_problems_redactions_and_coarse_times(tmp_path: Path) -> None:
    events = [{"statement": "SELECT 1", "precision_ns": 10**9, "flags": 4, "duration_ns": MS}] * 2
    warnings = [{"kind": "hole", "text": "a hole of 3 s"}]
    text = terminal_output(make_tape(tmp_path / "t.tape", events, warnings=warnings, problems={"bad time": 2}))
    assert "partial tape: a hole of 3 s" in text
    assert "not parsed: 2 bad time (inspect --problems lists them)" in text
    assert "redacted and not replayable: 2 statements with passwords or keys" in text
    assert "precision of times: seconds (the order within a second is known)" in text
    assert "failed statements are unknown" in text


def test_first_line_names_the_requested_tape(tmp_path: Path) -> None:
    """A snapshot has the name of its original tape. An unknown server is omitted."""
    text = terminal_output(make_tape(tmp_path / "t.tape", [{"statement": b"x"}], server_version=None))
    assert "None" not in text.partition("1 event,")[0]
    taken = make_tape(
        tmp_path / "taken.tape", [{"statement": b"x"}], snapshot_of="/tapes/live.tape", server_version="8.4"
    )
    assert terminal_output(taken).splitlines()[0] == "/tapes/live.tape  slowlog, 8.4"


def test_terminal_escapes_and_markup_are_shown_as_text(tmp_path: Path) -> None:
    events = [{"statement": b"x", "digest": f"{1:016x}", "user": HOSTILE, "db": HOSTILE, "duration_ns": MS}] * 3
    tape = make_tape(tmp_path / "t.tape", events, server_version=HOSTILE)
    write_digests(tape, {f"{1:016x}": HOSTILE})
    for text in (terminal_output(tape), printed(show_tape_difference, compare_tapes(tape, tape), 5)):
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= 80
        assert "[bold]x[/]" in text


def test_packet_tape_event_is_counted_by_statement_class_or_command(tmp_path: Path) -> None:
    prepared = {"statement": "SELECT ?", "digest": f"{1:016x}", "stmt": 1}
    events = [
        {"command": "connect"},
        {"command": "prepare", **prepared},
        *({"command": "execute", **prepared} for _ in range(4)),
        {"command": "close_stmt", "stmt": 1},
        *({"command": "ping"} for _ in range(5)),
        {"statement": "UPDATE t SET a = 1", "class": "write", "digest": f"{2:016x}"},
        {"command": "quit"},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    lines = terminal_output(tape).partition("and other commands")[2].partition("Users and schemas")[0].splitlines()
    rows = [line.split() for line in lines if "%" in line]
    assert [row[:2] for row in rows] == [
        ["read", "5"], ["write", "1"], ["ping", "5"], ["close_stmt", "1"], ["connect", "1"], ["quit", "1"],
    ]  # fmt: skip
    assert sum(int(row[2][:-1].replace(".", "")) for row in rows) == 1000


def test_concurrency_without_durations_is_unknown(tmp_path: Path) -> None:
    text = terminal_output(make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}] * 3))
    assert "statements: at most -, unknown on average" in " ".join(text.split())
    assert "0.00" not in text


def test_tape_without_events_has_a_summary(tmp_path: Path) -> None:
    """The summary states that there are no events, and so does the comparison of the tape with itself."""
    tape = make_tape(tmp_path / "t.tape", [])
    assert "0 events, 0 sessions, 0 digests in 0.0 s" in terminal_output(tape)
    text = printed(show_tape_difference, compare_tapes(tape, tape), 5)
    assert "0 events, 0 sessions, 0 digests in 0 s" in " ".join(text.split())
