# SPDX-License-Identifier: Apache-2.0
"""Which sessions carry a capture's settings: by their values where the server shows them, else by their ids."""

from dataclasses import replace

import pymysql
import pytest
from querytape.capture.server_log.carriers import Span, carriers, carrying_now, end_idle, listed
from querytape.common.errors import RefusedError

from tests.helpers.fake_server import FakeServer

SPAN = Span(first=10, last=20)
# Before, before and reset since, somebody's own 0, meanwhile, meanwhile with its own value, afterwards.
SESSIONS = {3: 10.0, 4: 0.0, 5: 0.0, 12: 0.0, 13: 2.0, 25: 0.0}


def found(server: FakeServer, span: Span) -> list[tuple[int, bool]]:
    """Return (id, certain) of each."""
    return [(carrier.id, carrier.certain) for carrier in carriers(server.connection(), span) or ()]


def test_by_values() -> None:
    """MySQL shows each: one of before that was reset is among them, one with a value of its own is not."""
    assert found(FakeServer({}, SESSIONS), replace(SPAN, already=frozenset({5}))) == [(4, True), (12, True)]
    assert carrying_now(FakeServer({}, SESSIONS).connection()) == (4, 5, 12, 25)


def test_by_ids_and_by_the_log() -> None:
    """MariaDB shows none: those of meanwhile may; one of before does whose log shows it; the tool's own never."""
    server = FakeServer({}, SESSIONS)
    server.shows_values = False
    assert found(server, SPAN) == [(12, False), (13, False)]
    span = replace(SPAN, seen=frozenset({4}), own=frozenset({13}))
    assert found(server, span) == [(4, True), (12, False)]
    assert carrying_now(server.connection()) == ()


def test_listed() -> None:
    """A few by name, the rest as a number."""
    many = FakeServer({}, dict.fromkeys(range(11, 21), 0.0))
    text = listed(carriers(many.connection(), SPAN) or [])
    assert text.startswith("10 sessions: 11 (app@web1), 12 (app@web1)")
    assert text.endswith(", and 2 more")


def test_end_idle() -> None:
    """Idle and outside a transaction; one that is gone already is no fault; without the right, a sentence."""
    server = FakeServer({}, {11: 0.0, 12: 0.0, 13: 0.0, 14: 0.0})
    server.busy = {11}
    server.answers = [
        ("innodb_trx", [(12,)]),
        ("KILL CONNECTION 13", pymysql.err.OperationalError(1094, "Unknown thread id: 13")),
    ]
    con = server.connection()
    assert end_idle(con, carriers(con, SPAN) or []) == [14]
    server.answers = [("KILL", pymysql.err.OperationalError(1095, "You are not owner of thread"))]
    with pytest.raises(RefusedError, match="1095"):
        end_idle(con, carriers(con, SPAN) or [])
    server.answers = [("innodb_trx", pymysql.err.OperationalError(1227, "Access denied"))]
    with pytest.raises(RefusedError, match="PROCESS"):
        end_idle(con, carriers(con, SPAN) or [])
