# SPDX-License-Identifier: Apache-2.0
"""A comparison with one planted difference of each kind, built without a server."""

from pathlib import Path
from typing import Any

from querytape.analyze import Report, build

from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, T0, make_tape

TEXTS = {
    "grouped": "select a, b, count(*) from orders group by a",
    "reserved": "select rank from players where id = ?",
    "sorted": "select c, count(*) from orders group by c",
    "locked": "insert into log values (?)",
    "slow": "select * from t where id = ?",
    "slower": "update t set x = ? where id = ?",
    "limited": "select id from t limit ?",
    "missing": "select pad from missing where id = ?",
    "fine": "select ?",
}
DIGESTS = {name: f"{number:016x}" for number, name in enumerate(TEXTS)}
REPEATS = 100
SAME = "text:0000000000000001:0000000000000002"
OTHER_ORDER = "text:0000000000000009:0000000000000002"
OTHER_DATA = "text:0000000000000009:0000000000000007"
ERRORS: dict[str, dict[str, Any]] = {
    "grouped": {"errno": 1055, "error": "Expression #2 of SELECT list is not in GROUP BY clause", "rows_sent": None},
    "reserved": {"errno": 1064, "error": "You have an error in your SQL syntax", "rows_sent": None},
    "missing": {"errno": 1146, "error": "Table 'shop.missing' doesn't exist", "rows_sent": None},
    "locked": {"errno": 1205, "error": "Lock wait timeout exceeded", "rows_sent": None},
}


def planted(folder: Path, versions: tuple[str, str] = ("5.7.44-log", "8.0.42"), tape_errno: int | None = 0) -> Report:
    """Return a report with three kinds of new errors on B and one error on both sides. The report also has changed
    results and two slower digests.
    """
    events: list[dict[str, Any]] = []
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for number in range(REPEATS * len(TEXTS)):
        name, due = list(TEXTS)[number % len(TEXTS)], number * 5 * MS
        events.append(
            {
                "statement": TEXTS[name].replace("?", "1"),
                "digest": DIGESTS[name],
                "errno": tape_errno,
                "duration_ns": MS,
                "class": "read",
            }
        )
        events[-1]["start_ns"] = T0 + due
        took = MS // 2 + number * 37 % 100 * 1000
        one: dict[str, Any] = {"due_ns": due, "sent_ns": due, "rows_sent": 1, "checksum": SAME, "done_ns": due + took}
        other = dict(one)
        if name in ("grouped", "reserved", "missing") or (name == "locked" and number < 9 * 9):
            other.update(ERRORS[name])
        if name == "missing":
            one.update(ERRORS[name])
        other["checksum"] = {"sorted": OTHER_ORDER, "limited": OTHER_DATA}.get(name, SAME)
        other["done_ns"] += {"slow": MS // 2, "slower": 77_000}.get(name, 0)
        for side, row in zip(sides, (one, other), strict=True):
            side.append(row)
    tape = make_tape(folder / "t.tape", events, known_columns=["errno"])
    write_digests(tape, {DIGESTS[name]: text for name, text in TEXTS.items()})
    runs = [
        make_run(folder / f"{letter}.run", tape, rows, target={"name": f"{letter}.db:3306", "version": version})
        for letter, rows, version in zip("ab", sides, versions, strict=True)
    ]
    return build(tape, runs[:1], runs[1:])
