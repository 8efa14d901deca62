# SPDX-License-Identifier: Apache-2.0
"""Reasons that excuse changed results: each property of a statement is combined with each kind of difference."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build
from querytape.analyze.findings.headline import headline
from querytape.analyze.findings.results import PERHAPS
from querytape.analyze.gates import gate_values
from querytape.analyze.model import Settings

from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import T0, make_tape

pytestmark = pytest.mark.slow

KINDS = ("rows", "affected", "data", "order", "warnings")
SERVER, SESSION = "asks_server", "asks_session"
LIMIT, PERHAPS_LIMIT = "limit_unsorted", "perhaps_limit_unsorted"
TIES, UNSORTED = "ties", "unsorted"
TIME, CHANCE = "perhaps_time_in_condition", "perhaps_chance_in_condition"
OF_SESSION = "perhaps_session_in_condition"
SUBQUERY = "perhaps_limit_inside"
# The expected states of each statement for the kinds rows, affected, data, order and warnings.
#
# A state without a prefix is an excuse. "?" marks an unproven excuse, and "!" marks a reason that still counts. Each
# statement returns five rows.
CELLS: dict[str, Sequence[str]] = {
    "select a from t": ["-", "-", "-", f"!{UNSORTED}", "-"],
    "select a from t order by a": ["-", "-", "-", f"!{TIES}", "-"],
    "select a, now() from t order by a": ["-", "-", "?perhaps_time_with_columns", f"!{TIES}", "-"],
    "select a from t where b < now() order by a": [f"?{TIME}"] * 3 + [f"!{TIES}", f"?{TIME}"],
    "select a from t where b < current_date order by a": [f"?{TIME}"] * 3 + [f"!{TIES}", f"?{TIME}"],
    "update t set a = now()": [f"?{TIME}"] * 3 + [f"!{UNSORTED}", f"?{TIME}"],
    "insert into t values (now())": ["-", "-", "asks_time", f"!{UNSORTED}", "-"],
    "insert into t values (now()) on duplicate key update b = 1": [f"?{TIME}"] * 3 + [f"!{UNSORTED}", f"?{TIME}"],
    "select now()": ["-", "-", "asks_time", f"!{UNSORTED}", "-"],
    "select a, uuid() from t order by a": ["-", "-", "?perhaps_chance_with_columns", f"!{TIES}", "-"],
    "select uuid()": ["-", "-", "chance", f"!{UNSORTED}", "-"],
    "select a from t where b > rand() order by a": [f"?{CHANCE}"] * 2 + [CHANCE, CHANCE, f"?{CHANCE}"],
    "select a from t order by rand()": ["-", "-", "-", "sorted_by_chance", "-"],
    "select a from t order by rand() limit 5": ["-", "-", "sorted_by_chance", "sorted_by_chance", "-"],
    "select a from t order by rand() limit 6": ["-", "-", "-", "sorted_by_chance", "-"],
    "select a, connection_id() from t order by a": ["-", "-", "?perhaps_session_with_columns", f"!{TIES}", "-"],
    "select connection_id()": ["-", "-", SESSION, f"!{UNSORTED}", "-"],
    "select a from t where b = last_insert_id() order by a": [f"?{OF_SESSION}"] * 3 + [f"!{TIES}", f"?{OF_SESSION}"],
    "select a from t where b = @@server_id order by a": [f"?{OF_SESSION}"] * 3 + [f"!{TIES}", f"?{OF_SESSION}"],
    "show variables": [SERVER, "-", SERVER, SERVER, SERVER],
    "select x from information_schema.tables": [SERVER, "-", SERVER, SERVER, SERVER],
    "select x from information_schema.tables join t": ["-", "-", "-", f"!{UNSORTED}", "-"],
    "select a from t limit 5": ["-", "-", LIMIT, LIMIT, "-"],
    "select a from t limit 3, 5": ["-", "-", LIMIT, LIMIT, "-"],
    "select a from t limit 5 offset 9 for update": ["-", "-", LIMIT, LIMIT, "-"],
    "select a from t fetch first 5 rows only": ["-", "-", LIMIT, LIMIT, "-"],
    "select group_concat(a order by a) from t limit 5": ["-", "-", "-", f"!{UNSORTED}", "-"],
    "select group_concat(a order by a) from t group by b limit 5": ["-", "-", LIMIT, LIMIT, "-"],
    "select a from t limit 6": ["-", "-", "-", f"!{UNSORTED}", "-"],
    "select a from t limit 5, 6": ["-", "-", "-", f"!{UNSORTED}", "-"],
    "select a from t limit ?": ["-", "-", f"?{PERHAPS_LIMIT}", f"!{UNSORTED}", "-"],
    "delete from t limit 5": ["-", "-", LIMIT, LIMIT, "-"],
    "select a from (select b from u limit 5) v": [f"?{SUBQUERY}"] * 3 + [f"!{UNSORTED}", f"?{SUBQUERY}"],
    "select a from (select b from u order by b limit 5) v": ["-", "-", "-", f"!{UNSORTED}", "-"],
    "select a from t order by b limit 5": ["-", "-", "!ties_under_limit", f"!{TIES}", "-"],
    "select a from t order by b limit 6": ["-", "-", "-", f"!{TIES}", "-"],
    "select group_concat(a) from t": ["-", "-", "!concat_unsorted", f"!{UNSORTED}", "-"],
}  # fmt: skip
# Expected states of statements whose GROUP BY no longer sorts in B.
UNSORTED_GROUPS: dict[str, Sequence[str]] = {
    "select a from t group by a": ["-", "-", "-", "!group_by_unsorted", "-"],
    "select a from t group by a limit 5": ["-", "-", "!group_by_unsorted", "!group_by_unsorted", "-"],
    "select a from t group by a limit 6": ["-", "-", "-", "!group_by_unsorted", "-"],
}
# Expected states when each run uses the time of the tape. The time is then no reason for a difference. SYSDATE()
# ignores the tape's time.
TIME_KEPT: dict[str, Sequence[str]] = {
    "select a, now() from t order by a": ["-", "-", "-", f"!{TIES}", "-"],
    "select a from t where b < now() order by a": ["-", "-", "-", f"!{TIES}", "-"],
    "select a from t where b < sysdate() order by a": [f"?{TIME}"] * 3 + [f"!{TIES}", f"?{TIME}"],
}
SAME = {"rows_sent": 5, "rows_affected": 0, "checksum": "text:01:02", "warnings": 0}
OTHER: dict[str, dict[str, Any]] = {
    "rows": {"rows_sent": 0},
    "affected": {"rows_affected": 1},
    "data": {"checksum": "text:03:04"},
    "order": {"checksum": "text:03:02"},
    "warnings": {"warnings": 1},
}


def cells(folder: Path, table: dict[str, Sequence[str]], now: str = "wall") -> dict[str, list[str]]:
    """Return the states that a report computes for a table such as CELLS. Each cell is a digest with one kind of
    difference between A and B.
    """
    events = [
        {"statement": text, "digest": f"{number:014x}{place:02x}", "errno": 0, "start_ns": T0}
        for number, text in enumerate(table)
        for place in range(len(KINDS))
    ]
    tape = make_tape(folder / "t.tape", events)
    write_digests(tape, {str(event["digest"]): str(event["statement"]) for event in events})
    runs = []
    for letter, version in (("a", "5.7.44"), ("b", "8.0.42")):
        if table is not UNSORTED_GROUPS:
            version = "8.0.42"
        rows = [SAME | (OTHER[kind] if letter == "b" else {}) for _ in table for kind in KINDS]
        target = {"name": letter, "version": version}
        parameters = {"speed": "1", "now": now}
        runs.append(make_run(folder / f"{letter}.run", tape, rows, target=target, parameters=parameters))
    found: dict[str, list[str]] = {text: [""] * len(KINDS) for text in table}
    for row in build(tape, runs[:1], runs[1:]).answers["results"]:
        place = KINDS.index(row["kind"])
        digest = row["digest"] or ""
        assert place == int(digest[-2:], 16)
        said = row["known"] or ("-" if row["reason"] is None else f"!{row['reason']}")
        if row["known"] is None and row["reason"] in PERHAPS:
            said = f"?{row['reason']}"
        assert row["known"] in (None, row["reason"])
        found[list(table)[int(digest[:14], 16)]][place] = said
    return found


@pytest.mark.long
@pytest.mark.parametrize(("table", "now"), [(CELLS, "wall"), (UNSORTED_GROUPS, "wall"), (TIME_KEPT, "original")])
def test_each_statement_and_kind_of_difference_has_the_expected_state(
    table: dict[str, Sequence[str]], now: str, tmp_path: Path
) -> None:
    """A difference is excused, unproven or counts."""
    assert cells(tmp_path, table, now) == {text: list(row) for text, row in table.items()}


def test_each_row_of_results_excuses_has_a_test_case(checkout: Path) -> None:
    text = (checkout / "analyze" / "sql" / "report" / "results.sql").read_text()
    rows = text[text.index("(VALUES") : text.index(") AS t(property")]
    named = {line.split("'")[1] for line in rows.splitlines() if "'" in line}
    said = {cell.lstrip("?!") for table in (CELLS, UNSORTED_GROUPS) for row in table.values() for cell in row}
    assert len(named) == 18
    assert named <= said


Statement = tuple[str, bytes | None, tuple[int, int]]  # text, bound values, and row counts of A and B


def differing(folder: Path, statements: Sequence[Statement], times: int, rounds: int) -> Report:
    """Return a report in which each statement is a digest with different rows. Each statement is sent `times` times per
    round.
    """
    events: list[dict[str, Any]] = []
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for number, (text, params, sent) in enumerate(statements):
        event = {"statement": text, "digest": f"{number:016x}", "errno": 0, "class": "read"}
        if params:
            event |= {"command": "execute", "params": params}
        events += [event] * times
        for side, rows in enumerate(sides):
            rows += [{"rows_sent": sent[side], "checksum": f"text:0{side}:0{side}"}] * times
    tape = make_tape(folder / "t.tape", events)
    at = [{"due_ns": n * 10**7, "done_ns": n * 10**7 + 10**6} for n in range(len(events))]
    runs = [
        make_run(folder / f"{n}.run", tape, [row | when for row, when in zip(sides[n % 2], at, strict=True)])
        for n in range(2 * rounds)
    ]
    return build(tape, runs[::2], runs[1::2], Settings(undisturbed=True))


def states(report: Report) -> list[tuple[str, str | None]]:
    """Return the (state, reason) of each statement. The state is excused, unproven or counting."""
    found: dict[int, tuple[str, str | None]] = {}
    for row in report.answers["results"]:
        state = "excused" if row["known"] else "unproven" if row["reason"] in PERHAPS else "counts"
        assert row["known"] in (None, row["reason"])
        assert found.setdefault(int(row["digest"] or "", 16), (state, row["reason"])) == (state, row["reason"])
    return [found[number] for number in range(len(found))]


EXCUSES: dict[tuple[str, tuple[int, int]], tuple[str, str | None]] = {
    ("SELECT id FROM account WHERE login = 'x ' LIMIT 1", (1, 0)): ("counts", None),
    ("SELECT id FROM account LIMIT 10", (10, 9)): ("counts", None),
    ("SELECT id FROM account LIMIT 10", (4, 4)): ("counts", None),
    ("SELECT id FROM account LIMIT 10", (10, 10)): ("excused", LIMIT),
    ("SELECT id FROM account LIMIT 10 /* trace: 1 */", (10, 10)): ("excused", LIMIT),
    ("SELECT UUID(), id FROM account", (10, 0)): ("counts", None),
    ("SELECT id FROM account WHERE at < NOW()", (10, 0)): ("unproven", TIME),
    ("SELECT id FROM account ORDER BY RAND() LIMIT 1", (1, 0)): ("counts", None),
    ("SELECT id FROM account ORDER BY RAND() LIMIT 1", (1, 1)): ("excused", "sorted_by_chance"),
}


@pytest.fixture(scope="module")
def excused(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Build the report of all EXCUSES."""
    return differing(tmp_path_factory.mktemp("excuses"), [(text, None, sent) for text, sent in EXCUSES], 3, 1)


@pytest.mark.parametrize("number", range(len(EXCUSES)), ids=map(str, EXCUSES))
def test_excuse_is_proven_or_unproven(number: int, excused: Report) -> None:
    """LIMIT explains different rows if both sides reach the limit. It never explains a different number of rows. NOW()
    in a condition is unproven.
    """
    assert states(excused)[number] == list(EXCUSES.values())[number]


def test_gate_counts_all_results_that_are_not_excused(excused: Report) -> None:
    counted = 3 * sum(state != "excused" for state, _ in EXCUSES.values())
    assert gate_values(excused)["different_results"] == counted


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "sent", "answer", "counted"),
    [
        ("SELECT id FROM account LIMIT 10", (10, 9), "no", 600),
        ("SELECT id FROM account LIMIT 10", (10, 10), "yes", 0),
        ("SELECT id FROM account WHERE at < NOW()", (10, 0), "inconclusive", 600),
    ],
)
def test_unproven_excuse_fails_the_gate(
    text: str, sent: tuple[int, int], answer: str, counted: int, tmp_path: Path
) -> None:
    """A result that counts causes the answer no. An unproven excuse prevents the answer yes. The gate counts both kinds
    of results.
    """
    report = differing(tmp_path, [(text, None, sent)], 200, 3)
    found = headline(report)
    assert found is not None
    assert (found.answer, gate_values(report)["different_results"]) == (answer, counted)


def bound(types: Sequence[int], values: Sequence[bytes]) -> bytes:
    """Return the parameters of an execution in the format of schemas/params.md."""
    head = b"E" + bytes([len(types)]) + bytes(5) + bytes((len(types) + 7) // 8) + b"\x01"
    return head + b"".join(struct.pack("<H", kind) for kind in types) + b"".join(values)


TEN, FIVE, TEXT = struct.pack("<q", 10), struct.pack("<i", 5), b"\x03abc"


BOUND = [
    ("SELECT id FROM t WHERE a = ? LIMIT ?", bound([0xFD, 8], [TEXT, TEN]), 10, "excused"),
    ("SELECT id FROM t WHERE a = ? LIMIT ?", bound([0xFD, 8], [TEXT, TEN]), 9, "counts"),
    ("SELECT id FROM t LIMIT ?, ?", bound([3, 8], [FIVE, TEN]), 10, "excused"),
    ("SELECT id FROM t LIMIT ?, ?", bound([3, 8], [FIVE, TEN]), 5, "counts"),
    ("SELECT id FROM t LIMIT ? OFFSET ?", bound([3, 8], [FIVE, TEN]), 5, "excused"),
    ("SELECT id FROM t LIMIT ? OFFSET ?", bound([8, 3], [TEN, FIVE]), 5, "counts"),
    ("SELECT id FROM t LIMIT ?", bound([0x8001], [b"\x02"]), 2, "excused"),
    ("SELECT id FROM t LIMIT ?", bound([0xFD], [b"\x012"]), 2, "unproven"),
    ("SELECT id FROM t LIMIT ?", b"R123", 2, "unproven"),
    ("SELECT id FROM t LIMIT 7", bound([], []), 7, "excused"),
]


@pytest.fixture(scope="module")
def bound_limits(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str | None]]:
    """Return the state of each case in BOUND."""
    statements = [(text, params, (sent, sent)) for text, params, sent, _ in BOUND]
    return states(differing(tmp_path_factory.mktemp("bound"), statements, 3, 1))


@pytest.mark.parametrize("number", range(len(BOUND)), ids=[f"{text}-{sent}" for text, _, sent, _ in BOUND])
def test_limit_is_read_from_bound_values(number: int, bound_limits: list[tuple[str, str | None]]) -> None:
    """The LIMIT of a prepared statement is one of its bound values. An unreadable value leaves the excuse unproven."""
    assert bound_limits[number][0] == BOUND[number][3]
