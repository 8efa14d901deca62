# SPDX-License-Identifier: Apache-2.0
"""Tests of the transactions of a tape, and of the event at which an interrupted run continues."""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay.plan.rules import Rules
from querytape.replay.plan.selection import Selection
from querytape.replay.plan.transactions import TAKEN_FOR_VICTIMS, UNKNOWN_WRITES

from tests.helpers.planning import excluded, fed, planned
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import query

pytestmark = pytest.mark.slow

TX = {"class": "transaction"}
OPEN_END = 1 << 62


def transactions(tmp_path: Path, events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return (session, first_seq, last_seq, end_seq, is_selected) of each transaction. Reads of schema `a` are
    selected.
    """
    plan = planned(tmp_path, events, Rules(allow_writes=True, selection=Selection(dbs=("a",))))
    return query(f"SELECT session, first_seq, last_seq, end_seq, is_selected FROM '{plan.transactions}' ORDER BY ALL")


def test_transactions_of_a_tape_are_found(tmp_path: Path) -> None:
    """COMMIT, ROLLBACK or the next BEGIN ends a transaction. A transaction is selected if one of its events is
    selected.
    """
    events: list[dict[str, Any]] = [
        {"statement": "BEGIN", **TX},
        {"statement": "SELECT 1", "db": "a"},
        {"statement": "COMMIT", **TX},
        {"statement": "SELECT 1", "db": "a"},
        {"statement": "start  transaction", **TX},
        {"statement": "ROLLBACK TO x", **TX},
        {"statement": "BEGIN", **TX},
        {"statement": "SELECT 1", "db": "b"},
        {"statement": "ROLLBACK", **TX},
        {"session": 2, "statement": "BEGIN", **TX},
        {"session": 2, "statement": "SELECT 1", "db": "a"},
    ]
    assert transactions(tmp_path, events) == [
        (1, 1, 3, 3, True),
        (1, 5, 6, 7, False),
        (1, 7, 9, 9, False),
        (2, 1, OPEN_END, None, True),
    ]


ANY = {
    "BEGIN": "transaction",
    "COMMIT": "transaction",
    "COMMIT AND CHAIN": "transaction",
    "ROLLBACK": "transaction",
    "SET autocommit = 0": "session",
    "SET autocommit = 1": "session",
    "LOCK TABLES t WRITE": "session",
    "UNLOCK TABLES": "session",
    "CREATE TABLE u (i INT)": "ddl",
    "SELECT 1": "read",
}


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(6))
def test_transactions_never_overlap(seed: int, tmp_path: Path) -> None:
    """The statements come in random order. For example, a BEGIN may end a transaction that has just begun."""
    rng = random.Random(seed)
    texts = rng.choices(list(ANY), weights=[3, 3, 1, 1, 1, 1, 1, 1, 1, 3], k=300)
    found = transactions(tmp_path, [{"statement": text, "class": ANY[text]} for text in texts])
    assert len(found) > 20
    last = 0
    for _, first_seq, last_seq, _, _ in found:
        assert last < first_seq <= last_seq
        last = last_seq


def test_transaction_end_begins_the_next_one_without_autocommit(tmp_path: Path) -> None:
    events = [
        {"statement": "SET autocommit = 0", "class": "session"},
        {"statement": "SELECT 1", "db": "a"},
        {"statement": "COMMIT", **TX},
        {"statement": "SELECT 1", "db": "a"},
    ]
    assert transactions(tmp_path, events) == [(1, 2, 3, 3, True), (1, 4, OPEN_END, None, True)]


def test_run_of_another_tape_is_not_resumed(tmp_path: Path) -> None:
    events = [{"statement": "SELECT 1"}]
    other = make_run(tmp_path / "other.run", make_tape(tmp_path / "other.tape", [*events, *events], parts=2), [{}, {}])
    with pytest.raises(InputError, match="belongs to another tape"):
        planned(tmp_path, events, Rules(selection=Selection(resume=other)))


WRITE = {"class": "write"}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("fault", "behind", "victim"),
    [
        ({}, {"statement": "ROLLBACK", **TX}, True),
        ({"rows_affected": 0}, {"statement": "/* again */ BEGIN", **TX}, True),
        ({}, {"statement": "/* again */ BEGIN", **TX}, False),
        ({"rows_affected": 0}, {"statement": "/* z */ COMMIT AND CHAIN", **TX}, False),
        ({"rows_affected": 0}, {"statement": "ROLLBACK", **TX}, True),
        ({"rows_affected": 1}, {"statement": "ROLLBACK", **TX}, False),
        ({"errno": 0}, {"statement": "ROLLBACK", **TX}, False),
        ({"errno": 1062}, {"statement": "ROLLBACK", **TX}, False),
        ({}, {"statement": "ROLLBACK TO s", **TX}, False),
        ({}, {"statement": "COMMIT", **TX}, False),
        ({}, {"statement": "SELECT 1"}, False),
        ({"errno": 1213}, {"statement": "SELECT 1"}, True),
        ({"errno": 1020}, {"statement": "SELECT 1"}, True),
        ({"errno": 3101}, {"statement": "SELECT 1"}, True),
    ],
)
def test_deadlock_victim_is_sent_as_rollback(
    fault: dict[str, Any], behind: dict[str, Any], victim: bool, tmp_path: Path
) -> None:
    """The deadlock error of a victim rolls back its transaction. In a log without errors, victims are guessed from
    later events.
    """
    events: list[dict[str, Any]] = [
        {"statement": "UPDATE t SET a = 0", **WRITE},
        {"statement": "BEGIN", **TX},
        {"statement": "UPDATE t SET a = 1", "rows_affected": 1, **WRITE},
        {"statement": "UPDATE t SET a = 2", **WRITE, **fault},
        behind,
        {"statement": "UPDATE t SET a = 3", **WRITE},
        {"session": 2, "start_ns": T0, "statement": "BEGIN", **TX},
    ]
    plan = planned(tmp_path, events, Rules(allow_writes=True, commit_order=True))
    sent = [bytes(statement).decode() for session, statement in fed(plan, "session", "statement") if session == 1]
    assert sent[3] == ("ROLLBACK" if victim else "UPDATE t SET a = 2")
    assert [*sent[:3], *sent[4:]] == [event["statement"] for event in events[:-1] if event is not events[3]]
    guessed = victim and "errno" not in fault
    assert [note.split(",")[0] for note in plan.order_notes] == [
        TAKEN_FOR_VICTIMS.format("1 statement").split(",")[0]
    ] * guessed


def test_ddl_that_is_a_deadlock_victim_is_sent_as_commit(tmp_path: Path) -> None:
    """The implicit commit came before the deadlock, so the rows of the transaction stay."""
    events: list[dict[str, Any]] = [
        {"statement": "BEGIN", **TX},
        {"statement": "UPDATE t SET a = 1", **WRITE},
        {"statement": "ALTER TABLE u ADD b INT", "class": "ddl", "errno": 1213},
        {"statement": "UPDATE t SET a = 2", **WRITE},
    ]
    plan = planned(tmp_path, events, Rules(allow_writes=True, commit_order=True))
    sent = [bytes(statement).decode() for (statement,) in fed(plan, "statement")]
    assert sent == ["BEGIN", "UPDATE t SET a = 1", "COMMIT", "UPDATE t SET a = 2"]


def test_deadlock_victim_in_an_xa_transaction(tmp_path: Path) -> None:
    """XA transactions refuse ROLLBACK. XA END permits the client's XA ROLLBACK. A commit is replaced by an XA ROLLBACK."""
    update = {"statement": "UPDATE t SET a = 2", "class": "write"}
    lines: list[tuple[Any, int, str | None]] = [
        ("/* x */ XA START 'one', 'b'", 0, None),
        (update, 1213, "XA END X'6f6e65',X'62',1"),
        ("XA END 'one', 'b'", 1614, None),
        ("XA ROLLBACK 'one', 'b'", 0, None),
        ("XA BEGIN 'two'", 0, None),
        (update, 0, None),
        ("XA END 'two'", 0, None),
        ("XA COMMIT 'two' ONE PHASE", 1402, "XA ROLLBACK X'74776f',X'',1"),
        ("XA START 'three'", 0, None),
        ("XA END 'three'", 1613, None),
        ("XA PREPARE 'three' -- y", 1402, "XA ROLLBACK X'7468726565',X'',1"),
        ("XA START 'four'", 1440, None),
        (update, 1213, "ROLLBACK"),
        ("XA START b'1100111'", 0, None),
        (update, 1213, "XA END X'67',X'',1"),
        ("XA ROLLBACK b'1100111'", 0, None),
        ("XA START 'five'; SELECT 1", 0, None),
        (update, 1213, "ROLLBACK"),
        ("XA ROLLBACK 'five'", 0, None),
        ("BEGIN", 0, None),
        (update, 1213, "ROLLBACK"),
    ]
    events = [
        {**(what if isinstance(what, dict) else {"statement": what, **TX}), "errno": errno} for what, errno, _ in lines
    ]
    want = [sent or event["statement"] for event, (_, _, sent) in zip(events, lines, strict=True)]
    plan = planned(tmp_path, events, Rules(allow_writes=True, commit_order=True))
    assert [bytes(row[0]).decode() for row in fed(plan, "statement")] == want


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("behind", "victim"),
    [
        (("XA ROLLBACK 'x'",), True),
        (("XA END 'x'", "XA ROLLBACK 'x'"), True),
        (("XA END 'x'", "XA COMMIT 'x' ONE PHASE"), False),
        (("XA END 'x'", "XA PREPARE 'x'", "XA ROLLBACK 'x'"), False),
    ],
)
def test_guessed_victim_in_an_xa_transaction(behind: tuple[str, ...], victim: bool, tmp_path: Path) -> None:
    """The log has no errors. The client may send XA END before XA ROLLBACK, but each event is sent only once."""
    update = {"statement": "UPDATE t SET a = 2", "class": "write"}
    events = [
        {"statement": "XA START 'x'", **TX},
        update,
        *({"statement": text, **TX} for text in behind),
        {"session": 2, "start_ns": T0, "statement": "BEGIN", **TX},
    ]
    plan = planned(tmp_path, events, Rules(allow_writes=True, commit_order=True), source="general")
    sent = [bytes(statement).decode() for session, statement in fed(plan, "session", "statement") if session == 1]
    assert sent == ["XA START 'x'", "XA END X'78',X'',1" if victim else update["statement"], *behind]


def test_locking_read_without_rows_may_be_a_victim(tmp_path: Path) -> None:
    """A plain read takes no locks, so it is no victim. A locking read that returned rows was no victim either."""
    for text, rows, victim in (
        ("SELECT a FROM t FOR UPDATE", 0, True),
        ("SELECT a FROM t FOR UPDATE", 1, False),
        ("SELECT a FROM t", 0, False),
    ):
        folder = tmp_path / f"{len(text)}-{rows}"
        folder.mkdir()
        events = [
            {"statement": "BEGIN", **TX},
            {"statement": text, "rows_sent": rows},
            {"statement": "ROLLBACK", **TX},
            {"session": 2, "start_ns": T0, "statement": "BEGIN", **TX},
        ]
        plan = planned(folder, events, Rules(allow_writes=True, commit_order=True))
        sent = [bytes(statement).decode() for session, statement in fed(plan, "session", "statement") if session == 1]
        assert sent[1] == ("ROLLBACK" if victim else text)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("other", "victim"),
    [
        ([], False),
        ([(0, 5, "UPDATE u SET a = 1"), (40, 45, "UPDATE u SET a = 1")], False),
        ([(0, 20, "UPDATE u SET a = 1")], True),
        ([(25, 27, "UPDATE u SET a = 1")], True),
        ([(5, 50, "SELECT 1")], False),
        ([(0, 1, "BEGIN"), (2, 3, "UPDATE u SET a = 1"), (40, 41, "COMMIT")], True),
        ([(0, 1, "BEGIN"), (2, 3, "UPDATE u SET a = 1"), (4, 5, "COMMIT"), (40, 41, "BEGIN")], False),
        ([(0, 1, "BEGIN")], True),
        ([(0, 1, "BEGIN"), (8, 8, "quit")], False),
        ([(0, 1, "UPDATE v SET a = 1"), (8, 8, "quit")], False),
    ],
)
@pytest.mark.parametrize("source", ["slowlog", "general"])
def test_deadlock_needs_two_sessions_with_overlapping_writes(
    source: str, other: list[tuple[int, int, str]], victim: bool, tmp_path: Path
) -> None:
    """If the writes of a session overlap with no other session, its rollback was deliberate."""

    def event(session: int, begin: int, end: int, text: str) -> dict[str, Any]:
        kind = {"UPDATE": "write", "SELECT": "read"}.get(text.split()[0], "transaction")
        one = {"session": session, "start_ns": T0 + begin * MS, "statement": text, "class": kind}
        if text == "quit":
            one |= {"statement": None, "class": None, "command": "quit"}
        return one | {"duration_ns": (end - begin) * MS if source == "slowlog" else None}

    mine = [
        (2, 3, "UPDATE t SET a = 0"),
        (10, 11, "BEGIN"),
        (19, 30, "UPDATE t SET a = 1"),
        (30, 31, "ROLLBACK"),
        (32, 33, "BEGIN"),
        (34, 35, "UPDATE t SET a = 2"),
        (36, 37, "COMMIT"),
    ]
    # If only arrivals are known, the next arrival in a session shows that the previous statement had ended.
    asked = [(at, at, "SELECT 1") for _, at, text in other if text == "UPDATE u SET a = 1"]
    events = [*(event(1, *one) for one in mine), *(event(2, *one) for one in sorted([*other, *asked]))]
    plan = planned(tmp_path, events, Rules(allow_writes=True, commit_order=True), source=source)
    sent = [bytes(statement).decode() for session, statement in fed(plan, "session", "statement") if session == 1]
    assert sent[2] == ("ROLLBACK" if victim else "UPDATE t SET a = 1")


@pytest.mark.parametrize(
    ("change", "left_out", "unknown"),
    [
        ({}, [3], 0),
        ({"statement": "SELECT n FROM t FOR UPDATE", "class": "read"}, [3], 0),
        ({"statement": "SELECT n FROM t", "class": "read"}, [], 0),  # the statement takes no locks
        ({"errno": 0}, [], 0),  # the statement has an answer
        ({"duration_ns": MS}, [], 0),
        ({"begins": "SET @a = 1"}, [], 1),  # the statement may have committed by itself
        ({"begins": "LOCK TABLES t WRITE"}, [], 1),
        ({"source": "general"}, [], 0),  # no event has an answer
        ({"next": ("UPDATE t SET n = 4",)}, [3, 4], 0),  # the client does not wait for answers
        ({"next": ("COMMIT",)}, [], 2),
        ({"next": ("COMMIT",), "answered": True}, [], 0),  # the session continued, so only the answer is lost
        ({"ends": "quit"}, [3], 0),  # this end is on the tape
        ({"ends": "reset_connection"}, [3], 0),
        ({"ordered": False}, [], 0),
    ],
)
def test_writes_of_an_ended_session_are_left_out(
    change: dict[str, Any], left_out: list[int], unknown: int, tmp_path: Path
) -> None:
    """With `--order commit`, the end of a session rolls back its open transaction. Other unanswered writes are sent,
    and a note contains their number.
    """
    begins, behind, ends = change.pop("begins", "BEGIN"), change.pop("next", ()), change.pop("ends", None)
    source, ordered, is_answered = (
        change.pop("source", "packets"),
        change.pop("ordered", True),
        change.pop("answered", False),
    )
    answer = {} if source == "general" else {"errno": 0, "duration_ns": MS}
    silent = {"errno": None, "duration_ns": None}
    kinds = {"BEGIN": "transaction", "COMMIT": "transaction", "LOCK TABLES t WRITE": "admin", "SET @a = 1": "session"}
    events: list[dict[str, Any]] = [
        *({"statement": text, "class": kinds.get(text, "write"), **answer} for text in (begins, "UPDATE t SET n = 2")),
        {"statement": "UPDATE t SET n = 1", "class": "write", **silent, **change},
        *(
            {"statement": text, "class": kinds.get(text, "write"), **(answer if is_answered else silent)}
            for text in behind
        ),
        *([{"command": ends, "statement": None, "class": None}] if ends else []),
        {"session": 2, "statement": "UPDATE t SET n = 3", "class": "write", **answer},
    ]
    rules = Rules(allow_writes=True, allowed=frozenset({"lock_tables"}), commit_order=ordered)
    plan = planned(tmp_path, events, rules, source=source)
    assert excluded(tmp_path) == [(1, seq, "skipped", "no_answer") for seq in left_out]
    assert [note for note in plan.order_notes if "without an answer" in note] == [UNKNOWN_WRITES.format(unknown)] * (
        unknown > 0
    )
