# SPDX-License-Identifier: Apache-2.0
"""Golden test of the commit order of busy tapes: the waits and commit numbers of each event.

Many events begin, end or arrive at the same time. Some statements take exactly as long as the lock wait limit, or
longer. QT_GOLDEN=write rewrites golden_order.json. Review the changes before you commit the file.
"""

import hashlib
import random
import re
from pathlib import Path
from typing import Any

import pytest
from querytape.common.groups import join_pairs
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.commit_order import OVERLAP_NS
from querytape.replay.plan.rules import Rules

from tests.helpers.golden import check_one
from tests.helpers.planning import fed, planned
from tests.helpers.tapes import MS, SECOND, T0, flag_bits
from tests.simulator.target import Planned, settle
from tests.simulator.views import APART, read_planned

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden_order.json"
CATALOG = Catalog(frozenset({"v", "p"}), join_pairs([("a", "parent")]))
ALONE = [
    ("write", "update {} set x = 1"), ("write", "insert into {} values (1)"), ("read", "select * from {}"), ("read", "select 1"),
    ("write", "replace into {} values (1)"), ("write", "insert into b select * from {}"), ("write", "delete from parent"),
    ("read", "select x from {} for update"),
]  # fmt: skip
RARE = [
    ("write", "call p()"),
    ("read", "select * from v"),
    ("ddl", "create table {}2 (i int)"),
    ("session", "set names utf8"),
    ("write", "update {} set x = 2 where nobody knows"),
    ("session", "lock tables {} read"),
    ("admin", "flush tables"),
    ("transaction", "start transaction with consistent snapshot"),
    ("write", "load data infile 'f' into table {}"),
]
ENDING = [*RARE, *(("ddl", "alter table {} add j int"), ("write", "call p()")) * 5]  # fmt: skip
CASES = [
    ("packets", 1000, True), ("packets", 0, True), ("slowlog", SECOND, True), ("slowlog", SECOND - 1, True), ("general", 1000, False),
    ("general", SECOND, False), ("audit", SECOND, False), ("general+packets", 1000, True),
]  # fmt: skip
SEEDS = 6
NAMES = re.compile(r"\b(a2?|b2?|parent|v|p)\b")


def one(session: int, start_ns: int, end_ns: int, kind: str, sql: str) -> dict[str, Any]:
    """Return an event. An unknown statement has no digest, and a FLUSH is not sent."""
    return {
        "session": session,
        "start_ns": T0 + start_ns,
        "duration_ns": end_ns - start_ns,
        "statement": sql,
        "class": kind,
        "digest": None if "nobody" in sql else hashlib.sha256(sql.encode()).hexdigest()[:16],
        "errno": 0,
        "flags": flag_bits(danger="flush" if "flush" in sql else "none"),
    }


def busy(seed: int, durations: bool, rare: float) -> list[dict[str, Any]]:
    """Return events of six sessions. A transaction ends by COMMIT, ROLLBACK, DDL, a deadlock, or not at all."""
    rng = random.Random(seed)
    events: list[dict[str, Any]] = []
    clock, open_tx = dict.fromkeys(range(1, 7), 0), dict.fromkeys(range(1, 7), False)
    for _ in range(150):
        session = min(clock, key=lambda s: (clock[s] + rng.randint(0, 3) * MS, s))
        kind, sql = rng.choice((ENDING if rare > 0.2 else RARE) if rng.random() < rare else ALONE)
        if open_tx[session] and rng.random() < 0.35:
            kind, sql = "transaction", rng.choice(["commit", "commit", "rollback"])
        elif not open_tx[session] and rng.random() < 0.3:
            kind, sql = "transaction", "begin"
        start = clock[session] + rng.randint(0, 3) * MS
        took = rng.randint(0, 5) * MS
        if rng.random() < 0.06:
            took = OVERLAP_NS + rng.choice([0, MS])
            clock = {other: max(at, start + took - rng.randint(0, 8) * MS) for other, at in clock.items()}
        clock[session] = start + (took if durations else 0)
        found = one(session, start, clock[session], kind, sql.format(rng.choice(["a", "b"])))
        if open_tx[session] and kind == "write" and rng.random() < 0.1:
            found["errno"] = 1213
        open_tx[session] = sql.startswith(("begin", "start")) or (
            open_tx[session] and kind not in ("ddl", "transaction") and not found["errno"]
        )
        events.append(found if durations else {**found, "duration_ns": None, "errno": None})
    return events


@pytest.mark.parametrize(
    ("source", "precision_ns", "durations", "rare"),
    [(*CASES[at], 0.15) for at in (0, 2, 3, 4, 6)] + [(*CASES[at], 0.4) for at in (0, 2, 4)],
)
def test_commit_order_matches_the_golden_file(
    tmp_path: Path, source: str, precision_ns: int, durations: bool, rare: float
) -> None:
    """The test covers all kinds of logs, with few and with many statements whose tables are unknown."""
    seed = CASES.index((source, precision_ns, durations)) * 10 + int(rare * 20)
    events = busy(seed, durations, rare)
    places, rows = ordered(tmp_path, events, source, precision_ns)
    check_one(GOLDEN, f"{source} {precision_ns} {rare}", [places, *event_lines(events, rows)])


def ordered(
    folder: Path, events: list[dict[str, Any]], source: str, precision_ns: int, catalog: Catalog = CATALOG
) -> tuple[str, dict[tuple[int, int], str]]:
    """Return the number of places and the notes of the plan, and the waits of each (session, seq)."""
    folder.mkdir(exist_ok=True)
    plan = planned(
        folder, events, Rules(allow_writes=True, commit_order=True), parts=2, max_rows=40,
        catalog=catalog, precision_ns=precision_ns, source=source,
    )  # fmt: skip
    rows = {(session, seq): text for session, seq, text in fed(plan, "session", "seq", "waits")}
    return f"{plan.order_tables} places; {plan.order_notes}", rows


def event_lines(events: list[dict[str, Any]], rows: dict[tuple[int, int], str]) -> list[str]:
    """Return one line for each event: its session, times, text and waits."""
    places: dict[int, int] = {}
    found = []
    for given in events:
        seq = places[given["session"]] = places.get(given["session"], 0) + 1
        at = (given["start_ns"] - T0) // MS
        end = "" if given["duration_ns"] is None else f"-{at + given['duration_ns'] // MS}"
        text = rows.get((given["session"], seq), "not sent")
        found.append(f"{given['session']} {at}{end} {given['statement']}{' !' if given['errno'] else ''}: {text or ''}")
    return found


def coarse(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events with times rounded down to 4 ms, so that many are equal."""
    found = []
    for event in events:
        start, end = event["start_ns"] - T0, event["start_ns"] - T0 + (event["duration_ns"] or 0)
        start, end = (at // (4 * MS) * 4 * MS for at in (start, end))
        took = None if event["duration_ns"] is None else end - start
        found.append({**event, "start_ns": T0 + start, "duration_ns": took})
    return found


@pytest.mark.sampled
@pytest.mark.parametrize(("source", "precision_ns", "durations"), CASES)
def test_all_events_can_be_completed(tmp_path: Path, source: str, precision_ns: int, durations: bool) -> None:
    """The tapes have statements with unknown tables, DDL in transactions, table locks and equal times."""
    events: list[dict[str, Any]] = []
    for seed in range(SEEDS):
        history = busy(1000 + seed, durations, rare=0.5 if seed % 2 else 0.15)
        events += later(coarse(history) if seed < SEEDS // 2 else history, events, seed)
    catalog = Catalog(
        frozenset(f"h{seed}_{name}" for seed in range(SEEDS) for name in "vp"),
        join_pairs([(f"h{seed}_a", f"h{seed}_parent") for seed in range(SEEDS)]),
    )
    _, rows = ordered(tmp_path, events, source, precision_ns, catalog)
    sessions: dict[int, list[Planned]] = {}
    for (session, _), text in sorted(rows.items()):
        planned = read_planned(text)
        sessions.setdefault(session, []).extend([planned.commit, planned] if planned.commit else [planned])
    left = unfinished(sessions)
    assert {session // APART for session in sessions} == set(range(SEEDS))
    assert left == {}, f"seeds {sorted({session // APART for session in left})}"


def later(history: list[dict[str, Any]], before: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return a history that begins after all other histories on its tape. It has its own sessions and tables."""
    ends = [event["start_ns"] - T0 + (event["duration_ns"] or 0) for event in before]
    begin = (max(ends, default=-SECOND) // SECOND + 1) * SECOND
    found = []
    for event in history:
        sql = NAMES.sub(rf"h{seed}_\1", event["statement"])
        digest = event["digest"] and hashlib.sha256(sql.encode()).hexdigest()[:16]
        moved = {"session": seed * APART + event["session"], "start_ns": begin + event["start_ns"]}
        found.append({**event, **moved, "statement": sql, "digest": digest})
    return found


def unfinished(sessions: dict[int, list[Planned]]) -> dict[int, Planned]:
    """Complete all possible events. Return the first remaining event of each session."""
    settled: dict[int, set[int]] = {}
    prefix: dict[int, int] = {}
    moved = True
    while moved:
        moved = False
        for left in sessions.values():
            while left and all(prefix.get(place, 0) >= number for place, number in left[0].waits.items()):
                for place, number in left.pop(0).marks:
                    settle(settled, prefix, place, number)
                moved = True
    return {session: left[0] for session, left in sessions.items() if left}
