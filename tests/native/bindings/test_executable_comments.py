# SPDX-License-Identifier: Apache-2.0
"""Words inside comments that servers execute are words: any words of any statement, by the versions of both families."""

import pytest
from querytape.native.bindings.statements import Normalizer, Statement
from querytape.schemas import ACTIONS, CLASSES, DANGERS, PROPERTIES

STATEMENTS = """START TRANSACTION
START TRANSACTION READ ONLY
START TRANSACTION WITH CONSISTENT SNAPSHOT
START TRANSACTION READ WRITE
BEGIN WORK
COMMIT WORK AND CHAIN NO RELEASE
ROLLBACK WORK TO SAVEPOINT s
ROLLBACK AND NO CHAIN
SAVEPOINT s
RELEASE SAVEPOINT s
XA START 'x'
SET autocommit = 0
SET SESSION autocommit = ON
SET SESSION TRANSACTION READ WRITE
SET GLOBAL max_connections = 10
SELECT a FROM t WHERE b = 1 FOR UPDATE
SELECT a FROM t LOCK IN SHARE MODE
SELECT a FROM t INTO OUTFILE 'x'
INSERT INTO t VALUES ( 1 )
REPLACE INTO t SELECT a FROM u
UPDATE t SET a = 1
DELETE FROM t
LOAD DATA INFILE 'x' INTO TABLE t
CREATE TABLE t ( a INT )
CREATE TEMPORARY TABLE t ( a INT )
DROP TEMPORARY TABLE t
TRUNCATE TABLE t
LOCK TABLES t WRITE
UNLOCK TABLES
LOCK INSTANCE FOR BACKUP
FLUSH TABLES WITH READ LOCK
START SLAVE
STOP REPLICA SQL_THREAD
KILL QUERY 5
GRANT SELECT ON t TO u
ANALYZE TABLE t
CALL p
USE shop
SHOW WARNINGS""".splitlines()
BY_ALL = ("/*! {} */", "/*!40101 {} */", "/*!50000 {}*/", "/*!50699 {} */")
BY_SOME = ("/*!50700 {} */", "/*!80013 {} */", "/*!99999 {} */", "/*!100100 {} */", "/*M! {} */", "/*M!100100 {} */")


def read(sql: str) -> Statement:
    """Return what a text is."""
    return Normalizer().normalize(sql.encode())


def wrapped(sql: str, comment: str) -> list[str]:
    """Return the statement with each run of its words in a comment."""
    words = sql.split(" ")
    ends = range(1, len(words) + 1)
    return [
        " ".join([*words[:first], comment.format(" ".join(words[first:behind])), *words[behind:]])
        for behind in ends
        for first in range(behind)
    ]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_every_server_executes(sql: str) -> None:
    """Without a version, or one that every server of today has reached, the comment's words are the statement's."""
    plain = read(sql)
    for comment in BY_ALL:
        for text in wrapped(sql, comment):
            found = read(text)
            assert (found.class_, found.danger, found.actions) == (plain.class_, plain.danger, plain.actions), text


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_some_servers_execute(sql: str) -> None:
    """Where a server may take the words for a comment, nothing is missed of what the others do."""
    plain = read(sql)
    for comment in BY_SOME:
        for text in wrapped(sql, comment):
            found = read(text)
            assert found.danger != DANGERS["none"] or plain.danger == DANGERS["none"], text
            assert found.actions & plain.actions == plain.actions, text
            assert found.class_ != CLASSES.index("read") or plain.class_ == CLASSES.index("read"), text


@pytest.mark.parametrize("comment", BY_SOME)
@pytest.mark.parametrize("sql", STATEMENTS[:4])
def test_a_transactions_begin(sql: str, comment: str) -> None:
    """START alone is no statement of any server: where TRANSACTION is in a comment it begins one, or fails."""
    _, behind, *more = sql.split(" ")
    found = read(" ".join(["START", comment.format(behind), *more]))
    assert found.class_ == CLASSES.index("transaction")
    assert found.actions & (ACTIONS["begin"] | ACTIONS["implicit_commit"]) == ACTIONS["begin"]


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("INSERT INTO t VALUES ( 1 )", "adds_rows"),
        ("EXPLAIN FORMAT = JSON DELETE FROM t", "explains_write"),
        ("SELECT a FROM t ORDER BY b LIMIT 1", "order_by"),
        ("XA PREPARE 'x'", "prepares_xa"),
    ],
)
def test_properties(sql: str, name: str) -> None:
    """A statement is written so whichever of its words are in a comment that servers execute."""
    for comment in (*BY_ALL, *BY_SOME):
        for text in wrapped(sql, comment):
            assert Normalizer().properties(text.encode()) & PROPERTIES[name], text


@pytest.mark.parametrize("comment", BY_SOME)
def test_what_some_servers_explain(comment: str) -> None:
    """EXPLAIN of what is a write for one server only counts as one of a write, and is not asked for its plan."""
    text = f"EXPLAIN {comment.format('SELECT a FROM t WHERE b IN (')} DELETE FROM t {comment.format(')')}"
    assert Normalizer().properties(text.encode()) & PROPERTIES["explains_write"]
    text = f"{comment.format('SELECT')} DROP TABLE t"
    assert not Normalizer().properties(text.encode()) & PROPERTIES["explainable"]
