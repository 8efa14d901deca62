# SPDX-License-Identifier: Apache-2.0
"""The three parts of the answer, and their shares."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.analyze import Report
from querytape.analyze.answer.parts import BREAKS, ELSE, PARTS, SLOW, Part, events_of, parts_of, question, share

from .planted import DIGESTS, REPEATS, TEXTS, planted

pytestmark = pytest.mark.slow


def test_the_question_names_both(comparison: Report) -> None:
    """With name and version of each server."""
    asked = "May this traffic move from A (a.db:3306, 5.7.44-log) to B (b.db:3306, 8.0.42)?"
    assert question(comparison) == asked


def test_three_parts_with_their_shares(comparison: Report) -> None:
    """Of the events that were sent, and of the tape's time; what has a reason is counted apart."""
    parts = {part.name: part for part in parts_of(comparison)}
    assert tuple(parts) == PARTS
    broken, other, slow = (parts[name] for name in PARTS)
    assert (broken.digests, broken.events) == (4, 3 * REPEATS + 9)
    assert broken.events_share == pytest.approx((3 * REPEATS + 9) / (REPEATS * len(TEXTS)))
    assert broken.time_share == pytest.approx(broken.events_share), "every statement took as long on the tape"
    assert (other.digests, other.events) == (2, 2 * REPEATS)
    assert (slow.digests, slow.events) == (2, 2 * REPEATS)
    assert slow.lost_ns == pytest.approx(REPEATS * 577_000)
    assert set(events_of(comparison)[BREAKS]) == {
        DIGESTS[name] for name in ("grouped", "reserved", "locked", "missing")
    }
    assert set(events_of(comparison)[SLOW]) == {DIGESTS["slow"], DIGESTS["slower"]}
    assert set(events_of(comparison)[ELSE]) == {DIGESTS["sorted"], DIGESTS["limited"]}


def test_a_tape_without_times_has_the_runs(comparison: Report) -> None:
    """Then shares of time are of the side that took longer; with no times at all there is none."""
    report = deepcopy(comparison)
    for entry in report.digests:
        entry["tape_ns"] = None
    slow = parts_of(report)[2]
    assert slow.time_share is not None
    assert slow.time_share > 2 / len(TEXTS)
    for entry in report.digests:
        entry["a"] = entry["b"] = None
    assert parts_of(report)[2].time_share is None


def test_what_fails_on_both_and_nobody_knows_breaks_nothing(tmp_path: Path) -> None:
    """Where the tape does not know outcomes, what fails alike on both sides is not counted as broken."""
    assert DIGESTS["missing"] not in events_of(planted(tmp_path, tape_errno=None))[BREAKS]


def test_words() -> None:
    """Singular and plural; what there is, is never 0 %."""
    part = Part(SLOW, 1, 1, 0.0004, None, lost_ns=5000)
    assert part.said() == "1 digest, 1 event, less than 0.1 % of the traffic, 5.00µs lost"
    known = replace(part, name=ELSE, digests=2, events=1234, time_share=0.5, explained=7, lost_ns=0)
    assert known.said() == (
        "2 digests, 1,234 events, less than 0.1 % of the traffic, 50.0 % of the time, 7 of the events with a known reason"
    )
    assert replace(part, untold=2).said() == f"{part.said()}; of 2 digests it can't be told"
    nothing = Part(SLOW, 0, 0, 0.0, 0.0)
    assert nothing.said() == "nothing"
    assert replace(nothing, untold=1).said() == "nothing that is certain; of 1 digest it can't be told"
    assert [share(part) for part in (0.0, 0.0009, 0.001, 1.0)] == ["0 %", "less than 0.1 %", "0.1 %", "100.0 %"]
