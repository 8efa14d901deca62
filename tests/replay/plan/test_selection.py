# SPDX-License-Identifier: Apache-2.0
"""Tests of the selection of a replay: sessions, time ranges and events. Transactions stay whole."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay.plan.rules import Rules
from querytape.replay.plan.selection import Selection

from tests.helpers.planning import excluded, fed, planned
from tests.helpers.tapes import MS, SECOND, T0

pytestmark = pytest.mark.slow

READ, TX = {"class": "read"}, {"class": "transaction"}


def kept(tmp_path: Path, events: Any, selection: Selection) -> list[tuple[int, int]]:
    """Return (session, seq) of the sent events. Fail if any other event is not filtered exactly once."""
    plan = planned(tmp_path, events, Rules(allow_writes=True, selection=selection))
    sent = [(int(session), int(seq)) for session, seq in fed(plan, "session", "seq")]
    left = excluded(tmp_path)
    assert len(sent) + len(left) == len(events) == plan.events
    assert all(status == "filtered" and reason.startswith("filter:") for _, _, status, reason in left)
    return sorted(sent)


def test_sessions_are_selected_completely(tmp_path: Path) -> None:
    events = [{"session": n, "statement": "SELECT 1", "user": "app" if n % 2 else "batch"} for n in range(1, 7)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert kept(tmp_path / "a", events, Selection(users=("app",))) == [(1, 1), (3, 1), (5, 1)]
    assert kept(tmp_path / "b", events, Selection(users=("app",), sessions=(2, 5))) == [(5, 1)]


def test_samples_are_stable(tmp_path: Path) -> None:
    """A larger sample includes a smaller one. A larger number of first sessions includes a smaller number."""
    events = [{"session": n, "statement": "SELECT 1"} for n in range(1, 401)]
    found = []
    for name, choice in (
        ("a", Selection(sample=Fraction(1, 10))),
        ("b", Selection(sample=Fraction(1, 2))),
        ("c", Selection(max_sessions=7)),
        ("d", Selection(max_sessions=30)),
    ):
        (tmp_path / name).mkdir()
        found.append({session for session, _ in kept(tmp_path / name, events, choice)})
    assert found[0] < found[1]
    assert found[2] < found[3]
    assert (len(found[2]), len(found[3])) == (7, 30)
    assert 20 <= len(found[0]) <= 65
    (tmp_path / "again").mkdir()
    again = kept(tmp_path / "again", events, Selection(sample=Fraction(1, 10)))
    assert {session for session, _ in again} == found[0]


def test_transactions_are_selected_completely(tmp_path: Path) -> None:
    """Events with the selected digest are sent with their whole transactions and the session state."""
    d1, d2 = "1" * 16, "2" * 16
    events = [
        {"statement": "SET NAMES latin1", "class": "session"},  # event 1, session state: kept
        {"statement": "SELECT 1", "digest": d1},  # event 2
        {"statement": "SELECT 2", "digest": d2},  # event 3, outside a transaction: excluded
        {"statement": "BEGIN", **TX},  # event 4
        {"statement": "INSERT", "class": "write", "digest": d2},  # event 5
        {"statement": "SELECT 1", "digest": d1},  # event 6
        {"statement": "commit ", **TX},  # event 7
        {"statement": "start  transaction", **TX},  # event 8, transaction without the digest: excluded
        {"statement": "SELECT 2", "digest": d2},  # event 9
        {"statement": "ROLLBACK", **TX},  # event 10
        {"statement": "set autocommit=0", "class": "session"},  # event 11
        {"statement": "SELECT 2", "digest": d2},  # event 12, in a transaction without BEGIN
        {"statement": "ROLLBACK TO SAVEPOINT x", **TX},  # event 13
        {"statement": "SELECT 1", "digest": d1},  # event 14
        {"statement": "COMMIT", **TX},  # event 15
        {"statement": "SELECT 2", "digest": d2},  # event 16, the next transaction
        {"statement": "COMMIT", **TX},  # event 17
        {"command": "quit"},  # event 18
    ]
    assert [seq for _, seq in kept(tmp_path, events, Selection(digests=(d1,)))] == [
        1,
        2,
        4,
        5,
        6,
        7,
        11,
        12,
        13,
        14,
        15,
        18,
    ]


def test_events_are_selected_by_class_and_schema(tmp_path: Path) -> None:
    """A COMMIT outside a transaction stays if schemas are selected, but not if classes are selected."""
    events = [
        {"statement": "SELECT 1", "db": "shop"},
        {"statement": "SELECT 1", "db": "other"},
        {"statement": "UPDATE t", "class": "write", "db": "shop"},
        {"statement": "COMMIT", **TX},
    ]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert kept(tmp_path / "a", events, Selection(classes=("write",))) == [(1, 3)]
    assert kept(tmp_path / "b", events, Selection(dbs=("shop",))) == [(1, 1), (1, 3), (1, 4)]


def test_time_range_selects_transactions_that_begin_inside(tmp_path: Path) -> None:
    """Sessions that continue in the range also send their earlier prepared statements and session state."""
    events = [
        {"session": 1, "command": "prepare", "statement": "SELECT ?", "stmt": 1, "start_ns": T0},
        {"session": 1, "statement": "SET x=1", "class": "session", "start_ns": T0 + SECOND},
        {"session": 1, "statement": "SELECT 1", "start_ns": T0 + 2 * SECOND},
        {
            "session": 1,
            "command": "execute",
            "statement": "SELECT ?",
            "stmt": 1,
            "params": b"E",
            "start_ns": T0 + 12 * SECOND,
        },
        {"session": 2, "statement": "SET y=1", "class": "session", "start_ns": T0},  # the session ends before the range
        {"session": 3, "statement": "BEGIN", **TX, "start_ns": T0 + 9 * SECOND},
        {"session": 3, "statement": "SELECT 1", "start_ns": T0 + 11 * SECOND},  # its transaction began before the range
        {"session": 3, "statement": "COMMIT", **TX, "start_ns": T0 + 13 * SECOND},
        {"session": 4, "statement": "BEGIN", **TX, "start_ns": T0 + 19 * SECOND},
        {"session": 4, "statement": "COMMIT", **TX, "start_ns": T0 + 21 * SECOND},  # its BEGIN is in the range
        {"session": 4, "statement": "SELECT 1", "start_ns": T0 + 22 * SECOND},
    ]
    choice = Selection(from_ns=T0 + 10 * SECOND, to_ns=T0 + 20 * SECOND)
    assert kept(tmp_path, events, choice) == [(1, 1), (1, 2), (1, 4), (4, 1), (4, 2)]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("from_ns", "to_ns", "wanted"),
    [
        (T0 + 2 * MS, T0 + 5 * MS, [(1, 2), (1, 3), (2, 2), (2, 3)]),
        (T0 + 2 * MS + 1, T0 + 5 * MS + 1, [(1, 3), (1, 4)]),
        (None, T0 + 2 * MS, [(1, 1), (2, 1)]),
        (T0 + 8 * MS, None, [(1, 5)]),
        (T0 + 8 * MS - 1, T0 + 8 * MS + 1, [(1, 5)]),
    ],
)
def test_time_range_includes_its_start_but_not_its_end(
    tmp_path: Path, from_ns: int | None, to_ns: int | None, wanted: list[tuple[int, int]]
) -> None:
    """A transaction is in the range if its BEGIN is in the range."""
    events = [{"session": 1, "statement": "SELECT 1", "start_ns": T0 + n * 2 * MS + (n > 2) * -MS} for n in range(4)]
    events += [{"session": 1, "statement": "SELECT 1", "start_ns": T0 + 8 * MS}]
    texts = ("SELECT 2", "BEGIN", "COMMIT")
    events += [
        {"session": 2, "statement": text, "start_ns": T0 + at * MS, **(TX if n else READ)}
        for n, (text, at) in enumerate(zip(texts, (1, 2, 6), strict=True))
    ]
    assert kept(tmp_path, events, Selection(from_ns=from_ns, to_ns=to_ns)) == wanted


def test_first_event_of_a_time_range_is_due_at_zero(tmp_path: Path) -> None:
    """Events before the range are due immediately."""
    events = [
        {"statement": "SET x=1", "class": "session", "start_ns": T0},
        {"statement": "SELECT 1", "start_ns": T0 + 10 * SECOND},
        {"statement": "SELECT 1", "start_ns": T0 + 10 * SECOND + MS},
    ]
    plan = planned(tmp_path, events, Rules(selection=Selection(from_ns=T0 + 5 * SECOND)))
    assert fed(plan, "seq", "due_ns") == [(1, 0), (2, 0), (3, MS)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"classes": ("wrote",)}, "--class: expected one of"),
        ({"digests": ("12",)}, "--digest: expected 16"),
        ({"from_ns": 5, "to_ns": 5}, "--to: expected a time after"),
    ],
)
def test_invalid_selection_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Selection(**given)
