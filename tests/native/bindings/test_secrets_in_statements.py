# SPDX-License-Identifier: Apache-2.0
"""No secret remains in the stored text of a statement. Covers every kind of statement with a secret, alone and inside
another statement.
"""

import re
from collections.abc import Iterator

import pytest
from querytape.native.bindings.statements import Mode, Normalizer
from querytape.schemas.names import DANGERS

SECRET = "zqkvbnmw"

# Statements of MySQL and MariaDB with a password, a key or a token. S marks the place of the secret.
WITH_ACCOUNTS = (
    "CREATE USER u@h IDENTIFIED BY S",
    "CREATE USER u IDENTIFIED WITH caching_sha2_password AS S",
    "CREATE USER u IDENTIFIED VIA unix_socket OR mysql_native_password USING S",
    "CREATE USER u IDENTIFIED BY 'x' AND IDENTIFIED WITH a BY 'y' AND IDENTIFIED WITH z BY S",
    "ALTER USER u MODIFY 3 FACTOR IDENTIFIED WITH x AS S",
    "ALTER USER u 2 FACTOR FINISH REGISTRATION SET CHALLENGE_RESPONSE AS S",
    "ALTER USER USER() IDENTIFIED BY 'a' REPLACE S RETAIN CURRENT PASSWORD",
    "SET PASSWORD = S",
    "SET PASSWORD FOR u@h = S",
    "SET PASSWORD FOR u@h = S REPLACE 'x'",
    "GRANT ALL ON *.* TO u@h IDENTIFIED BY PASSWORD S",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD S)",
    "CHANGE MASTER 'c' TO MASTER_PASSWORD = S",
    "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = S FOR CHANNEL 'c'",
    "START REPLICA USER = 'u' PASSWORD = S",
    "START GROUP_REPLICATION USER = 'u', PASSWORD = S",
    "CLONE INSTANCE FROM u@h:3306 IDENTIFIED BY S",
    "SET GLOBAL s3_secret_key = S",
    "SET PERSIST authentication_ldap_simple_bind_root_pwd = S",
    "SET @@global.wsrep_sst_auth = S",
    "SET GLOBAL keyring_hashicorp_role_id = S",
    "SET GLOBAL telemetry.otel_exporter_otlp_traces_headers = S",
)
WITH_DATA = (
    "SELECT SHA2(S, 256)",
    "SELECT MD5(CONCAT(a, S)) FROM t",
    "SELECT AES_DECRYPT(c, UNHEX(SHA2(S, 512))) FROM t",
    "SELECT KDF(S, 'salt', 1000, 'pbkdf2_hmac')",
    "SELECT keyring_key_store('k', 'AES', S)",
    "SELECT audit_log_encryption_password_set(S)",
    "SELECT @db_password := S",
    "INSERT INTO t VALUES (AES_ENCRYPT('x', S))",
    "UPDATE mysql.user SET authentication_string = S WHERE user = 'x'",
    "UPDATE `mysql` . `user` SET Password = S",
    "UPDATE user SET authentication_string = S",
    "INSERT INTO mysql.servers VALUES ('s', 'h', 'd', 'u', S, 0, '', 'mysql', '')",
    "REPLACE INTO mysql.global_priv VALUES ('h', 'u', S)",
)
OF_THEIR_OWN = (
    "SET autocommit = 1, PASSWORD = S",
    "SET autocommit = 1, PASSWORD FOR u@h = S",
    "SET NAMES utf8mb4, PASSWORD FOR u@h = S, @x = 1",
    "SET PASSWORD FOR u TO S",
    "SET @db_password = S",
    "SET @x = 1, @pw := S",
    "SET @pass = S",
    "SET @jwt = S",
    "SET @encryption_key = S",
    "CREATE TABLE t (a INT) ENGINE = FEDERATED CONNECTION = 'mysql://u:P@h/d/t'",
    "CREATE TABLE t (a INT) ENGINE = InnoDB COMMENT = 'token=P'",
    """CREATE TABLE t (a INT) ENGINE_ATTRIBUTE = '{"file": [{"par": "https://h/p/P/n/b"}]}'""",
    "LOAD DATA FROM URL 'https://u:P@h/x' INTO TABLE t",
    "EXECUTE IMMEDIATE 'SELECT SHA2(?, 256)' USING S",
    "SELECT STATEMENT_DIGEST('CREATE USER u IDENTIFIED BY \"P\"')",
    "SELECT 1 /* api-key=P */",
    "SELECT 1 /* Authorization: Bearer P */",
    "CREATE PROCEDURE p() BEGIN DECLARE v_password VARCHAR(20) DEFAULT S; END",
    "CREATE PROCEDURE p() BEGIN DECLARE a, api_key TEXT DEFAULT S; END",
    "CREATE PROCEDURE p() BEGIN SET @my_secret = S; END",
)
# Statements that contain another complete statement. L is the inner statement as a literal.
AROUND = (
    "{}",
    "PREPARE s FROM L",
    "EXECUTE IMMEDIATE L",
    "SET @statement = L",
    "CREATE PROCEDURE p() {}",
    "CREATE PROCEDURE p() BEGIN {}; END",
    "CREATE PROCEDURE p() BEGIN IF 1 THEN {}; END IF; END",
    "CREATE PROCEDURE p() BEGIN SET @s = L; PREPARE s FROM @s; END",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO {}",
    "ALTER EVENT e DO {}",
    "BEGIN NOT ATOMIC {}; END",
    "SET STATEMENT max_statement_time = 1 FOR {}",
    "/*!50000 {} */",
    "SELECT 1; {}",
)


def statements() -> Iterator[str]:
    """Yield each statement in each place, with each kind of quotes."""
    for statement in WITH_ACCOUNTS + WITH_DATA:
        for around in AROUND:
            for inner in (f"'{SECRET}'", f'"{SECRET}"'):
                whole = re.sub(r"\bS\b", inner, statement)
                for literal in ("'" + whole.replace("'", "''") + "'", '"' + re.sub(r'(["\'])', r"\\\1", whole) + '"'):
                    yield around.replace("{}", whole).replace(" L", " " + literal)
    for statement in OF_THEIR_OWN:
        yield re.sub(r"\bS\b", f"'{SECRET}'", statement).replace("P@", SECRET + "@").replace("P/n", SECRET + "/n")


def commented(statement: str) -> str:
    """Return the statement with each blank outside literals replaced by a comment."""
    parts = re.split(r"""('(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*")""", statement)
    return "".join(p if i % 2 or "/*" in p else p.replace(" ", "/* - */") for i, p in enumerate(parts))


@pytest.mark.parametrize("mode", [Mode(), Mode(0, 0, 7)], ids=["unknown", "known"])
@pytest.mark.parametrize("change", [str, str.lower, commented], ids=["plain", "lower", "commented"])
def test_no_secret_remains_in_stored_or_normalized_text(mode: Mode, change: type[str]) -> None:
    normalizer = Normalizer()
    told = []
    for statement in statements():
        found = normalizer.normalize(change(statement).encode(), mode)
        kept = statement.encode() if found.redacted is None else found.redacted
        if SECRET.encode() in kept or SECRET in found.text:
            told.append(statement)
    assert told == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE users SET password = 'x' WHERE id = 1",
        "SELECT * FROM t WHERE passenger = 'x'",
        "INSERT INTO tokens SET token = 'x'",
        "CALL book('bypass', 'x')",
        "SET @compass = 'x'",
        "SET @passenger_name = 'x'",
        "SELECT * FROM mysql.user WHERE user = 'x'",
        "SELECT user FROM mysql.servers",
        "PREPARE s FROM 'SELECT * FROM tokens WHERE id = ?'",
        "PREPARE s FROM 'UPDATE tokens SET token = ? WHERE a = ''b'''",
        "SET @s = 'hello'",
        "CREATE TABLE t (a INT COMMENT 'the password, hashed', b ENUM('x', 'token'))",
        "CREATE PROCEDURE p() BEGIN DECLARE v_password VARCHAR(20); SELECT 'x'; END",
        "LOAD DATA LOCAL INFILE 'tokens.csv' INTO TABLE tokens FIELDS TERMINATED BY ','",
        "SELECT 1 /* author: bob */",
        "SELECT password FROM users WHERE email = 'x' INTO @password",
        "SELECT password, 1 INTO @password, @n FROM users WHERE email = 'x'",
        "SELECT 'x' INTO @name",
        "SELECT 'x', password FROM users LIMIT 1 INTO @name, @b",
        "SELECT 'x' INTO @name FROM users WHERE password = @password",
        "INSERT INTO passwords (password) VALUES ('x')",
        "INSERT INTO passwords SELECT 'x' FROM users",
        "SELECT AES_DECRYPT(c, @k) FROM t WHERE kind = 'x'",
        "SELECT AES_DECRYPT(c, @k), 'x' AS kind FROM t",
        "SELECT AES_DECRYPT(d.c, @k) FROM (SELECT c FROM t WHERE kind = 'x') d",
        "INSERT INTO t (a) VALUES (AES_ENCRYPT(@a, @k)) ON DUPLICATE KEY UPDATE b = IF(VALUES(a) > 1, 'x', 'y')",
        "SELECT MD5(d.mail), src FROM (SELECT mail, 'web' AS src FROM a UNION ALL SELECT mail, 'app' FROM b) d",
        "SELECT /*+ SET_VAR(sort_buffer_size = 16M) INDEX(tokens by_token) */ 'x' FROM tokens",
        "SELECT /*+ BKA(secret) */ 'x' FROM secret",
    ],
)
def test_application_data_is_not_redacted(statement: str) -> None:
    """Statements with ordinary data must stay replayable."""
    assert Normalizer().normalize(statement.encode(), Mode(0, 0, 7)).redacted is None


@pytest.mark.parametrize(
    "statement",
    [
        "SET autocommit = 1, PASSWORD = 'x'",
        "SET NAMES utf8mb4, PASSWORD FOR u@h = 'x'",
        "SET @a = 1, @b = 2, PASSWORD FOR u@h = PASSWORD('x')",
        "SET STATEMENT max_statement_time = 1 FOR SET @a = 1, PASSWORD = 'x'",
        "SET @a = 1 /*!, PASSWORD = 'x' */",
    ],
)
def test_password_after_other_assignments_is_dangerous(statement: str) -> None:
    """MariaDB allows SET PASSWORD after other assignments."""
    assert Normalizer().normalize(statement.encode()).danger == DANGERS["accounts"]


MODES = [Mode(reading, charset, 7) for charset in range(4) for reading in range(4)]


@pytest.mark.parametrize(
    "statement",
    [
        b'ALTER USER a IDENTIFIED BY "x\\" /* ", "hidden" */',
        b'ALTER USER a IDENTIFIED BY "x\\", b IDENTIFIED BY "hidden"',
        b"ALTER USER a IDENTIFIED BY 'x\\', b IDENTIFIED BY 'hidden'",
        # every quote is closed in both readings of the backslash
        b'ALTER USER a IDENTIFIED BY "x\\", b IDENTIFIED BY "hidden" /* \\" " */',
        b"ALTER USER a IDENTIFIED BY 'x\\', b IDENTIFIED BY 'hidden' /* \\' ' */",
    ],
)
def test_secret_before_a_backslash_quote_is_redacted(statement: bytes) -> None:
    """Under NO_BACKSLASH_ESCAPES the literal ends at the quote after the backslash. Both readings are redacted."""
    redacted = Normalizer().normalize(statement).redacted
    assert redacted is not None
    assert b"hidden" not in redacted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "statement",
    [
        b'ALTER USER a IDENTIFIED BY "hidden"',
        b'SET PASSWORD FOR a = "hidden"',
        b"SELECT \"hidden\", SHA2('x', 256)",
        b'CREATE USER "x"@"hidden" IDENTIFIED BY "hidden"',
        b'SELECT "hidden" /* password=x */',
    ],
)
def test_secret_in_double_quotes_is_redacted(statement: bytes, mode: Mode) -> None:
    """Secrets are redacted even if double quotes delimit names in the session, because logs also contain failed
    statements.
    """
    redacted = Normalizer().normalize(statement, mode).redacted
    assert redacted is not None
    assert b"hidden" not in redacted
