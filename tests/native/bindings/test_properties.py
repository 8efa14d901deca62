# SPDX-License-Identifier: Apache-2.0
"""The statement properties of names.toml."""

import pytest
from querytape.native.bindings.statements import Mode, Normalizer
from querytape.schemas import PROPERTIES

ALL = "asks_rows"
WRITTEN = {
    "": "",
    "SELECT a FROM t": f"{ALL} explainable",
    "(SELECT a FROM t)": f"{ALL} explainable",
    "TABLE t ORDER BY a": f"{ALL} explainable order_by selects_all sorts",
    "SELECT 1; SELECT 2": ALL,
    "SELECT 1;": f"{ALL} explainable",
    "COMMIT": ALL,
    # added rows
    "INSERT INTO t VALUES (1, 2), (3, 4)": "adds_rows explainable",
    "INSERT IGNORE INTO t VALUES (1)": "adds_rows explainable",
    "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1": f"{ALL} adds_rows explainable",
    "INSERT INTO t VALUES (1) RETURNING id": "adds_rows explainable hides_ids",
    "INSERT INTO t SELECT a FROM u": f"{ALL} adds_rows copies_rows explainable",
    "INSERT INTO t TABLE u": f"{ALL} adds_rows copies_rows explainable",
    "INSERT INTO t VALUES ((SELECT max(a) FROM u))": f"{ALL} adds_rows copies_rows explainable",
    "REPLACE INTO t VALUES (1)": f"{ALL} adds_rows explainable",
    "LOAD DATA INFILE 'x' INTO TABLE t": f"{ALL} adds_rows copies_rows hides_ids",
    "LOAD INDEX INTO CACHE t": ALL,
    "SET STATEMENT max_statement_time = 1 FOR INSERT INTO t VALUES (1)": "adds_rows",
    "SELECT 1; INSERT INTO t VALUES (1)": f"{ALL} adds_rows",
    "SELECT replace(a, 'b', 'c'), insert(a, 1, 2, 'x') FROM t": f"{ALL} explainable",
    "ANALYZE FORMAT=JSON INSERT INTO t VALUES (1)": "adds_rows",
    "ANALYZE TABLE t": ALL,
    "CREATE TABLE x (a INT); INSERT INTO t VALUES (1); CALL p()": f"{ALL} adds_rows calls_procedure",
    "SET STATEMENT a = (SELECT 1) FOR INSERT INTO t VALUES (1)": "adds_rows",
    "BEGIN NOT ATOMIC INSERT INTO t VALUES (1); END": f"{ALL} adds_rows",
    "IF 1 THEN INSERT INTO t VALUES (1); ELSE CALL p(); END IF": f"{ALL} adds_rows calls_procedure",
    "WHILE 1 DO XA PREPARE 'x'; END WHILE": f"{ALL} prepares_xa",
    "CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW BEGIN INSERT INTO u VALUES (1); INSERT INTO v VALUES (1); END": ALL,
    # kind of statement
    "CALL p()": f"{ALL} calls_procedure",
    "SHOW TABLES": f"{ALL} shows",
    "DESC t": f"{ALL} shows",
    "SHOW TABLES; DESC t": f"{ALL} shows",
    "SHOW TABLES; SELECT a FROM t": ALL,
    "SELECT a FROM t; SHOW WARNINGS": ALL,
    "EXPLAIN (SELECT a FROM t) UNION (SELECT b FROM u) ORDER BY REPLACE(a, 'x', 'y')": f"{ALL} order_by shows sorts",
    "SET STATEMENT sql_mode = REPLACE(@@sql_mode, 'a', '') FOR EXPLAIN SELECT 1": f"{ALL} session_in_condition shows",
    "EXPLAIN SELECT a FROM t FOR UPDATE": f"{ALL} shows",
    "EXPLAIN FORMAT=JSON INTO @x UPDATE t SET a = 1": f"{ALL} explains_write shows session_in_condition",
    "EXPLAIN WITH c AS (SELECT 1) DELETE FROM t": f"{ALL} explains_write shows",
    "PREPARE s FROM 'SELECT 1'": f"{ALL} prepares_text",
    "DROP PREPARE s": f"{ALL} prepares_text",
    "DROP TABLE `prepare`": ALL,
    "XA PREPARE 'x'": f"{ALL} prepares_xa",
    "USE shop; SELECT a FROM t": f"{ALL} changes_schema",
    "XA ROLLBACK 'x'": f"{ALL} ends_xa",
    "SELECT GET_LOCK('a', 1), `release_lock`('b'), get_lock": f"{ALL} explainable frees_user_lock takes_user_lock",
    "DO IS_FREE_LOCK('a')": f"{ALL} looks_at_user_lock session_in_condition",
    "SET GLOBAL auto_increment_offset = 2": f"{ALL} sets_id_steps_global",
    "SET auto_increment_increment = 1, @@GLOBAL.auto_increment_offset = 2": f"{ALL} session_in_condition sets_id_steps_global",
    "SET GLOBAL a = 1, SESSION auto_increment_offset = 2": ALL,
    "SET @@global.auto_increment_increment = 2": f"{ALL} session_in_condition sets_id_steps_global",
    "SET auto_increment_increment = DEFAULT": f"{ALL} sets_id_steps_back",
    "SET auto_increment_increment = @@GLOBAL.auto_increment_increment": f"{ALL} session_in_condition sets_id_steps_back",
    "SELECT @@global.auto_increment_increment": f"{ALL} explainable",
    # order and limits
    "SELECT a FROM t ORDER BY a LIMIT 3, 4": f"{ALL} explainable limit order_by sorts",
    "SELECT a FROM t ORDER BY RAND() LIMIT ?": f"{ALL} explainable limit order_by_random sorts",
    "SELECT a FROM t ORDER BY RAND(), uuid()": f"{ALL} chance chance_in_condition explainable order_by_random sorts",
    "UPDATE t SET a = 1 ORDER BY RAND() LIMIT 1": f"{ALL} chance chance_in_condition explainable limit order_by sorts",
    "SELECT a FROM t GROUP BY a FETCH FIRST 3 ROWS ONLY": f"{ALL} explainable group_by limit sorts",
    "SELECT COUNT(*), MAX(a) FROM t LIMIT 1": f"{ALL} explainable",
    "SELECT ROUND(SUM(a) / 3) FROM t LIMIT 1": f"{ALL} explainable",
    "SELECT COUNT(*) FROM t GROUP BY a LIMIT 1": f"{ALL} explainable group_by limit sorts",
    "SELECT SUM(a) OVER (), b FROM t LIMIT 1": f"{ALL} explainable limit",
    "SELECT COUNT(*) FROM t UNION SELECT 2 LIMIT 1": f"{ALL} explainable limit",
    "SELECT (SELECT COUNT(*) FROM u), a FROM t LIMIT 1": f"{ALL} explainable limit",
    "SELECT a FROM t WHERE b = (SELECT MAX(c) FROM u LIMIT 1)": f"{ALL} explainable",
    "SELECT a FROM t FORCE INDEX FOR ORDER BY (i) LIMIT 5": f"{ALL} explainable limit",
    "SELECT a FROM t USE INDEX FOR GROUP BY (i)": f"{ALL} explainable",
    "SELECT a FROM t LIMIT ROWS EXAMINED 9": f"{ALL} explainable",
    "SELECT a FROM t WHERE b IN (SELECT c FROM u LIMIT 1) ORDER BY a": f"{ALL} explainable limit_inside order_by sorts",
    "SELECT a FROM t WHERE b IN (SELECT c FROM u ORDER BY c LIMIT 1)": f"{ALL} explainable sorts",
    "SELECT group_concat(a), group_concat(concat(a, b) ORDER BY a) FROM t": f"{ALL} concat_unsorted explainable sorts",
    "SELECT group_concat(concat(a, b) ORDER BY a) FROM t": f"{ALL} explainable sorts",
    "SELECT row_number() OVER (ORDER BY a) FROM t": f"{ALL} explainable sorts",
    "SELECT `limit`, t.limit FROM t": f"{ALL} explainable",
    "SELECT a FROM t /* LIMIT 1 */ WHERE b = 'LIMIT 1' -- ORDER BY c": f"{ALL} explainable",
    "SELECT a FROM t WHERE b IN (SELECT c FROM u GROUP BY c)": f"{ALL} explainable group_by sorts",
    "SELECT a FROM (SELECT b, c FROM t) d": f"{ALL} explainable",
    "SELECT a, b FROM t USE INDEX FOR JOIN (i, j) WHERE c IN (1, 2)": f"{ALL} explainable",
    "SELECT a FROM t, u": f"{ALL} explainable joins",
    "SELECT a FROM t x, (SELECT b FROM u) y": f"{ALL} explainable joins",
    "SELECT a FROM ((t, u))": f"{ALL} explainable joins",
    "SELECT a FROM t NATURAL LEFT JOIN u": f"{ALL} explainable joins",
    "SELECT a FROM t STRAIGHT_JOIN u": f"{ALL} explainable joins",
    "SELECT STRAIGHT_JOIN * FROM t": f"{ALL} explainable selects_all",
    "UPDATE t, u SET a = 1, b = 2": f"{ALL} explainable joins",
    "UPDATE t SET a = 1, b = 2": f"{ALL} explainable",
    "UPDATE (t, u) SET a = 1": f"{ALL} explainable joins",
    "DELETE a FROM a, b": f"{ALL} explainable joins",
    "DELETE FROM a USING a, b": f"{ALL} explainable joins",
    "SELECT a FROM t INTO OUTFILE 'x', 'y'": f"{ALL} explainable",
    "SELECT a FROM t WINDOW w AS (ORDER BY a), v AS (ORDER BY b)": f"{ALL} explainable sorts",
    "SELECT DISTINCT * FROM t": f"{ALL} explainable selects_all",
    "SELECT t . * FROM t": f"{ALL} explainable selects_all",
    "SELECT COUNT(*), a * b FROM t": f"{ALL} explainable",
    "INSERT INTO t VALUES (1) RETURNING *": "adds_rows explainable hides_ids selects_all",
    # conditions
    "SELECT NOW(), SYSDATE(), uuid(), @a": f"{ALL} chance explainable sysdate",
    "SELECT a FROM t WHERE b < NOW()": f"{ALL} explainable time_in_condition",
    "SELECT EXTRACT(YEAR FROM NOW()), a FROM t": f"{ALL} explainable",
    "SELECT (SELECT max(a) FROM t WHERE b < CURRENT_DATE) FROM u": f"{ALL} explainable time_in_condition",
    "INSERT INTO t VALUES (NOW(), UUID(), LAST_INSERT_ID())": "adds_rows chance explainable",
    "INSERT INTO shop.ignore VALUES (NOW())": "adds_rows explainable",
    "SELECT a FROM t WHERE b = @@local.timestamp": f"{ALL} explainable session_in_condition time_in_condition",
    "INSERT IGNORE INTO t VALUES (NOW())": "adds_rows explainable time_in_condition",
    "UPDATE t SET a = NOW()": f"{ALL} explainable time_in_condition",
    "SELECT a FROM t WHERE b = @@session.timestamp": f"{ALL} explainable session_in_condition time_in_condition",
    "SELECT NEXT VALUE FOR s FROM t": f"{ALL} explainable",
    "SELECT a FROM t HAVING a = NEXT VALUE FOR s": f"{ALL} explainable session_in_condition",
    "SELECT a FROM t WHERE b = CURRENT_USER()": f"{ALL} explainable session_in_condition",
    # nested deeper than the parser tracks
    f"SELECT a FROM t WHERE {'(' * 200}b < NOW(){')' * 200} ORDER BY a": f"{ALL} explainable order_by sorts time_in_condition",
    f"SELECT a{')' * 200} FROM t LIMIT 1": f"{ALL} explainable limit",
}


def names(sql: str, mode: Mode | None = None) -> str:
    """Return the sorted property names of a statement."""
    bits = Normalizer().properties(sql.encode(), mode)
    return " ".join(sorted(name for name, bit in PROPERTIES.items() if bits & bit))


@pytest.mark.parametrize("sql", WRITTEN)
def test_properties_are_found_in_any_letter_case(sql: str) -> None:
    assert names(sql) == names(sql.lower()) == " ".join(sorted(WRITTEN[sql].split()))


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_has_an_example(name: str) -> None:
    """Each property needs an example with the property and an example without it."""
    assert {name in found.split() for found in WRITTEN.values()} == {True, False}


def test_quotes_are_read_in_the_session_mode() -> None:
    """The same text can be code for one session and a literal for another."""
    sql = r"SELECT '\' ORDER BY a -- '"
    assert names(sql) == "asks_rows explainable"
    assert names(sql, Mode(reading=1)) == "asks_rows explainable order_by sorts"
