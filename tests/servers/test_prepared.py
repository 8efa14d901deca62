# SPDX-License-Identifier: Apache-2.0
"""Tests of prepared XA transactions: their names, which may contain any bytes, and their rollback."""

import random
from collections.abc import Iterator
from contextlib import closing

import pymysql
import pytest
from querytape.servers.prepared import Xid, end_prepared, prepared_transactions, verb_and_xid, xa_statements
from querytape.servers.sandbox import Server


def xid_of(statement: str) -> Xid | None:
    """Return the transaction name in an XA PREPARE statement, or None for any other text."""
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
    """A server with a table and without prepared transactions."""
    server.execute("CREATE DATABASE bank")
    server.execute("CREATE TABLE bank.account (id INT PRIMARY KEY, n INT)")
    yield server
    with closing(server.connect()) as con:
        assert end_prepared(con, prepared_transactions(con) or ()) == []
    server.execute("DROP DATABASE bank")


@pytest.mark.parametrize("xid", NAMES, ids=str)
def test_prepared_transaction_with_any_name_is_rolled_back(bank: Server, xid: Xid) -> None:
    with closing(bank.connect(db="bank")) as con, con.cursor() as cursor:
        for statement in ("XA START {}", "INSERT INTO account VALUES (1, 1)", "XA END {}", "XA PREPARE {}"):
            cursor.execute(statement.format(xid.literal))
    with closing(bank.connect()) as con:
        assert prepared_transactions(con) == (xid,)
        assert end_prepared(con, [xid]) == []
        assert prepared_transactions(con) == ()
    assert bank.execute("SELECT count(*) FROM bank.account") == ((0,),)


@pytest.mark.sampled
def test_transaction_that_cannot_be_found_stays_in_the_list(bank: Server) -> None:
    with closing(bank.connect()) as con:
        assert end_prepared(con, [Xid(b"unknown")]) == [Xid(b"unknown")]


def test_account_without_privilege_sees_no_prepared_transactions(bank: Server) -> None:
    """MySQL 8 requires a privilege for the list, so the result is None."""
    bank.execute("CREATE USER blind")
    with closing(pymysql.connect(host="127.0.0.1", port=bank.port, user="blind", ssl_disabled=True)) as con:
        assert prepared_transactions(con) in ((), None)
    bank.execute("DROP USER blind")


@pytest.mark.parametrize("xid", NAMES, ids=str)
def test_hexadecimal_name_is_read(xid: Xid) -> None:
    """The server accepts names in hexadecimal digits."""
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
def test_each_notation_of_a_transaction_name_is_read(statement: str, xid: Xid | None) -> None:
    """A name has one, two or three parts, with either kind of quotes. Other texts give no name."""
    assert xid_of(statement) == xid


def test_verb_and_name_of_xa_statements() -> None:
    """XA COMMIT ... ONE PHASE ends a transaction that was not prepared."""
    assert verb_and_xid("xa /* x */ COMMIT 'g', 'b';") == ("commit", Xid(b"g", b"b"))
    assert verb_and_xid("XA ROLLBACK X'67',X'',1") == ("rollback", Xid(b"g"))
    assert verb_and_xid("XA COMMIT 'g' ONE  PHASE") == ("commit", Xid(b"g"))
    assert verb_and_xid("XA END 'g' SUSPEND FOR MIGRATE") == ("end", Xid(b"g"))
    assert verb_and_xid("XA END b'1100111', 0b101100010") == ("end", Xid(b"g", b"\x01b"))
    assert verb_and_xid("xa start 'g','b',7 join") == ("start", Xid(b"g", b"b", 7))
    assert verb_and_xid("XA RECOVER") == verb_and_xid("XA COMMIT 'g' TWO PHASE") == ("", None)


def test_random_text_is_parsed_fast() -> None:
    """The texts consist of quotes, digits, commas and backslashes."""
    chance = random.Random(3)
    assert xid_of("XA PREPARE 'a'" + " " * 200_000 + "x") is None
    for _ in range(2000):
        text = "XA PREPARE " + "".join(chance.choice("'\"\\x0a, 1;") for _ in range(chance.randrange(60)))
        found = xid_of(text)
        assert found is None or len(found.gtrid) <= len(text)


def test_xa_statements_of_a_multi_statement_text() -> None:
    """The XA statements are listed in order. Literals, quoted names and comments are skipped."""
    text = (
        "XA START 'a;b'; UPDATE t SET x = '; XA PREPARE z; '; /* ; XA PREPARE 'y'; */ -- ; XA PREPARE 'x';\n"
        "XA END 'a;b'; SELECT `; XA PREPARE 'w';` FROM t; xa prepare 'a;b';"
    )
    name = Xid(b"a;b")
    assert list(xa_statements(text)) == [("start", name), ("end", name), ("prepare", name)]
    assert list(xa_statements("XA COMMIT 'g'")) == [("commit", Xid(b"g"))]
    assert list(xa_statements("SELECT 1;")) == list(xa_statements("")) == []
