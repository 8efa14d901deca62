# SPDX-License-Identifier: Apache-2.0
"""In which order commits are numbered, against a stupid search through all statements."""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.replay.plan.test_commit_order import event, waits

pytestmark = pytest.mark.slow

SESSIONS = range(1, 7)


def busy(seed: int) -> list[dict[str, Any]]:
    """Return events of sessions that write alone and in transactions; no two times are equal."""
    rng = random.Random(seed)
    events, clock, left = [], dict.fromkeys(SESSIONS, 0), dict.fromkeys(SESSIONS, 0)
    for _ in range(160):
        session = rng.choice(SESSIONS)
        start = clock[session] + rng.randint(1, 3)
        clock[session] = start + rng.choice([1, 2, 5, 12])
        if left[session]:
            left[session] -= 1
            texts = ["commit"] if left[session] == 0 else ["update {} set x = 1", "insert into {} values (1)"] * 2
            texts += ["select * from {}"] * (left[session] > 0)
        elif rng.random() < 0.3:
            left[session], texts = rng.randint(2, 4), ["begin"]
        else:
            texts = ["update {} set x = 1", "insert into {} values (1)", "select * from {}"]
        sql = rng.choice(texts).format(rng.choice("aab"))
        events.append(event(session, 10 * start + session, 10 * clock[session] + session, sql))
    for session in SESSIONS:
        if left[session]:
            at = 10 * (clock[session] + 1) + session
            events.append(event(session, at, at + 10, "commit"))
    return events


def moments(events: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Return the places in the list of each table's commits, in the order of their moments."""
    tx: dict[int, list[tuple[str, int]]] = {}
    held: dict[str, list[tuple[int, int]]] = defaultdict(list)  # (end of the statement, its COMMIT's start)
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    alone = []
    for place, e in enumerate(events):
        end = e["start_ns"] + e["duration_ns"]
        if e["statement"] == "begin":
            tx[e["session"]] = []
        elif e["statement"] == "commit":
            written = tx.pop(e["session"])
            for table, until in written:
                held[table].append((until, e["start_ns"]))
            for table in {table for table, _ in written}:
                found[table].append((e["start_ns"], place))
        elif e["class"] == "write":
            table = next(word for word in e["statement"].split() if word in "ab")
            if e["session"] in tx:
                tx[e["session"]].append((table, end))
            else:
                alone.append((table, e["start_ns"], end, place))
    for table, start, end, place in alone:
        ended = max((moment for _, moment in held[table] if moment <= end), default=0)
        until, moment = min((h for h in held[table] if h[0] > max(start, ended)), default=(0, 0))
        found[table].append((until - 1 if until < end < moment else end, place))
    return {
        table: [place for _, _, place in sorted((moment, events[place]["session"], place) for moment, place in commits)]
        for table, commits in found.items()
    }


@pytest.mark.parametrize("seed", range(6))
def test_commits_are_numbered_by_their_moment(tmp_path: Path, seed: int) -> None:
    """Of writes of their own and of transactions, whatever overlaps: a search through all pairs finds the same."""
    events = busy(seed)
    numbered: dict[str, dict[int, int]] = defaultdict(dict)
    for place, text in enumerate(waits(tmp_path, events, source="packets")):
        for pair in (text or "").partition(";")[2].split():
            at, number = map(int, pair.split(":"))
            if at % 3 == 0:
                numbered[str(at)][int(number)] = place
    found = sorted([by_number[n] for n in sorted(by_number)] for by_number in numbered.values())
    assert found == sorted(moments(events).values())
    assert all(sorted(by_number) == list(range(1, len(by_number) + 1)) for by_number in numbered.values())


def test_what_ends_a_transaction_and_writes_nothing(tmp_path: Path) -> None:
    """It is no commit on the tables that it names; DDL is one."""
    texts = ["analyze table a", "lock tables a read", "create table a (i int)", "select * from a"]
    found = waits(tmp_path, [event(n, 10 * n, 10 * n + 1, text) for n, text in enumerate(texts, 1)])
    assert [str(text or "").partition(";")[2] for text in found] == ["", "", "6:1", ""]
    assert found[3] == "6:1"
