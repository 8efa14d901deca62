# SPDX-License-Identifier: Apache-2.0
"""Tests of special transactions on random histories: the plan of querytape keeps their order.

test_replays.py tests the rules themselves. Its reference lacks these kinds of transactions.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.tiers import mostly_long

from .history import Mix, make_history
from .show import lines
from .target import Outcome, replay
from .views import SOURCES, TRIED, plan_histories

pytestmark = pytest.mark.slow
REPLAYS = 3  # number of replays per history
UPDATES = (("update", 5), ("read", 1), ("lock", 1))
MIXES = {
    "savepoints": Mix(transactions=1.0, kinds=UPDATES, savepoints=0.6),
    "no autocommit": Mix(transactions=1.0, kinds=UPDATES, off=0.7),
    "consistent snapshots": Mix(transactions=1.0, kinds=UPDATES, snapshots=0.6),
    "time-outs": Mix(transactions=1.0, kinds=UPDATES, impatient=0.5),
    "XA": Mix(transactions=1.0, kinds=UPDATES, xa=0.6),
    "shared locks": Mix(transactions=1.0, kinds=(("update", 4), ("share", 3), ("read", 1)), xa=0.2),
    "KILL": Mix(transactions=1.0, kinds=UPDATES, impatient=0.5, killed=1.0),
    "KILL of what runs": Mix(transactions=1.0, kinds=UPDATES, impatient=0.2, killed=1.0, killed_running=0.1),
}
# Maximum number of stuck replays in 1,000 replays. No source contains the time at which a killed session released its
# locks.
STUCK = {"KILL": 3, "KILL of what runs": 8}
# Maximum number of stuck replays, and of replays with different rows, in 1,000 replays. The times of DDL and LOCK
# TABLES are less certain (docs/order.md: What is a guess).
GUESSED = {
    "tables whole": (Mix(transactions=0.7, kinds=UPDATES, slow_answers=0, whole=1.0), 5, 90),
    "tables whole, late answers": (Mix(transactions=0.7, kinds=UPDATES, whole=1.0), 15, 150),
    "DDL ends": (Mix(transactions=1.0, kinds=UPDATES, ddl_ends=0.3), 15, 400),
}


def outcomes(mix: Mix, source: str, histories: int, folder: Path) -> Iterator[tuple[Outcome, str]]:
    """Yield the outcome of each replay, with its history as text."""
    made = [make_history(seed, mix) for seed in range(histories)]
    for number, (history, plan) in enumerate(zip(made, plan_histories(folder, made, source), strict=True)):
        for seed in range(REPLAYS):
            outcome = replay(history, plan, seed)
            yield outcome, "\n".join((f"history {number}, replay {seed}: {outcome}", *lines(history, plan)))


@pytest.mark.sampled
@pytest.mark.parametrize("histories", mostly_long([20, 1000], 20))
@pytest.mark.parametrize("source", TRIED)
@pytest.mark.parametrize("mix", MIXES)
def test_replays_are_rarely_stuck_and_rows_are_equal(mix: str, source: str, histories: int, tmp_path: Path) -> None:
    """The speed of the target does not matter. After a KILL, a few replays may be stuck, but no row differs."""
    stuck = []
    for outcome, text in outcomes(MIXES[mix], source, histories, tmp_path / "plan"):
        assert outcome.rows == [], text
        if outcome.stuck or outcome.deadlocks:
            stuck.append(text)
    assert len(stuck) * 1000 <= STUCK.get(mix, 0) * histories * REPLAYS, stuck[0]


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mix", GUESSED)
def test_wrong_guesses_of_the_order_stay_below_their_limit(mix: str, source: str, tmp_path: Path) -> None:
    """The simulated histories use DDL and LOCK TABLES on frequently used tables."""
    given, most_stuck, most_differ = GUESSED[mix]
    found = [outcome for outcome, _ in outcomes(given, source, 300, tmp_path / "plan")]
    assert sum(bool(each.stuck or each.deadlocks) for each in found) * 1000 <= most_stuck * len(found)
    assert sum(bool(each.rows) for each in found) * 1000 <= most_differ * len(found)


@pytest.mark.parametrize("source", TRIED)
def test_no_snapshot_is_older_than_the_definition_of_its_tables(source: str, tmp_path: Path) -> None:
    """A first read that waits only for its own tables has error 1412 in 11 of 600 such replays (packets)."""
    mix = Mix(transactions=0.7, kinds=(("update", 3), ("read", 5), ("lock", 1)), slow_answers=0.2, whole=1.0)
    found = outcomes(mix, source, 200, tmp_path / "plan")
    refused = [text for outcome, text in found if any("1412" in answer for answer in outcome.answers)]
    assert len(refused) <= (3 if "whole seconds" in source else 0), refused[0]


@pytest.mark.parametrize(
    ("mix", "kind"),
    [
        ("savepoints", "back"),
        ("no autocommit", "off"),
        ("XA", "xa_prepare"),
        ("shared locks", "share"),
        ("tables whole", "alter"),
    ],
)
def test_most_simulated_histories_contain_each_kind_of_statement(mix: str, kind: str) -> None:
    made = [make_history(seed, MIXES[mix] if mix in MIXES else GUESSED[mix][0]) for seed in range(20)]
    assert sum(any(event.statement.kind == kind for event in history.events) for history in made) > len(made) / 2


@pytest.mark.parametrize("mix", ["time-outs", "KILL", "KILL of what runs"])
def test_some_lock_waits_end_by_a_timeout_or_kill(mix: str) -> None:
    """A killed session sends nothing more."""
    failed = 0
    for seed in range(20):
        events = make_history(seed, MIXES[mix]).events
        for event in (each for each in events if each.failed):
            failed += 1
            after = [each for each in events if each.session == event.session and each.number > event.number]
            assert not after or mix == "time-outs"
    assert failed > 10
