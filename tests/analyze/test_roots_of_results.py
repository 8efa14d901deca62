# SPDX-License-Identifier: Apache-2.0
"""Changed results that follow from another failure are listed under that failure. The root is a failed SET or write, a
lost session or a refused connection.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from querytape.analyze import build
from querytape.analyze.findings.headline import BREAKS, ELSE
from querytape.analyze.findings.remedies import to_do
from querytape.replay import replay
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.runs import keep_sessions, make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import SECOND, T0, make_tape
from tests.helpers.whole import options

SET, WRITE, READ, OTHER = (
    "set @x = ( select 1 from zones )",
    "insert into u values (1)",
    "select a from u",
    "select b from v",
)
MODE, DELETE = "set sql_mode = ?", "delete from u where a < ?"
CLASSES = {SET: "session", MODE: "session", WRITE: "write", DELETE: "write"}
DIGESTS = {text: f"{number:016x}" for number, text in enumerate((SET, MODE, WRITE, READ, OTHER, DELETE))}
OK: dict[str, Any] = {}
LOST: dict[str, Any] = {"status": "not_sent", "reason": "connection_lost"}
REFUSED: dict[str, Any] = {"status": "not_sent", "reason": "connect_failed"}


class Case(NamedTuple):
    """Events of several sessions as tuples: session, text, outcome in A, outcome in B. `lost`: the errors of sessions
    in A and B.
    """

    events: list[tuple[int, str, dict[str, Any], dict[str, Any]]]
    lost: tuple[dict[int, int], dict[int, int]] = ({}, {})


def other(session: int, text: str = READ) -> tuple[int, str, dict[str, Any], dict[str, Any]]:
    """Return a read that gives a different number of rows in B."""
    return session, text, {"rows_sent": 1}, {"rows_sent": 2}


def fails(errno: int) -> dict[str, Any]:
    """Return the outcome of a failed event."""
    return {"errno": errno, "error": f"message {errno}"}


# Each case has the expected beginnings of the texts under "breaks" and under "returns something else".
CASES: dict[str, tuple[Case, list[str], list[str]]] = {
    "SET fails in B": (
        Case([(1, SET, OK, fails(1146)), other(1, OTHER), other(1, OTHER)]),
        ["1 digest, 1 error, followed by 2 different results of 1 digest: a table is missing"],
        [],
    ),
    "errors follow from a SET": (
        Case([(1, MODE, OK, fails(1231)), (1, WRITE, OK, fails(1364)), (1, WRITE, OK, fails(1364))]),
        ["2 digests, 3 errors, 2 of them after an earlier error: B rejects the value of a variable"],
        [],
    ),
    "errors that do not depend on the SET": (
        Case([(1, MODE, OK, fails(1231)), (1, WRITE, OK, fails(1146)), (2, WRITE, OK, fails(1146))]),
        ["1 digest, 2 errors: a table is missing", "1 digest, 1 error: B rejects the value of a variable"],
        [],
    ),
    "SET fails in A": (
        Case([(1, SET, fails(1146), OK), other(1, OTHER)]),
        [],
        ["1 digest, 1 different result: an earlier SET of the session failed on one side"],
    ),
    "SET fails in another session": (
        Case([(2, SET, OK, fails(1146)), other(1, OTHER)]),
        ["1 digest, 1 error: a table is missing"],
        ["1 digest, 1 different result: different number of rows"],
    ),
    "a write fails in B": (
        Case([(2, WRITE, OK, fails(1364)), other(1), other(1, OTHER)]),
        ["1 digest, 1 error, followed by 1 different result of 1 digest: a column without a default"],
        ["1 digest, 1 different result: different number of rows"],
    ),
    "a write changes different rows": (
        Case([(1, WRITE, {"rows_affected": 1}, {"rows_affected": 2}), other(2), other(1)]),
        [],
        ["1 digest, 1 different result, followed by 2 different results of 1 digest: different number of affected rows"],
    ),
    "writes change different rows because a write failed": (
        Case([(2, WRITE, OK, fails(1364)), (1, DELETE, {"rows_affected": 1}, {"rows_affected": 2}), other(1)]),
        ["1 digest, 1 error, followed by 2 different results of 2 digests: a column without a default"],
        [],
    ),
    "a session is lost": (
        Case([(2, OTHER, OK, fails(4031)), (2, WRITE, OK, LOST), other(1)], ({}, {2: 4031})),
        ["1 digest, 1 error, 1 session without a connection, 1 event not sent, followed by 1 different result of 1 digest"],
        [],
    ),
    "a session is lost on both sides": (
        Case([(2, OTHER, fails(4031), fails(4031)), (2, WRITE, LOST, LOST), other(1)], ({2: 4031}, {2: 4031})),
        ["1 digest, 1 error: the session was idle for too long (also in A, but not"],
        ["1 digest, 1 different result: different number of rows"],
    ),
    "a session is refused": (
        Case([(2, OTHER, OK, REFUSED), (2, WRITE, OK, REFUSED), other(1)], ({}, {2: 1045})),
        ["1 session without a connection, 2 events not sent, followed by 1 different result of 1 digest: the account"],
        [],
    ),
    "a session is opened again": (
        Case([(1, OTHER, OK, fails(2013)), other(1), other(1)], ({}, {1: 2013})),
        ["1 digest, 1 error, followed by 2 different results of 1 digest: the connection was lost"],
        [],
    ),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_dependent_results_are_counted_under_their_root(name: str, tmp_path: Path) -> None:
    """The root error occurs in B."""
    (events, lost), breaks, elsewhere = CASES[name]
    rows = [
        {"session": session, "statement": text, "digest": DIGESTS[text], "class": CLASSES.get(text, "read"), "errno": 0,
         "start_ns": T0 + n * SECOND}
        for n, (session, text, *_) in enumerate(events)
    ]  # fmt: skip
    tape = make_tape(tmp_path / "t.tape", rows, known_columns=["errno"])
    write_digests(tape, {digest: text for text, digest in DIGESTS.items()})
    runs = []
    for side in range(2):
        outcomes = [{"session": session, **both[side]} for session, _, *both in events]
        runs.append(make_run(tmp_path / f"{side}.run", tape, outcomes))
        keep_sessions(runs[-1], lost[side])
    report = build(tape, runs[:1], runs[1:])
    for part, wanted in ((BREAKS, breaks), (ELSE, elsewhere)):
        said = [task.said() for task in to_do(report) if task.part == part]
        assert len(said) == len(wanted), said
        assert all(found.startswith(text) for found, text in zip(said, wanted, strict=True)), said


@pytest.mark.long
@pytest.mark.server
def test_dependent_results_on_a_server(server_factory: ServerFactory, tmp_path: Path) -> None:
    """The server disconnects an idle session, and in another case a SET fails. Each failure is one task that includes
    its dependent results.
    """
    server = server_factory("mysql80")
    tape = make_tape(tmp_path / "t.tape", [
        event(1, 0.0, "SELECT 1"),
        event(2, 0.1, "SET @x = (SELECT MAX(id) FROM zones)", "session"),
        event(2, 0.3, "SELECT id FROM t WHERE id = @x"),
        event(3, 0.4, "SELECT COUNT(*) FROM log"),
        event(3, 1.8, "SELECT 2"),
        event(1, 3.0, "INSERT INTO log VALUES (1)", "write"),
        event(1, 3.1, "INSERT INTO log VALUES (2)", "write"),
        event(3, 3.5, "SELECT id FROM log"),
    ])  # fmt: skip
    runs = []
    for name, zones in (("a", "zones"), ("b", "others")):
        prepared(server, zones, 28800 if name == "a" else 2)
        runs.append(tmp_path / f"{name}.run")
        replay(tape, options(server, runs[-1], verify=True))
    said = [task.said() for task in to_do(build(tape, runs[:1], runs[1:]))]
    assert len(said) == 2, said
    assert said[0].startswith(
        "1 digest, 1 error, 1 session without a connection, 1 event not sent, followed by 1 different result of 1 "
    )
    assert "wait_timeout is 28800 in A, 2 in B; SET GLOBAL wait_timeout = 28800 on B" in said[0]
    assert said[1].startswith(
        "1 digest, 1 error, followed by 1 different result of 1 digest: a table is missing: B lacks"
    )


def event(session: int, at_s: float, statement: str, class_: str = "read") -> dict[str, Any]:
    start = T0 + int(at_s * SECOND)
    return {"session": session, "statement": statement, "start_ns": start, "db": "shop", "errno": 0, "class": class_}


def prepared(server: Server, zones: str, wait_timeout: int) -> None:
    """Create the data of the test. `zones` is the name of the table of time zones."""
    for statement in (
        "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", f"CREATE TABLE shop.{zones} (id INT)",
        f"INSERT INTO shop.{zones} VALUES (1)", "CREATE TABLE shop.t (id INT)", "INSERT INTO shop.t VALUES (1)",
        "CREATE TABLE shop.log (id INT)", f"SET GLOBAL wait_timeout = {wait_timeout}",
    ):  # fmt: skip
        server.execute(statement)
