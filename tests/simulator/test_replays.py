# SPDX-License-Identifier: Apache-2.0
"""Tests of the rules of docs/order.md on random histories. No session is stuck and the data are equal.

A failure shows the smallest failing history.
"""

import pytest

from tests.helpers.tiers import mostly_long

from .history import History, Mix, make_history
from .reference import Reference
from .server import Server
from .show import smallest
from .target import Outcome, Planned, replay
from .views import SOURCES, TRIED

pytestmark = pytest.mark.slow

OVERLAP_NS = 1_000_000_000
REPLAYS = 3  # number of replays per history
UPDATES = (("update", 5), ("read", 1), ("lock", 1))
TRANSACTIONS = Mix(transactions=1.0)
MIXES = {
    "transactions that update": Mix(transactions=1.0, kinds=UPDATES),
    "transactions": TRANSACTIONS,
    "writes of their own": Mix(transactions=0.0),
    "prompt": Mix(transactions=1.0, slow_answers=0),
    "both": Mix(),
    "user-level locks": Mix(transactions=1.0, kinds=UPDATES, user_locks=0.6),
    "isolated": Mix(transactions=1.0, kinds=(("update", 3), ("read", 3), ("lock", 1)), isolated=True),
}
# Maximum number of stuck replays, and of replays with different rows, in 1,000 replays. The table is in docs/order.md.
TOLERATED = {
    "transactions that update": dict.fromkeys(SOURCES, (0, 0)),
    "transactions": {**dict.fromkeys(SOURCES, (12, 0)), "general log": (15, 0)},
    "prompt": {**dict.fromkeys(SOURCES, (2, 0)), "general log": (8, 0)},
    "writes of their own": {**dict.fromkeys(SOURCES, (0, 400)), "general log": (0, 50)},
    "user-level locks": dict.fromkeys(SOURCES, (0, 0)),
    "isolated": dict.fromkeys(SOURCES, (0, 0)),
    "both": dict.fromkeys(SOURCES, (25, 60)),
}
SLACK = 20  # additional tolerance in 1,000 for short runs


def outcomes(history: History, source: str) -> list[Outcome]:
    """Replay one history several times with different speeds of the sessions."""
    plan = Reference(history, source, OVERLAP_NS).plan()
    return [replay(history, plan, seed) for seed in range(REPLAYS)]


@pytest.mark.sampled
@pytest.mark.parametrize("histories", mostly_long([60, 3000], 60))
@pytest.mark.parametrize("source", TRIED)
@pytest.mark.parametrize("mix", MIXES)
def test_number_of_stuck_and_different_replays_is_limited(mix: str, source: str, histories: int) -> None:
    """If the histories contain only transactions, no row ever differs. If times are unclear, the order must be guessed.
    Each kind of guess has a limit.
    """
    found = [each for seed in range(histories) for each in outcomes(make_history(seed, MIXES[mix]), source)]
    few = SLACK if histories < 1000 else 0
    for is_bad, most in zip((is_stuck, differs), TOLERATED[mix][source], strict=True):
        bad = sum(is_bad(each) for each in found)
        if bad * 1000 > (most and most + few) * len(found):
            pytest.fail(f"{bad} of {len(found)}: {smallest(MIXES[mix], source, OVERLAP_NS, is_bad)}")


def is_stuck(outcome: Outcome) -> bool:
    """Return whether a session waits forever."""
    return bool(outcome.stuck or outcome.deadlocks)


def differs(outcome: Outcome) -> bool:
    """Return whether a row differs or a transaction had an error."""
    return bool(outcome.rows) or any("error" in answer for answer in outcome.answers)


def test_replay_without_an_order_gives_different_rows() -> None:
    found = []
    for seed in range(40):
        history = make_history(seed, TRANSACTIONS)
        found.append(replay(history, [Planned({}, ())] * len(history.events), seed))
    assert sum(not each.good for each in found) > len(found) // 2


def test_simulated_history_is_possible_on_a_real_server() -> None:
    """Events of a session do not overlap. Locks are granted between arrival and answer. Some deadlocks have victims."""
    victims = 0
    for seed in range(40):
        history = make_history(seed, TRANSACTIONS)
        assert history.events == make_history(seed, TRANSACTIONS).events
        last: dict[int, int] = {}
        for event in history.events:
            assert last.get(event.session, 0) <= event.sent <= event.arrived <= event.answered
            if event.granted:
                assert event.arrived <= event.granted <= event.answered
            last[event.session] = event.answered
            victims += event.victim
    assert victims


def test_one_session_equals_sequential_execution() -> None:
    for seed in range(20):
        history = make_history(seed, Mix(), sessions=1)
        server = Server(dict(history.before), history.beyond)
        for event in history.events:
            kind = event.statement.kind
            if kind == "commit":
                server.commit(event.transaction)
            elif kind == "rollback":
                server.rollback(event.transaction)
            elif kind != "begin":
                assert server.attempt(event.transaction, event.statement, event.number) == event.answer
                if not event.inside:
                    server.commit(event.transaction)
        assert server.committed == history.after
