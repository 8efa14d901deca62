# SPDX-License-Identifier: Apache-2.0
"""The workload analysis of small tapes. Each list is tested with statements that clearly cause its entries."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import summarise_tape
from querytape.analyze.database import WORKLOAD
from querytape.analyze.tape_rows import Workload
from querytape.native.bindings.statements import Mode, Normalizer
from querytape.schemas import CLASSES

from tests.helpers.tapes import MS, make_tape

pytestmark = pytest.mark.slow


def event(session: int, statement: str, **more: Any) -> dict[str, Any]:
    """Return an event of 1 ms with the digest and class that a capture would assign."""
    found = Normalizer().normalize(statement.encode())
    return {
        "session": session,
        "statement": statement,
        "digest": found.digest,
        "class": CLASSES[found.class_],
        "duration_ns": MS,
        "user": "app",
        "db": "shop",
        "errno": 0,
        **more,
    }


def workload(path: Path, events: Sequence[dict[str, Any]]) -> Workload:
    return summarise_tape(make_tape(path / "w.tape", events)).workload


def digest(statement: str) -> str:
    return Normalizer().normalize(statement.encode()).digest


@pytest.mark.parametrize(
    ("reading", "text", "table", "column", "value"),
    [
        (2, 'UPDATE "Stock" SET "Qty" = 1 WHERE "Id" = 5', "stock", "id", "5"),
        (1, r"UPDATE stock SET qty = 1 WHERE id = '\' AND 'a' = 'a'", "stock", "id", r"'\'"),
        (0, r"""UPDATE stock SET qty = "x" WHERE id = 'it\'s'""", "stock", "id", r"'it\'s'"),
    ],
)
def test_analysis_follows_the_sql_mode_of_a_session(
    reading: int, text: str, table: str, column: str, value: str, tmp_path: Path
) -> None:
    """ANSI_QUOTES and NO_BACKSLASH_ESCAPES change tables, columns and hot rows in the same way as on the server."""
    known = Normalizer().normalize(text.encode(), Mode(reading, 0, 7)).digest
    found = workload(tmp_path, [event(1, text, digest=known) for _ in range(3)])
    assert [row["what"] for row in found["parsed"]] == ["parsed"]
    assert [(row["table_name"], row["columns"], row["value"], row["events"]) for row in found["hot_rows"]] == [
        (table, column, value, 3)
    ]


def buy(session: int, number: int, end: str = "COMMIT") -> list[dict[str, Any]]:
    """Return a transaction with a locking read, inserted lines and an update."""
    texts = ["BEGIN", f"SELECT qty FROM stock WHERE id = {number} FOR UPDATE"]
    texts += [f"INSERT INTO line (o, p) VALUES ({number}, {n})" for n in range(1 + number % 3)]
    texts += [f"UPDATE stock SET qty = qty - 1 WHERE id = {number}", end]
    return [event(session, text) for text in texts if text]


def test_smallest_tape_has_all_lists(tmp_path: Path) -> None:
    assert list(workload(tmp_path, [event(1, "SELECT 1")])) == list(WORKLOAD)


def test_parsed_other_and_failed_statements_are_counted(tmp_path: Path) -> None:
    """Unparsed statements are listed and counted with their events and time."""
    texts = ["SELECT a FROM t WHERE b = 1", "COMMIT", "SELECT a b c FROM t", "SELECT a b c FROM t"]
    found = workload(tmp_path, [event(1, text) for text in texts])
    assert {row["what"]: (row["digests"], row["events"], row["duration_ns"]) for row in found["parsed"]} == {
        "parsed": (1, 1, MS),
        "other": (1, 1, MS),
        "failed": (1, 2, 2 * MS),
    }
    assert [row["digest"] for row in found["not_parsed"]] == [digest("SELECT a b c FROM t")]
    assert [row["digest"] for row in found["usage"]] == [digest("SELECT a FROM t WHERE b = 1")]


def test_column_uses_are_summed_by_role(tmp_path: Path) -> None:
    """The events and time of all digests that use a column in a role are added. Uses inside expressions are separate."""
    texts = [
        "SELECT 1 FROM t WHERE a = 1",
        "SELECT 2 FROM t WHERE a = 1 AND b > 1",
        "SELECT 3, 4 FROM t WHERE ABS(a) = 1",
    ]
    found = workload(tmp_path, [event(1, text) for text in texts])
    rows = {(row["column_name"], row["role"]): row for row in found["columns"]}
    assert rows["a", "filter"]["digests"] == 3
    assert rows["a", "filter"]["wrapped"] == 1
    assert rows["a", "filter"]["duration_ns"] == 3 * MS
    assert rows["b", "range"]["events"] == 1


def test_transactions_are_grouped_by_signature(tmp_path: Path) -> None:
    """A statement repeated several times in a row does not change the signature of a transaction. Each signature has
    outcomes, statements and a lock order.
    """
    events = [*buy(1, 1), *buy(2, 2), *buy(1, 3, "ROLLBACK"), event(2, "SELECT 1")]
    events += [
        event(3, text)
        for text in ("BEGIN", "UPDATE line SET p = 1 WHERE o = 1", "UPDATE stock SET qty = 1 WHERE id = 1", "COMMIT")
    ]
    found = workload(tmp_path, events)
    first, second = found["signatures"]
    assert (first["transactions"], first["committed"], first["rolled_back"]) == (3, 2, 1)
    assert [step["digest"] for step in first["statements"]] == [
        digest("SELECT qty FROM stock WHERE id = 1 FOR UPDATE"),
        digest("INSERT INTO line (o, p) VALUES (1, 1)"),
        digest("UPDATE stock SET qty = qty - 1 WHERE id = 1"),
    ]
    assert [step["times"] for step in first["statements"]] == [1, 2, 1]
    assert first["duration_ns"] == (2 * 3 + 2 + 3 + 1) * MS
    assert first["locks"] == ["stock", "line"]
    assert second["locks"] == ["line", "stock"]
    assert found["lock_orders"] == [{"table_a": "line", "table_b": "stock", "a_first": 1, "b_first": 3}]


def test_transactions_start_without_begin_while_autocommit_is_off(tmp_path: Path) -> None:
    """SET statements are not part of a transaction's signature."""
    texts = [
        "SET autocommit = 0",
        "UPDATE t SET a = 1 WHERE id = 1",
        "COMMIT",
        "UPDATE t SET a = 1 WHERE id = 2",
        "SET NAMES utf8",
        "COMMIT",
    ]
    (row,) = workload(tmp_path, [event(1, text) for text in texts])["signatures"]
    assert (row["transactions"], len(row["statements"])) == (2, 1)


@pytest.mark.parametrize(("times", "texts", "loops"), [(10, 10, 1), (9, 9, 0), (12, 1, 0), (30, 30, 1)])
def test_ten_similar_reads_after_another_read_are_a_loop(times: int, texts: int, loops: int, tmp_path: Path) -> None:
    """Ten reads with different literals after another read are a loop. Fewer reads, or repetitions of the same text,
    are no loop.
    """
    outer = [event(1, "SELECT id FROM orders WHERE day = 1")]
    inner = [event(1, f"SELECT name FROM customer WHERE id = {n % texts}") for n in range(times)]
    found = workload(tmp_path, [*outer, *inner, event(1, "SELECT 1")])["n_plus_one"]
    assert len(found) == loops
    if loops:
        assert (found[0]["statements"], found[0]["longest"], found[0]["duration_ns"]) == (times, times, times * MS)
        assert found[0]["behind"] == digest("SELECT id FROM orders WHERE day = 1")


@pytest.mark.sampled
@pytest.mark.parametrize(("times", "values", "loops"), [(10, 10, 1), (10, 1, 0), (9, 9, 0), (14, 3, 1)])
@pytest.mark.parametrize("odd", [False, True])
def test_ten_pairs_of_similar_reads_are_a_loop(times: int, values: int, loops: int, odd: bool, tmp_path: Path) -> None:
    """The reads alternate as A B A B ... after another read, with different literals. The next statement does not
    belong to the loop.
    """
    a, b = ("SELECT name FROM customer WHERE id = {}", "SELECT SUM(price) FROM line WHERE customer_id = {}")
    outer = "SELECT id FROM orders WHERE day = 1"
    inner = [text.format(n % values) for n in range(times) for text in (a, b)]
    inner += [a.format(99)] if odd and loops else []
    texts = ["SELECT 1", outer, *inner, "SELECT 2 FROM two", "UPDATE t SET x = 1"]
    found = workload(tmp_path, [event(1, text) for text in (*texts, *texts)])["n_plus_one"]
    assert len(found) == loops
    if loops:
        (row,) = found
        assert (row["digest"], row["partner"], row["behind"]) == (
            digest(a.format(1)),
            digest(b.format(1)),
            digest(outer),
        )
        assert (row["loops"], row["statements"], row["longest"]) == (2, 2 * len(inner), len(inner))
        assert row["duration_ns"] == 2 * len(inner) * MS


def test_pairs_with_a_write_or_three_reads_are_no_loop(tmp_path: Path) -> None:
    """An alternating read and write, three alternating reads, and two reads after a write are no loops."""
    read, write = "SELECT name FROM customer WHERE id = {}", "UPDATE customer SET seen = 1 WHERE id = {}"
    other, third = "SELECT a FROM b WHERE c = {}", "SELECT d FROM e WHERE f = {}"
    for number, (before, loop) in enumerate(
        (
            ("SELECT id FROM orders", (read, write)),
            ("SELECT id FROM orders", (read, other, third)),
            ("DELETE FROM x", (read, other)),
        )
    ):
        texts = [before, *(text.format(n) for n in range(12) for text in loop)]
        folder = tmp_path / str(number)
        folder.mkdir()
        assert workload(folder, [event(1, text) for text in texts])["n_plus_one"] == []


def test_batches_and_reads_of_many_sessions_are_no_loops(tmp_path: Path) -> None:
    reads = [f"SELECT name FROM customer WHERE id = {n}" for n in range(12)]
    one = [event(1, "UPDATE t SET a = 1"), *(event(1, text) for text in reads)]
    many = [event(n + 2, text) for n, text in enumerate(["SELECT id FROM orders", *reads])]
    assert workload(tmp_path, [*one, *many])["n_plus_one"] == []


def test_open_and_rolled_back_transactions_are_counted(tmp_path: Path) -> None:
    """Transactions that are open when the session disconnects are "left open". Transactions that are open at the end of
    the tape are counted separately.
    """
    events = [*buy(1, 1, ""), {"session": 1, "command": "quit"}]
    events += [*buy(2, 2, ""), *buy(3, 3, "ROLLBACK"), *buy(4, 4)]
    events += [
        event(5, "UPDATE never SET a = 1"),
        *(event(6, text) for text in ("BEGIN", "UPDATE lost SET a = 1", "ROLLBACK")),
    ]
    found = workload(tmp_path, events)
    ends = {row["ended"]: row for row in found["open_transactions"]}
    assert {name: row["transactions"] for name, row in ends.items()} == {"left open": 1, "tape ended": 1}
    rows = {row["digest"]: row for row in found["not_committed"]}
    assert found["not_committed"][0]["digest"] == digest("UPDATE lost SET a = 1")
    stock = rows[digest("UPDATE stock SET qty = qty - 1 WHERE id = 1")]
    assert [stock[n] for n in ("events", "committed", "rolled_back", "deadlock", "left_open", "not_known")] == [
        4,
        1,
        1,
        0,
        1,
        1,
    ]
    assert digest("UPDATE never SET a = 1") not in rows


def test_transaction_of_a_deadlock_victim_ends_at_the_deadlock(tmp_path: Path) -> None:
    events = buy(1, 1, "")
    events[-1]["errno"] = 1213
    (row,) = workload(tmp_path, events)["signatures"]
    assert (row["deadlocks"], row["rolled_back"]) == (1, 1)


def test_constant_reads_have_equal_text_and_result(tmp_path: Path) -> None:
    """Results are compared by checksum if known, otherwise by row count. A change of text or result excludes the read."""

    def read(text: str, rows: int | None, checksum: str | None = None) -> dict[str, Any]:
        return event(1, text, rows_sent=rows, checksum=checksum)

    events = [read("SELECT a FROM summed", 1, "text:1:1")] * 3
    events += [read("SELECT a FROM counted", 2)] * 4
    events += [read("SELECT a FROM changed", 1, "text:1:1"), read("SELECT a FROM changed", 1, "text:2:2")]
    events += [read("SELECT a FROM grown", 1), read("SELECT a FROM grown", 2)]
    events += [read("SELECT a FROM unknown", None)] * 2
    events += [read("SELECT NOW() FROM clock", 1)] * 2 + [read("SELECT a FROM locked FOR UPDATE", 1)] * 2
    found = workload(tmp_path, events)["constant_reads"]
    assert [(row["normalized"].split()[3], row["repeats"], row["by_checksum"], row["saved_ns"]) for row in found] == [
        ("counted", 3, False, 3 * MS),
        ("summed", 2, True, 2 * MS),
    ]


def test_events_with_equal_key_values_share_a_hot_row(tmp_path: Path) -> None:
    """A hot row is a row that several locking statements use. Reads without locks and single events are not counted."""
    texts = ["UPDATE stock SET qty = qty - 1 WHERE id = 7"] * 3 + ["SELECT qty FROM stock WHERE id = 7 FOR UPDATE"]
    texts += ["UPDATE stock SET qty = 1 WHERE id = 8", "SELECT qty FROM stock WHERE id = 7"]
    texts += [
        "DELETE FROM line WHERE p = 2 AND o = 1",
        "UPDATE line SET q = 1 WHERE o = 1 AND p = 2",
        "UPDATE a SET b = 1 WHERE c = 1 OR d = 2",
    ]
    events = [event(1 + number % 2, text, lock_ns=1000) for number, text in enumerate(texts)]
    stock, line = workload(tmp_path, events)["hot_rows"]
    assert [stock[n] for n in ("table_name", "columns", "value")] == ["stock", "id", "7"]
    assert [stock[n] for n in ("events", "writes", "sessions", "digests", "lock_ns")] == [4, 3, 2, 2, 4000]
    assert [line[n] for n in ("columns", "value", "events")] == ["o, p", "1, 2", 2]


def test_hot_rows_include_bound_values(tmp_path: Path) -> None:
    """Values bound to a prepared statement count like literals. Each session has its own prepared statements."""

    def execution(session: int, stmt: int, text: str, value: int) -> dict[str, Any]:
        params = b"E\x01" + bytes(5) + b"\x00\x01" + struct.pack("<Hi", 3, value)
        return event(session, text, command="execute", stmt=stmt, params=params) | {"statement": None}

    bound, other = "UPDATE stock SET qty = qty - 1 WHERE id = ?", "DELETE FROM line WHERE o = ?"
    events = [
        event(1, bound, command="prepare", stmt=1),
        event(2, other, command="prepare", stmt=1),
        event(2, bound, command="prepare", stmt=2),
        *(execution(1, 1, bound, value) for value in (7, 7, 8)),
        *(execution(2, 2, bound, value) for value in (7, 9)),
        *(execution(2, 1, other, value) for value in (7, 7)),
        event(3, "UPDATE stock SET qty = qty - 1 WHERE id = 7"),
        execution(3, 5, bound, 7),  # the text is unknown because the statement was prepared before the tape began
    ]
    found = {(row["table_name"], row["value"]): row for row in workload(tmp_path, events)["hot_rows"]}
    assert {key: (row["events"], row["sessions"]) for key, row in found.items()} == {
        ("stock", "7"): (4, 3),
        ("line", "7"): (2, 1),
    }


@pytest.mark.parametrize(("lock_ns", "waits"), [(40 * MS, 1), (10, 0), (None, 1)])
def test_lock_wait_needs_an_open_transaction_on_the_row(lock_ns: int | None, waits: int, tmp_path: Path) -> None:
    """A statement waits if it accesses the row before the other transaction ends. If the tape contains lock times, the
    statement must have a lock time.
    """
    one = [
        event(1, text, lock_ns=0)
        for text in ("BEGIN", "UPDATE stock SET qty = 1 WHERE id = 7", "UPDATE line SET q = 1 WHERE o = 2", "COMMIT")
    ]
    one = [
        {**row, "start_ns": one_start, "lock_ns": None if lock_ns is None else 0}
        for one_start, row in zip(range(0, 400 * MS, 100 * MS), one, strict=True)
    ]
    two = [
        event(2, "DELETE FROM stock WHERE id = 7", start_ns=150 * MS, lock_ns=lock_ns),
        event(3, "DELETE FROM stock WHERE id = 8", start_ns=151 * MS),
    ]
    late = [event(2, "DELETE FROM stock WHERE id = 7", start_ns=900 * MS, lock_ns=lock_ns)]
    found = workload(tmp_path, sorted([*one, *two, *late], key=lambda row: (row["start_ns"], row["session"])))["waits"]
    assert len(found) == waits
    if waits:
        assert found[0]["digest"] == digest("DELETE FROM stock WHERE id = 7")
        assert found[0]["held_by"] == digest("UPDATE stock SET qty = 1 WHERE id = 7")
        assert (found[0]["times"], found[0]["waited"], found[0]["lock_ns"]) == (1, lock_ns and 1, lock_ns)
        assert (found[0]["signature"], found[0]["held_by_signature"] is not None) == (None, True)
