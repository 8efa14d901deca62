# SPDX-License-Identifier: Apache-2.0
"""Texts about a tape: its contents and its limits."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import TapeSummary, summarise_tape
from querytape.analyze.render.tape_text import limits, name_of, rhythm_lines, size_lines, source_of

from tests.helpers.tapes import MS, SECOND, T0, make_tape

pytestmark = pytest.mark.slow


def summary_of(path: Path, events: list[dict[str, Any]], **info: Any) -> TapeSummary:
    """Return the summary of a tape that contains the given events."""
    return summarise_tape(make_tape(path, events, **info))


def test_names_are_printable(tmp_path: Path) -> None:
    """The tape's own texts contain no terminal escapes. A snapshot has the name of its original tape."""
    events = [{"statement": "SELECT 1"}]
    summary = summary_of(tmp_path / "t.tape", events, server_version="8.4\x1b[31m", snapshot_of="/tapes/\x1bx.tape")
    assert "\x1b" not in name_of(summary) + source_of(summary)
    assert name_of(summary).startswith("/tapes/")
    assert source_of(summary).startswith("slowlog, 8.4")


def test_numbers_times_concurrency_and_durations_have_texts(tmp_path: Path) -> None:
    events = [
        {"session": s, "start_ns": T0 + s * SECOND, "duration_ns": 4 * SECOND, "statement": "SELECT 1"} for s in (1, 2)
    ]
    first, together, durations = size_lines(summary_of(tmp_path / "t.tape", events))
    assert first == "2 events, 2 sessions, 1 digest in 5.0 s (2/s)"
    assert together.startswith("concurrent sessions: at most 2; concurrent statements: at most 2")
    assert "p50 4.00s" in durations


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"rows_sent": 1}, "1 read, 0 writes; statement size: median 8 bytes"),
        ({"class": "write"}, "0 reads, 1 write;"),
    ],
)
def test_pauses_and_transactions_of_a_single_statement(event: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Reads and writes are counted. A single statement has no think time. A tape without transactions has no line for
    them.
    """
    lines = rhythm_lines(summary_of(tmp_path / "t.tape", [{"statement": "SELECT 1", "duration_ns": MS, **event}]))
    assert any(words in line for line in lines)
    assert not any("think time" in line or "transactions" in line for line in lines)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("info", "event", "warning", "text"),
    [
        ({"warnings": [{"kind": "k", "text": "a \x1bhole"}]}, {}, "partial tape:", "hole"),
        ({"problems": {"bad time": 2}}, {}, "not parsed:", "2 bad time (inspect --problems lists them)"),
        ({}, {"flags": 4}, "", "redacted and not replayable: 1 statement with passwords or keys"),
        (
            {},
            {"precision_ns": SECOND},
            "",
            "precision of times: seconds (the order within a second is known)",
        ),
        ({}, {"errno": 0}, "", "0 statements failed"),
        ({}, {"errno": None}, "", "failed statements are unknown, because this log has no error numbers"),
    ],
)
def test_limits_of_a_tape_are_reported(
    info: dict[str, Any], event: dict[str, Any], warning: str, text: str, tmp_path: Path
) -> None:
    """Missing and unknown data is reported. Lost data also has a warning label."""
    found = limits(summary_of(tmp_path / "t.tape", [{"statement": "SELECT 1", "duration_ns": MS, **event}], **info))
    assert any(limit.warning == warning and text in limit.text for limit in found), found
    assert not any("\x1b" in limit.text for limit in found)
