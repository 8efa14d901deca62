# SPDX-License-Identifier: Apache-2.0
"""Executable comments count as code. The comment may contain any words of a statement and may name a version of MySQL
or MariaDB.
"""

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
    """Return the normalizer's result for a text."""
    return Normalizer().normalize(sql.encode())


def wrapped(sql: str, comment: str) -> list[str]:
    """Return all variants of a statement in which a run of consecutive words is inside a comment."""
    words = sql.split(" ")
    ends = range(1, len(words) + 1)
    return [
        " ".join([*words[:first], comment.format(" ".join(words[first:behind])), *words[behind:]])
        for behind in ends
        for first in range(behind)
    ]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_comments_executed_by_every_server_count_as_code(sql: str) -> None:
    """Every server executes comments without a version, and comments with a version that all current servers have
    reached.
    """
    plain = read(sql)
    for comment in BY_ALL:
        for text in wrapped(sql, comment):
            found = read(text)
            assert (found.class_, found.danger, found.actions) == (plain.class_, plain.danger, plain.actions), text


@pytest.mark.parametrize("sql", STATEMENTS)
def test_comments_executed_by_some_servers_keep_the_danger(sql: str) -> None:
    """Some servers ignore the comment and others execute it. The result must cover the effects on the servers that
    execute it.
    """
    plain = read(sql)
    for comment in BY_SOME:
        for text in wrapped(sql, comment):
            found = read(text)
            assert found.danger != DANGERS["none"] or plain.danger == DANGERS["none"], text
            assert found.actions & plain.actions == plain.actions, text
            assert found.class_ != CLASSES.index("read") or plain.class_ == CLASSES.index("read"), text


@pytest.mark.parametrize("comment", BY_SOME)
@pytest.mark.parametrize("sql", STATEMENTS[:4])
def test_start_with_commented_transaction_begins_a_transaction(sql: str, comment: str) -> None:
    """No server accepts START without TRANSACTION. If TRANSACTION is in an executable comment, the statement begins a
    transaction or fails.
    """
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
def test_properties_survive_executable_comments(sql: str, name: str) -> None:
    for comment in (*BY_ALL, *BY_SOME):
        for text in wrapped(sql, comment):
            assert Normalizer().properties(text.encode()) & PROPERTIES[name], text


@pytest.mark.parametrize("comment", BY_SOME)
def test_explain_of_a_write_on_some_servers_counts_as_write(comment: str) -> None:
    """The plan of a statement is not requested if the statement is a write on some servers."""
    text = f"EXPLAIN {comment.format('SELECT a FROM t WHERE b IN (')} DELETE FROM t {comment.format(')')}"
    assert Normalizer().properties(text.encode()) & PROPERTIES["explains_write"]
    text = f"{comment.format('SELECT')} DROP TABLE t"
    assert not Normalizer().properties(text.encode()) & PROPERTIES["explainable"]
