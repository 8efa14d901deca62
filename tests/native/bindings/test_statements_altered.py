# SPDX-License-Identifier: Apache-2.0
"""Statements of all kinds with an altered word, letter or number, under every reading.

The results must depend only on the text and the reading. `known` returns all results, for comparison with an earlier
version.
"""

import random
from typing import Any

import pytest
from querytape.native.bindings.statements import Mode, Normalizer, placeholders
from querytape.schemas import CLASSES, DANGERS

from tests.capture.sources.test_logs_altered import LETTERS, change_letter, change_word, replace_number
from tests.native.bindings.test_statements import TABLES

pytestmark = pytest.mark.slow

TURNS = 80
SPECIAL = """
SELECT SHA2('pw', 256), AES_ENCRYPT(x, 'key'), LOAD_FILE('/x'), SLEEP(9), GET_LOCK('a', 1), LAST_INSERT_ID(), @@port FROM t
SELECT 'it''s', "a\\"b", N'x', _utf8'y' 'z', x'4D', 0x4D, b'01', 1.5e-3, .5, 5., `a``b`, @`v w`, NULL, DATE '2024-01-01'
SELECT a /* one */ -- two
SELECT /*!50000 STRAIGHT_JOIN */ a /*+ MAX_EXECUTION_TIME(9) */ FROM t # three
SELECT a FROM t WHERE b IN (1, 2, 3) AND c IN ((1, 2), (3, 4)) AND d BETWEEN -1 AND +2 OR e LIKE 'x%' ESCAPE '!' LIMIT 5, 10
SELECT a INTO DUMPFILE '/x' FROM t LOCK IN SHARE MODE
SELECT a FROM t FOR UPDATE SKIP LOCKED
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (?, DEFAULT) ON DUPLICATE KEY UPDATE a = a + 1
INSERT INTO t VALUES (1); UPDATE t SET a = 2; SELECT 3
CREATE USER 'a'@'%' IDENTIFIED BY 'secret', b IDENTIFIED WITH mysql_native_password AS '*AB12' REQUIRE SSL
ALTER USER a IDENTIFIED BY 'new' REPLACE 'old', b IDENTIFIED VIA ed25519 USING PASSWORD('x')
SET PASSWORD FOR 'a'@'h' = PASSWORD('x')
SET PASSWORD = 'x'
GRANT ALL ON *.* TO a IDENTIFIED BY 'pw' WITH GRANT OPTION
CHANGE MASTER TO MASTER_HOST = 'h', MASTER_PASSWORD = 'pw', MASTER_LOG_POS = 4
CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'pw' FOR CHANNEL 'c'
START REPLICA USER = 'u' PASSWORD = 'pw'
CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h', PASSWORD 'pw')
SET GLOBAL max_connections = 9, SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', @@local.autocommit = 0, names = 1
SET NAMES gbk COLLATE gbk_bin
SET CHARACTER SET sjis
SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'), @a := 5, autocommit = OFF, SQL_LOG_BIN = 0
SET STATEMENT max_statement_time = 1 FOR SELECT a FROM t
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE
SET DEFAULT ROLE x TO a
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY
BEGIN WORK
COMMIT AND CHAIN NO RELEASE
ROLLBACK TO SAVEPOINT s
XA START 'x', 'y', 1
LOCK TABLES t READ LOCAL, u AS v WRITE
UNLOCK TABLES
FLUSH LOCAL TABLES t WITH READ LOCK
KILL HARD QUERY ID 5
SHUTDOWN WAIT FOR ALL SLAVES
PREPARE p FROM 'SELECT ?'
EXECUTE p USING @a, @b
EXECUTE IMMEDIATE 'DROP TABLE t' USING 1
DEALLOCATE PREPARE p
CALL shop.p(1, @out, 'x')
HANDLER t READ i = (1) WHERE a > 2 LIMIT 1
CREATE OR REPLACE DEFINER = a@b PROCEDURE p(IN x INT) BEGIN SELECT 1; SELECT "2"; END
CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t
CREATE TEMPORARY TABLE IF NOT EXISTS tt ENGINE = MEMORY SELECT 1
DROP DATABASE IF EXISTS shop
INSTALL PLUGIN x SONAME 'x.so'
PURGE BINARY LOGS TO 'x'
RESET MASTER
ANALYZE TABLE t UPDATE HISTOGRAM ON a WITH 4 BUCKETS
EXPLAIN FORMAT = JSON ANALYZE DELETE FROM t WHERE a = 1
DESCRIBE t a
SHOW GRANTS FOR 'a'@'h'
SHOW FULL PROCESSLIST
USE `my shop`
HELP 'x'
DO RELEASE_LOCK('x'), SLEEP(1)
GET DIAGNOSTICS @n = NUMBER
BINLOG 'abc'
"""
MODES = [Mode(reading, charset, 7) for reading in range(4) for charset in range(4)] + [
    Mode(),
    Mode(0, 0, 3),
    Mode(2, 0, 2),
]


def known(normalizer: Normalizer, sql: bytes, mode: Mode) -> list[Any]:
    """Return all results of the normalizer for a statement."""
    return [*all_results(normalizer, sql, mode), [placeholders(sql, reading) for reading in range(4)]]


def all_results(normalizer: Normalizer, sql: bytes, mode: Mode) -> list[Any]:
    """Return all results for a statement except its placeholders."""
    found = normalizer.normalize(sql, mode)
    redacted = None if found.redacted is None else found.redacted.decode("latin1")
    behind = [str(normalizer.follow(mode, sql, outcome)) for outcome in (-1, 0, 1)]
    of = [found.digest, found.text, found.class_, found.danger, found.actions, found.flags, redacted, found.open_quote]
    how = normalizer.properties(sql, mode)
    return [of, normalizer.names(sql, mode), how, behind, str(normalizer.mode_of(found.digest, sql))]


def altered(place: int, turn: int, text: str, statements: list[str]) -> tuple[random.Random, bytes]:
    """Return an altered statement, sometimes joined with another statement. Turn 0 returns the statement unaltered."""
    chance, sql = random.Random(f"{place} {turn}"), text.encode()
    for _ in range(min(turn, chance.randrange(1, 4))):
        sql = chance.choice([replace_number, change_word, change_word, change_letter, change_letter])(chance, sql)
    if turn > 0 and chance.random() < 0.15:
        sql += chance.choice([b";", b" ", b" /* ", b"; "]) + chance.choice(statements).encode()
    return chance, sql


@pytest.mark.long
def test_results_do_not_depend_on_earlier_statements() -> None:
    """Earlier statements in the same normalizer must not change the result. Class and danger codes must be valid, and
    placeholders must be at a `?`.
    """
    used, statements = Normalizer(), [*SPECIAL.strip().splitlines(), *TABLES]
    for place, text in enumerate(statements):
        for turn in range(TURNS):
            chance, sql = altered(place, turn, text, statements)
            fresh = Normalizer()
            for mode in (Mode(), chance.choice(MODES)):
                assert known(used, sql, mode) == known(fresh, sql, mode), (sql, mode)
                found = used.normalize(sql, mode)
                assert found.class_ < len(CLASSES), sql
                assert found.danger < len(DANGERS), sql
                assert used.normalize(sql, used.mode_of(found.digest, sql)).digest == found.digest, (sql, mode)
            for reading in range(4):
                at = placeholders(sql, reading)
                assert at == sorted(set(at)), (sql, reading)
                assert all(sql[offset : offset + 1] == b"?" for offset in at), (sql, reading)


def test_bytes_after_a_statement_are_not_read() -> None:
    """The result of a truncated statement does not depend on the bytes after it in memory.

    The test places the rest of the statement, other bytes, or nothing after the truncated statement.
    """
    normalizer, chance = Normalizer(), random.Random(1)
    for text in [*SPECIAL.strip().splitlines(), *TABLES]:
        whole = text.encode()
        for size in range(len(whole) + 1):
            mode, alone = chance.choice([Mode(), *MODES]), whole[:size]
            wanted = all_results(normalizer, alone, mode)
            for behind in (whole[size:], bytes([chance.choice(LETTERS)]) * 9, b"0z*/ x"):
                part: Any = memoryview(alone + behind)[:size]
                assert all_results(normalizer, part, mode) == wanted, (alone, behind)
