# SPDX-License-Identifier: Apache-2.0
"""Prepared XA transactions: their names, whatever bytes are in them, and their end."""

import random
from collections.abc import Iterator
from contextlib import closing

import pymysql
import pytest
from querytape.servers.prepared import Xid, end_prepared, prepared_transactions, verb_and_xid, xa_statements
from querytape.servers.sandbox import Server


def xid_of(statement: str) -> Xid | None:
    """Return the name that an XA PREPARE has, None for any other text."""
    verb, xid = verb_and_xid(statement)
    return xid if verb == "prepare" else None


NAMES = [
    Xid(b"g"),
    Xid(b"g", b"b"),
    Xid(b"g1-0", b"", 7),
    Xid(b"it's", b"o'clock", 2),
    Xid(b"0x41"),
    Xid(b"X'41'", b"'"),
    Xid(b"\x00\xff\x80", b"\xfe", 4711),
    Xid("ü".encode(), b"\n"),
    Xid(bytes(range(64)), bytes(range(192, 256)), 2**31 - 1),
]


@pytest.fixture
def bank(server: Server) -> Iterator[Server]:
    """A server with a table, and without prepared transactions."""
    server.execute("CREATE DATABASE bank")
    server.execute("CREATE TABLE bank.account (id INT PRIMARY KEY, n INT)")
    yield server
    with closing(server.connect()) as con:
        assert end_prepared(con, prepared_transactions(con) or ()) == []
    server.execute("DROP DATABASE bank")


@pytest.mark.parametrize("xid", NAMES, ids=str)
def test_names_of_any_bytes(bank: Server, xid: Xid) -> None:
    """What a session has left is found by its name, and rolled back by it."""
    with closing(bank.connect(db="bank")) as con, con.cursor() as cursor:
        for statement in ("XA START {}", "INSERT INTO account VALUES (1, 1)", "XA END {}", "XA PREPARE {}"):
            cursor.execute(statement.format(xid.literal))
    with closing(bank.connect()) as con:
        assert prepared_transactions(con) == (xid,)
        assert end_prepared(con, [xid]) == []
        assert prepared_transactions(con) == ()
    assert bank.execute("SELECT count(*) FROM bank.account") == ((0,),)


@pytest.mark.sampled
def test_what_the_server_does_not_let_go(bank: Server) -> None:
    """A name that it does not know."""
    with closing(bank.connect()) as con:
        assert end_prepared(con, [Xid(b"unknown")]) == [Xid(b"unknown")]


def test_an_account_that_may_not_see_them(bank: Server) -> None:
    """Nothing is known where the server asks for a privilege, as MySQL 8 does."""
    bank.execute("CREATE USER blind")
    with closing(pymysql.connect(host="127.0.0.1", port=bank.port, user="blind", ssl_disabled=True)) as con:
        assert prepared_transactions(con) in ((), None)
    bank.execute("DROP USER blind")


@pytest.mark.parametrize("xid", NAMES, ids=str)
def test_the_name_of_a_statement(xid: Xid) -> None:
    """In hexadecimal digits, as the parser of the server takes them."""
    assert xid_of(f"XA PREPARE {xid.literal}") == xid
    assert xid_of(f"  xa  prepare\t0x{xid.gtrid.hex()} , x'{xid.bqual.hex()}',{xid.format_id} ;\n") == xid


STATEMENTS = [
    ("XA PREPARE 'g1-0'", Xid(b"g1-0")),
    ("XA PREPARE 'a','b'", Xid(b"a", b"b")),
    ("XA PREPARE 'a', \"b\", 0x1f", Xid(b"a", b"b", 31)),
    ("XA PREPARE 'it''s', 'o\\'clock'", Xid(b"it's", b"o'clock")),
    ("XA PREPARE ''", Xid(b"")),
    ("/* app */ XA /**/ PREPARE 'a' -- x\n;", Xid(b"a")),
    ("XA PREPARE 'a#b','c-- d' /* e */", Xid(b"a#b", b"c-- d")),
    ('XA PREPARE "a/*b*/" # c', Xid(b"a/*b*/")),
    ("XA PREPARE 0x123, x'', 01", Xid(b"\x01\x23")),
    ("XA PREPARE 'a\\nb\\'c'", Xid(b"a\nb'c")),
    ("XA COMMIT 'g'", None),
    ("XA PREPARE", None),
    ("XA PREPARE g", None),
    ("XA PREPARE 'a' 'b'", None),
    ("XA PREPARE 'a'; DROP TABLE t", None),
]


@pytest.mark.parametrize(("statement", "xid"), STATEMENTS)
def test_how_people_write_names(statement: str, xid: Xid | None) -> None:
    """In either quotes, with one, two or three parts; anything else has no name."""
    assert xid_of(statement) == xid


def test_statements_that_end_a_transaction() -> None:
    """With the name; the end of what was not prepared has another form."""
    assert verb_and_xid("xa /* x */ COMMIT 'g', 'b';") == ("commit", Xid(b"g", b"b"))
    assert verb_and_xid("XA ROLLBACK X'67',X'',1") == ("rollback", Xid(b"g"))
    assert verb_and_xid("XA COMMIT 'g' ONE  PHASE") == ("commit", Xid(b"g"))
    assert verb_and_xid("XA END 'g' SUSPEND FOR MIGRATE") == ("end", Xid(b"g"))
    assert verb_and_xid("XA END b'1100111', 0b101100010") == ("end", Xid(b"g", b"\x01b"))
    assert verb_and_xid("xa start 'g','b',7 join") == ("start", Xid(b"g", b"b", 7))
    assert verb_and_xid("XA RECOVER") == verb_and_xid("XA COMMIT 'g' TWO PHASE") == ("", None)


def test_no_text_takes_long() -> None:
    """Random texts of the letters that matter."""
    chance = random.Random(3)
    assert xid_of("XA PREPARE 'a'" + " " * 200_000 + "x") is None
    for _ in range(2000):
        text = "XA PREPARE " + "".join(chance.choice("'\"\\x0a, 1;") for _ in range(chance.randrange(60)))
        found = xid_of(text)
        assert found is None or len(found.gtrid) <= len(text)


def test_a_text_of_several_statements() -> None:
    """Each of its XA statements, in order; none in a literal, a name or a comment."""
    text = (
        "XA START 'a;b'; UPDATE t SET x = '; XA PREPARE z; '; /* ; XA PREPARE 'y'; */ -- ; XA PREPARE 'x';\n"
        "XA END 'a;b'; SELECT `; XA PREPARE 'w';` FROM t; xa prepare 'a;b';"
    )
    name = Xid(b"a;b")
    assert list(xa_statements(text)) == [("start", name), ("end", name), ("prepare", name)]
    assert list(xa_statements("XA COMMIT 'g'")) == [("commit", Xid(b"g"))]
    assert list(xa_statements("SELECT 1;")) == list(xa_statements("")) == []
