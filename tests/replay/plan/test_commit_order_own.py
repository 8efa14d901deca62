# SPDX-License-Identifier: Apache-2.0
"""No session waits for what itself does later, whatever its log knows: it would wait for ever."""

from pathlib import Path

import pytest

from tests.replay.plan.test_commit_order_golden import CASES, busy, ordered

pytestmark = pytest.mark.slow


def numbers(text: str) -> dict[int, list[int]]:
    """Return the numbers of each place in one half of what the engine reads."""
    found: dict[int, list[int]] = {}
    for pair in text.split():
        place, number = map(int, pair.split(":"))
        found.setdefault(place, []).append(number)
    return found


@pytest.mark.parametrize(("source", "precision_ns", "durations"), CASES)
def test_no_session_waits_for_itself(tmp_path: Path, source: str, precision_ns: int, durations: bool) -> None:
    """Statements of which little is known, DDL in transactions, locks of tables, several things at one moment."""
    for seed in range(6):
        folder = tmp_path / str(seed)
        _, rows = ordered(folder, busy(1000 + seed, durations, 0.5), source, precision_ns)
        later: dict[tuple[int, int], int] = {}  # (session, place): the lowest number that it still has before it
        for (session, seq), text in sorted(rows.items(), reverse=True):
            waits, _, marks = (text or "").partition(";")
            for place, all_of in numbers(marks).items():
                later[session, place] = min(*all_of, later.get((session, place), 1 << 62))
            for place, (number,) in numbers(waits).items():
                assert number < later.get((session, place), 1 << 62), (seed, session, seq, text)
