# SPDX-License-Identifier: Apache-2.0
"""The Python interface of the normalizer. Its rules are tested in C (tests/native/test_normalize.c)."""

from itertools import permutations

import pytest
from querytape.native.bindings.statements import Mode, Normalizer, placeholders
from querytape.schemas import CLASSES, DANGERS

TABLES = {
    "SELECT 1": "",
    "SELECT a FROM t": "t",
    "select A from `T` WHERE b = 'from x'": "t",
    "SELECT a FROM shop.orders o, shop.`lines` AS l": "shop.orders shop.lines",
    "SELECT a FROM t WHERE b IN (1, 2) ORDER BY c, d": "t",
    "SELECT a FROM t JOIN u ON t.a = u.a AND f(u.b, 1), v WHERE x": "t u v",
    "SELECT a FROM t LEFT JOIN u USING (a, b) STRAIGHT_JOIN v": "t u v",
    "SELECT a FROM (t, u) JOIN (v JOIN w)": "t u v w",
    "SELECT a FROM (SELECT b, c FROM t GROUP BY b, c) d, u": "t u",
    "SELECT a, (SELECT MAX(b) FROM u) FROM t WHERE EXISTS (SELECT 1 FROM v)": "u t v",
    "SELECT EXTRACT(YEAR FROM d), TRIM(BOTH 'x' FROM s), SUBSTRING(s FROM 2) FROM t": "t",
    "SELECT a FROM t WHERE b IS DISTINCT FROM c": "t",
    "SELECT a FROM t USE INDEX (i, j) FORCE INDEX FOR JOIN (k), u": "t u",
    "SELECT a FROM t PARTITION (p, q) AS x": "t",
    "SELECT a FROM t UNION ALL SELECT b FROM u LIMIT 1, 2": "t u",
    "SELECT a FROM t FOR UPDATE OF t": "t",
    "SELECT a INTO @b FROM t": "t",
    "SELECT a INTO OUTFILE 'x' FROM t": "t",
    "SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) j, t": "t",
    "SELECT 1 FROM DUAL": "",
    "SELECT a FROM user, event, session": "user event session",
    "(SELECT a FROM t) UNION (SELECT b FROM u)": "t u",
    "TABLE t": "t",
    "VALUES ROW(1, 2)": "",
    "WITH x AS (SELECT a FROM t), y (b) AS (SELECT a FROM x) SELECT * FROM x, y, u": "t u",
    "WITH t AS (SELECT a FROM t) SELECT * FROM t": "t",
    "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT * FROM x JOIN t": "t",
    "SELECT a FROM t GROUP BY a WITH ROLLUP": "t",
    "SELECT a, b FROM t WINDOW w AS (ORDER BY a), x AS (ORDER BY b)": "t",
    "INSERT INTO t (a, b) VALUES (1, 2), (3, 4)": "t",
    "INSERT IGNORE t SET a = 1, b = 2": "t",
    "INSERT INTO t SELECT a FROM u ON DUPLICATE KEY UPDATE a = VALUES(a), b = 2": "t u",
    "REPLACE DELAYED INTO shop.t VALUES (REPLACE('a', 'b', 'c'), INSERT('x', 1, 1, 'y'))": "shop.t",
    "UPDATE t SET a = 1, b = 2 WHERE c IN (SELECT d FROM u)": "t u",
    "UPDATE LOW_PRIORITY t JOIN u ON t.a = u.a, v SET t.b = 1": "t u v",
    "DELETE FROM t WHERE a = 1": "t",
    "DELETE t, u FROM t JOIN u JOIN v": "t u v",
    "DELETE t.*, u.* FROM t, u": "t u",
    "DELETE FROM t, u USING t JOIN u JOIN v": "t u v",
    "DELETE QUICK FROM t": "t",
    "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t (a, b)": "t",
    "TRUNCATE t": "t",
    "TRUNCATE TABLE shop.t": "shop.t",
    "SELECT TRUNCATE(a, 2) FROM t": "t",
    "CREATE TABLE IF NOT EXISTS t (a VARCHAR(10), KEY (a), FOREIGN KEY (a) REFERENCES u (b) ON DELETE CASCADE)": "t u",
    "CREATE TEMPORARY TABLE t AS SELECT a FROM u": "t u",
    "CREATE TABLE t LIKE u": "t u",
    "CREATE TABLE t (LIKE u)": "t u",
    "ALTER TABLE t ADD b INT, ADD c INT, RENAME TO u": "t u",
    "ALTER TABLE t RENAME COLUMN a TO b": "t",
    "ALTER TABLE t ADD COLUMN view INT, ADD tables INT": "t",
    "CREATE TABLE t (view INT, tables INT)": "t",
    "CREATE VIEW v AS SELECT view AS tables FROM t": "v t",
    "CREATE OR REPLACE ALGORITHM = MERGE VIEW v AS SELECT a FROM t": "v t",
    "DROP VIEW v; ALTER VIEW v AS SELECT a FROM t": "v t",
    "DROP TABLE IF EXISTS t, shop.u": "t shop.u",
    "RENAME TABLE a TO b, c TO d": "a b c d",
    "CREATE UNIQUE INDEX i ON t (a, b)": "t",
    "DROP INDEX i ON t": "t",
    "CREATE OR REPLACE VIEW v AS SELECT a FROM t, u": "v t u",
    "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW SET NEW.a = 1, NEW.b = 2": "t",
    "LOCK TABLES t READ, u AS x WRITE": "t u",
    "UNLOCK TABLES": "",
    "OPTIMIZE TABLE t, u": "t u",
    "FLUSH TABLES WITH READ LOCK": "",
    "FLUSH TABLES t, u WITH READ LOCK": "t u",
    "GRANT SELECT, INSERT, UPDATE (a) ON shop.t TO 'a'@'b'": "shop.t",
    "GRANT ALL ON *.* TO a": "",
    "SHOW TABLES FROM shop": "",
    "SHOW TABLE STATUS": "",
    "SHOW FULL COLUMNS FROM t FROM shop": "t",
    "SHOW INDEX IN t": "t",
    "SHOW CREATE TABLE t": "t",
    "DESC t": "t",
    "EXPLAIN t a": "t",
    "EXPLAIN EXTENDED SELECT a FROM t": "t",
    "EXPLAIN FORMAT=JSON SELECT a FROM t": "t",
    "SET @a = (SELECT MAX(b) FROM t)": "t",
    "HANDLER t OPEN": "t",
    "CALL p(1)": "",
    "SELECT NEXT VALUE FOR s, NEXTVAL(r)": "s r",
    "SELECT a FROM `my table`, `a.b`.`c`": "`my table` `a.b`.c",
    "/* FROM x */ SELECT a /*+ JOIN_ORDER(u, v) */ -- FROM y\n FROM t": "t",
    "INSERT INTO t VALUES (1); UPDATE u SET a = 1": "t u",
    "COMMIT": "",
    f"SELECT a FROM {'(' * 200}SELECT a FROM t{')' * 200} d": "t",  # nested deeper than the parser tracks
}


def test_statement_is_normalized_and_classified() -> None:
    statement = Normalizer().normalize(b"SELECT  a FROM t WHERE id = 42")
    assert statement == Normalizer().normalize(b"SELECT a FROM t WHERE id = 7")
    assert len(statement.digest) == 16
    assert "42" not in statement.text
    assert CLASSES[statement.class_] == "read"
    assert statement.danger == DANGERS["none"]
    assert (statement.redacted, statement.open_quote) == (None, "")


@pytest.mark.parametrize(
    ("sql", "thread", "ends_session"),
    [
        (b"KILL 5", 5, True),
        (b"/* app */ kill\nhard connection 5; -- why", 5, True),
        (b"KILL SOFT QUERY 5", 5, False),
        (b"KILL QUERY ID 5", None, False),
        (b"KILL USER app", None, True),
        (b"KILL CONNECTION_ID()", None, True),
        (b"KILL 9223372036854775807", 2**63 - 1, True),
        (b"KILL 9223372036854775808", None, True),
        (b"KILL 0x5", None, True),
        (b"KILL", None, True),
        (b"KILL 5; KILL 6", None, True),
        (b"SELECT 5", None, True),
    ],
)
def test_killed_thread_of_a_kill_statement_is_found(sql: bytes, thread: int | None, ends_session: bool) -> None:
    """The text must be a single KILL of a numeric id."""
    assert Normalizer().killed_thread(sql) == (thread, ends_session)


CALLS = {
    "1": ("read", "none"),
    "NEXTVAL(s)": ("write", "none"),
    "LOAD_FILE('/x')": ("read", "load_data"),
    "asynchronous_connection_failover_reset()": ("read", "replication"),
    "keyring_key_remove('k')": ("read", "instance"),
}


@pytest.mark.parametrize("into", ["", " INTO OUTFILE '/y'", " INTO DUMPFILE '/y'"])
def test_every_function_call_affects_the_class(into: str) -> None:
    """The order of function calls and their position before or after INTO do not matter. One call that writes makes the
    statement a write. The smallest danger number wins.
    """
    for calls in permutations(CALLS, 3):
        statement = Normalizer().normalize(f"SELECT {calls[0]}, {calls[1]}{into} FROM t WHERE {calls[2]}".encode())
        dangers = {DANGERS[CALLS[call][1]] for call in calls} | {DANGERS["into_file"] if into else 0}
        assert statement.danger == min(dangers - {0}, default=0), calls
        assert CLASSES[statement.class_] == ("write" if "NEXTVAL(s)" in calls else "read"), calls


@pytest.mark.parametrize(("sql", "quote"), [(b"SELECT 'a", "'"), (b'SELECT "a', '"'), (b"SELECT `a", "`")])
def test_open_quote_is_reported(sql: bytes, quote: str) -> None:
    assert Normalizer().normalize(sql).open_quote == quote


def test_any_bytes_have_a_digest() -> None:
    normalizer = Normalizer()
    for sql in (b"", b"\xff\x00\xe9", bytes(range(256)) * 100):
        assert len(normalizer.normalize(sql).digest) == 16


@pytest.mark.parametrize("sql", TABLES)
def test_tables_are_listed_in_text_order(sql: str) -> None:
    assert " ".join(Normalizer().names(sql.encode())[0]) == TABLES[sql]


def test_called_functions_are_listed_with_schema() -> None:
    sql = b"SELECT f(a), shop.g(b), COUNT(*), `my f`(1), `f`(2) FROM t WHERE c IN (1)"
    assert Normalizer().names(sql) == (["t"], ["f", "shop.g", "count", "`my f`"])
    assert Normalizer().names(b"CALL shop.p") == ([], ["shop.p"])


def test_placeholders_are_found_outside_literals_and_comments() -> None:
    """sql_mode determines the end of a literal."""
    assert placeholders(b"SELECT '?', ?, `?`, \"?\" /* ? */ # ?\n, ?") == [12, 38]
    assert placeholders(rb"SELECT '\', ?") == []
    assert placeholders(rb"SELECT '\', ?", 1) == [12]
    assert placeholders(b"") == []


@pytest.mark.parametrize("digest", ["", "-4611686018427387904", "zz", "0x12", "1" * 17, "\u0661" * 16, "1_0"])
def test_invalid_digest_gives_an_unknown_mode(digest: str) -> None:
    """A damaged tape can contain invalid digests."""
    assert Normalizer().mode_of(digest, b"SELECT 'a' FROM t") == Mode()


@pytest.mark.parametrize("length", range(1, 22))
def test_numeric_sql_mode_is_understood(length: int) -> None:
    """The sql_mode bits for ANSI_QUOTES and NO_BACKSLASH_ESCAPES are read from a number. Leading zeros do not matter. A
    number with more than 18 digits makes the mode unknown.
    """
    for number, reading in ((0, 0), (4, 2), (1 << 20, 1), (1 << 20 | 4, 3), (8, 0)):
        digits = str(number).rjust(length, "0").encode()
        behind = Normalizer().follow(Mode(3, 1, 7), b"SET sql_mode = " + digits)
        assert behind == (Mode(reading, 1, 7) if len(digits) <= 18 else Mode(3, 1, 4)), digits


@pytest.mark.parametrize(
    "value", ["'ANSI_QUOTES", '"ANSI_QUOTES', "'", '"', "N'ANSI_QUOTES'", "_utf8'ANSI_QUOTES'", "x'41'", "?", "@a", "a.b", "'x,y'", "-1", "4.5"]
)  # fmt: skip
@pytest.mark.parametrize("outcome", [0, 1])
def test_unusual_sql_mode_value_makes_the_mode_unknown(value: str, outcome: int) -> None:
    """Covers sql_mode values that are unterminated strings, strings with a character set, and other expressions."""
    assert Normalizer().follow(Mode(0, 0, 7), f"SET sql_mode = {value}".encode(), outcome).known == 4


@pytest.mark.parametrize("count", [1, 2, 16, 17, 40])
@pytest.mark.parametrize("twice", [False, True])
def test_sixteen_common_table_expressions_are_tracked(count: int, twice: bool) -> None:
    """Names of common table expressions beyond the sixteenth count as tables. A repeated name counts once."""
    names = [f"c{n}" for n in range(count) for _ in range(1 + (twice and n == 0))]
    sql = "WITH " + ", ".join(f"{name} AS (SELECT 1 FROM t)" for name in names) + " SELECT * FROM " + ", ".join(names)
    tables, _ = Normalizer().names(sql.encode())
    assert set(tables) == {"t", *(f"c{n}" for n in range(16, count))}


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *((f"x_auth{rest}", rest[:2].lower() != "or" or rest[:3].lower() == "ori") for rest in
          ("", "o", "or", "ors", "ori", "orisation", "oi", "r", "_x", "ority", "ro", "OR", "ORI")),
        *((name, True) for name in ("author_auth", "my_password", "passwd", "pwd", "a_token", "tokens", "CREDENTIALS", "apikey_x", "aes_key", "pass", "db_pass", "pass_word", "pw2", "my_jwt", "my-bearer")),
        *((name, False) for name in ("passe", "compass", "jwts", "pwn", "tok_en", "api_keep", "key", "aut", "crypt", "secre", "xpw", "acces_key")),
    ],
)  # fmt: skip
def test_names_of_secrets_are_recognized(name: str, secret: bool) -> None:
    """A value assigned to a name like `my_password` is redacted. A value of a merely similar name like `compass` is
    kept.
    """
    found = Normalizer().normalize(f"SET GLOBAL `{name}` = 'v4lue'".encode())
    assert (found.redacted is not None) is secret
    assert found.redacted is None or b"v4lue" not in found.redacted


@pytest.mark.parametrize(
    "call", ["SHA2(%s, 256)", "AES_ENCRYPT(x, %s)", "md5(%s)", "HEX(AES_DECRYPT(%s, 'k3y'))", "PASSWORD(%s)"]
)
@pytest.mark.parametrize(
    "inner", ["'k3y'", "CONCAT(a, b, 'k3y')", "CONCAT(LOWER(a), 'k3y')", "(a), 'k3y'", "f(g(a), (b)), 'k3y'"]
)
def test_secret_inside_nested_parentheses_is_redacted(call: str, inner: str) -> None:
    """Everything inside the parentheses of a cryptographic function is a secret, even after nested parentheses."""
    for text in (f"SELECT {call % inner}", f"SELECT a FROM t WHERE b = {call % inner} AND c = 1"):
        found = Normalizer().normalize(text.encode())
        assert found.redacted is not None, text
        assert b"k3y" not in found.redacted, text


def test_plain_names_lose_their_quotes() -> None:
    """A name of letters, digits, _ and $ has no quotes in the digest text unless it has only digits. Any other byte
    keeps the quotes.
    """
    normalizer = Normalizer()
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"
    for byte in [n for n in range(1, 256) if n != ord("`")]:
        text = normalizer.normalize(b"SELECT `a%cb`, `%c`" % (byte, byte)).text
        name = bytes([byte]).decode("latin1").lower() if byte < 128 else None
        assert ("`a" not in text) is (byte in plain), (byte, text)
        if name is not None and byte in plain:
            alone = f"`{name}`" if name.isdigit() else name
            assert text.replace(" ,", ",") == f"select a{name}b, {alone}", text


@pytest.mark.parametrize("lifts", ["TRANSACTION READ WRITE", "TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"])
@pytest.mark.parametrize(("scope", "danger"), [("GLOBAL", "set_global"), ("SESSION", "set_session_unsafe")])
def test_read_write_keeps_the_danger_of_its_scope(scope: str, danger: str, lifts: str) -> None:
    """READ WRITE must not hide the more dangerous GLOBAL or SESSION before it."""
    assert Normalizer().normalize(f"SET {scope} {lifts}".encode()).danger == DANGERS[danger]


@pytest.mark.parametrize("statement", ["SELECT 1", "SET @a = 1", "DO 1"])
def test_set_statement_changes_only_its_own_statement(statement: str) -> None:
    """An ordinary SET changes the session mode for later statements. A SET after a semicolon also changes the mode."""
    of_one = f"SET STATEMENT max_statement_time = 1, sql_mode = 'ANSI_QUOTES' FOR {statement}".encode()
    assert Normalizer().follow(Mode(0, 1, 7), of_one) == Mode(0, 1, 7)
    assert Normalizer().follow(Mode(0, 1, 7), b"SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR DO 1") == Mode(0, 1, 7)
    assert Normalizer().follow(Mode(0, 0, 7), of_one + b"; SET NAMES gbk") == Mode(0, 1, 7)
    assert Normalizer().follow(Mode(0, 0, 7), b"SET statements = 1, sql_mode = 'ANSI_QUOTES'") == Mode(2, 0, 7)
