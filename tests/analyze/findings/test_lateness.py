# SPDX-License-Identifier: Apache-2.0
"""The replayer's lateness is one sentence for all runs of a report, whatever each of them says of it."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build

from tests.helpers.reports import tape_of
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS

pytestmark = pytest.mark.slow

LATE = [
    {"due_ns": 0, "free_ns": 0, "queued_ns": 0, "sent_ns": 20 * MS, "done_ns": 30 * MS},
    {"due_ns": 5 * MS, "free_ns": 30 * MS, "queued_ns": 0, "sent_ns": 30 * MS, "done_ns": 31 * MS},
]


def rounds(folder: Path, outcomes: list[dict[str, Any]], *warnings: str) -> Report:
    """Return a report of three rounds; each run warns so, with a number of its own."""
    tape = tape_of(folder / "t.tape", 2)
    said = [{"generator": {"warnings": [text.format(number) for text in warnings]}} for number in range(6)]
    runs = [make_run(folder / f"{number}.run", tape, outcomes, **keys) for number, keys in enumerate(said)]
    return build(tape, runs[:3], runs[3:])


def test_one_line_for_six_runs(tmp_path: Path) -> None:
    """What six runs say of their lateness is one finding with both sides' figures; so are sessions that waited."""
    asleep = "one statement in a hundred was sent at least {}.1 ms late, and threads that only sleep woke as late"
    texts = [finding.text for finding in rounds(tmp_path, LATE, asleep).trust]
    (late,) = [text for text in texts if "late" in text]
    assert late.startswith(
        "The replayer itself sent one statement in a hundred at least 20.0ms (A) and 20.0ms (B) late."
    )
    assert "other programs kept that machine busy" in late
    (waited,) = [text for text in texts if "waited" in text]
    assert waited.startswith("50 % (A) and 50 % (B) of the statements waited for the previous answer of their session")


def test_old_runs_say_it_in_their_own_words(tmp_path: Path) -> None:
    """Runs of an earlier release, too; a replayer in time has no line."""
    (tmp_path / "old").mkdir()
    old = "the replayer itself was up to {}.0 ms late (p99); calibration had 3.46 ms. Put less load on this machine"
    texts = [finding.text for finding in rounds(tmp_path / "old", [{}, {}], old).trust]
    assert len([text for text in texts if "late" in text]) == 1
    assert "calibration had" not in " ".join(texts)
    assert not [f for f in rounds(tmp_path, [{}, {}]).trust if "late" in f.text]


def test_other_limits_of_the_replayer(tmp_path: Path) -> None:
    """What several runs say alike is said once, with their names."""
    texts = [finding.text for finding in rounds(tmp_path, [{}, {}], "the replayer used 9{}% of 2 cores").trust]
    (said,) = [text for text in texts if "cores" in text]
    assert said == "Runs A1, A2, A3, B1, B2, B3: the replayer used 90% of 2 cores (the first of them is shown)."
