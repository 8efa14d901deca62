# SPDX-License-Identifier: Apache-2.0
"""Settings that cause an error, tested on real servers. The statement fails with B's value and works with A's value."""

import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.analyze import build
from querytape.analyze.findings.remedies import cause_of
from querytape.analyze.findings.servers import setting_differences
from querytape.analyze.findings.slower import settings_of, work_of_writes, work_text
from querytape.analyze.lint.rules import all_rules
from querytape.analyze.model import ServerDifference
from querytape.native.bindings.statements import Normalizer
from querytape.replay import ReplayOptions, parse_target, replay
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.server
SETUP = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
    "INSERT INTO shop.t (v) VALUES (1), (2), (3)",
    "CREATE TABLE shop.stamped (at TIMESTAMP NOT NULL)",
    "CREATE TABLE shop.parent (id INT PRIMARY KEY)",
    "CREATE TABLE shop.child (id INT, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
    "CREATE TABLE shop.short (c CHAR(2), d DATE)",
    "CREATE PROCEDURE shop.again(n INT) BEGIN IF n > 0 THEN CALL shop.again(n - 1); END IF; END",
    "CREATE TABLE shop.plain (a INT) ENGINE=MyISAM",
    "CREATE USER maker",
    "GRANT ALL ON shop.* TO maker",
)
STRICT, LAX = "'STRICT_TRANS_TABLES'", "''"
DEEP = "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 9) SELECT n FROM c"
# Session settings of MySQL and MariaDB. The statement fails with B's value and works with A's value.
OF_BOTH = [
    ("sql_mode", LAX, "'ONLY_FULL_GROUP_BY'", "SELECT id, COUNT(*) FROM shop.t GROUP BY v", 1055),
    ("sql_mode", LAX, "'ONLY_FULL_GROUP_BY'", "SELECT id, COUNT(*) FROM shop.t", 1140),
    ("sql_mode", LAX, STRICT, "INSERT INTO shop.short VALUES ('long', NULL)", 1406),
    ("sql_mode", LAX, STRICT, "INSERT INTO shop.t (v) VALUES (99999999999)", 1264),
    ("sql_mode", LAX, STRICT, "INSERT INTO shop.t (v) VALUES ('x')", 1366),
    ("sql_mode", LAX, "'ANSI_QUOTES'", 'SELECT "x" FROM shop.t', 1054),
    ("sql_mode", "'NO_UNSIGNED_SUBTRACTION'", LAX, "SELECT CAST(1 AS UNSIGNED) - 2", 1690),
    ("sql_mode", LAX, STRICT[:-1] + ",ERROR_FOR_DIVISION_BY_ZERO'", "INSERT INTO shop.t (v) VALUES (1 / 0)", 1365),
    ("foreign_key_checks", "OFF", "ON", "INSERT INTO shop.child VALUES (1, 9)", 1452),
    ("log_bin_trust_function_creators", "ON", "OFF", "CREATE FUNCTION shop.f() RETURNS INT RETURN 1", 1418),
    (
        "log_bin_trust_function_creators",
        "ON",
        "OFF",
        "{maker}CREATE FUNCTION shop.f() RETURNS INT NO SQL RETURN 1",
        1419,
    ),
    ("max_sp_recursion_depth", "10", "0", "CALL shop.again(2)", 1456),
    ("sql_safe_updates", "OFF", "ON", "UPDATE shop.t SET v = 1", 1175),
    ("max_prepared_stmt_count", "100", "0", "PREPARE s FROM 'SELECT 1'", 1461),
    ("binlog_format", "ROW", "STATEMENT", "{loose}INSERT INTO shop.t (v) VALUES (4)", 1665),
]
FAMILIES = {
    "mysql80": [
        *OF_BOTH,
        ("sql_require_primary_key", "OFF", "ON", "CREATE TABLE shop.keyless (a INT)", 3750),
        ("explicit_defaults_for_timestamp", "OFF", "ON", "INSERT INTO shop.stamped VALUES (NULL)", 1048),
        ("local_infile", "ON", "OFF", "LOAD DATA LOCAL INFILE '{file}' INTO TABLE shop.t", 3948),
        ("require_secure_transport", "OFF", "ON", "SELECT 1", 3159),
        ("transaction_read_only", "OFF", "ON", "INSERT INTO shop.t (v) VALUES (4)", 1792),
        ("cte_max_recursion_depth", "1000", "2", DEEP, 3636),
        ("super_read_only", "OFF", "ON", "INSERT INTO shop.t (v) VALUES (4)", 1290),
        ("wait_timeout", "28800", "1", "{idle}SELECT 1", 2013),
        ("enforce_gtid_consistency", "OFF", "ON", "{open}INSERT INTO shop.plain VALUES (1)", 1785),
        ("enforce_gtid_consistency", "OFF", "ON", "CREATE TABLE shop.made ENGINE=MyISAM SELECT 1 AS a", 1786),
        ("enforce_gtid_consistency", "OFF", "ON", "{mixed}CREATE TEMPORARY TABLE shop.short_lived (a INT)", 3748),
    ],
    "mariadb": [
        *OF_BOTH,
        ("local_infile", "ON", "OFF", "LOAD DATA LOCAL INFILE '{file}' INTO TABLE shop.t", 4166),
        ("max_statement_time", "0", "0.05", "SELECT SLEEP(0.3)", 1969),
    ],
}
FAMILIES["mysql-9"] = [
    ("validate_password_length", "4", "12", "CREATE USER other IDENTIFIED BY 'aA1-aA1-'", 1819),
]
PLUGINS = {"mysql-9": "INSTALL PLUGIN validate_password SONAME 'validate_password.so'"}
INSERT = "INSERT INTO shop.t (v) VALUES (4)"
# Statements that run in a session before the tested statement. The key is the first word of the tested statement.
BEFORE = {
    "loose": ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",),
    "open": ("BEGIN", INSERT),
    "mixed": ("SET SESSION binlog_format = STATEMENT", "BEGIN", INSERT),
}
# Settings that cause an error in two sessions that both read and then write a row.
CROSSED = {
    "mysql80": ("transaction_isolation", "'READ-COMMITTED'", "'SERIALIZABLE'", 1213),
    "mariadb": ("tx_isolation", "'READ-COMMITTED'", "'SERIALIZABLE'", 1213),
    "mariadb-11.8": ("innodb_snapshot_isolation", "OFF", "ON", 1020),
}
# Settings that a server reads only when it starts.
AT_START = {
    "mysql80": ("disabled_storage_engines", "", "MyISAM", "CREATE TABLE shop.m (a INT) ENGINE=MyISAM", 3161),
    "mariadb": ("lower_case_table_names", "1", "0", "SELECT * FROM shop.T", 1146),
}
# Errors that depend on no setting.
ALONE = {
    "mysql80": [
        ("SET time_zone = 'Europe/Berlin'", 1298, "mysql_tzinfo_to_sql"),
        ("SELECT ST_AsText(ST_GeomFromText('POINT(120 10)', 4326))", 3617, "axis-order"),
        ("CREATE USER x IDENTIFIED WITH none_such", 1524, "ALTER USER"),
        ("SELECT ST_Buffer(ST_GeomFromText('POINT(1 1)'), -1)", 1210, "the arguments"),
    ],
    "mariadb": [
        ("SET time_zone = 'Europe/Berlin'", 1298, "mysql_tzinfo_to_sql"),
        ("SELECT BENCHMARK(1, (SELECT 1, 2))", 1241, "list the columns"),
    ],
}
# Objects that the tested statements create. They are dropped so that the statements can run again.
MADE = (
    "DROP FUNCTION IF EXISTS shop.f",
    "DROP TABLE IF EXISTS shop.keyless, shop.made",
    "DROP USER IF EXISTS other",
)
TEXTS = (
    "CREATE TABLE shop.texts (c CHAR(5) COLLATE utf8mb4_general_ci, l CHAR(5) CHARACTER SET latin1, d DATE)"
    " CHARACTER SET utf8mb4",
    "CREATE TABLE shop.others (c CHAR(5) COLLATE utf8mb4_unicode_ci) CHARACTER SET utf8mb4",
)
NAMES = ("SET NAMES utf8mb4", "SET @v = 'a'")
OF_VARIABLE = "SELECT 1 FROM shop.texts WHERE c = @v"
GROUPS = (
    "SELECT id, COUNT(*) FROM shop.t GROUP BY v",
    1055,
    (
        ("", "name every selected column in GROUP BY or in an aggregate"),
        ("only-full-group-by", "keep the old sql_mode"),
    ),
    (
        ("SELECT MIN(id), COUNT(*) FROM shop.t GROUP BY v", ()),
        ("SELECT id, COUNT(*) FROM shop.t GROUP BY v, id", ()),
        ("SELECT id, COUNT(*) FROM shop.t GROUP BY v", ("SET SESSION sql_mode = ''",)),
    ),
)
# Each tuple has a statement, its error, the text of its remedy or lint rule, and the corrected statement. If the text
# is empty, the remedy of the error is used.
CHANGED: dict[str, list[tuple[str, int, tuple[tuple[str, str], ...], tuple[tuple[str, Sequence[str]], ...]]]] = {
    "mysql80": [
        GROUPS,
        (
            "SELECT 1 FROM shop.texts WHERE c = CONVERT(l USING utf8mb4)",
            1267,
            (("", "add COLLATE to the statement"), ("default-collation", "Add COLLATE.")),
            (("SELECT 1 FROM shop.texts WHERE c = CONVERT(l USING utf8mb4) COLLATE utf8mb4_general_ci", ()),),
        ),
        (
            "SELECT 1 FROM shop.texts WHERE c = CAST(l AS CHAR)",
            1267,
            (("", "SET NAMES ... COLLATE if the statement has no USING"),),
            (
                (
                    "SELECT 1 FROM shop.texts WHERE c = CAST(l AS CHAR)",
                    ("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",),
                ),
            ),
        ),
        (
            "SELECT 1 FROM shop.texts WHERE d = '0000-00-00'",
            1525,
            (("", "NULL instead of zero dates"), ("zero-date-compared", "or keep the old sql_mode")),
            (
                ("SELECT 1 FROM shop.texts WHERE d IS NULL", ()),
                ("SELECT 1 FROM shop.texts WHERE d = '2020-01-01'", ()),
                ("SELECT 1 FROM shop.texts WHERE d = '0000-00-00'", ("SET SESSION sql_mode = ''",)),
            ),
        ),
    ],
}


@pytest.mark.long
@pytest.mark.parametrize("kind", FAMILIES)
def test_setting_that_causes_an_error_is_named(kind: str, server_factory: ServerFactory, tmp_path: Path) -> None:
    """The cause names both values of the setting and the statement that makes B equal to A."""
    server = server_factory(kind, {"log-bin": "binlog"})
    for statement in (*SETUP, *([PLUGINS[kind]] if kind in PLUGINS else [])):
        server.execute(statement)
    (tmp_path / "rows").write_text("")
    for name, a, b, text, errno in FAMILIES[kind]:
        statement, idle = text.replace("{file}", str(tmp_path / "rows")), "{idle}" in text
        user = "maker" if "{maker}" in text else "root"
        before = setting(server, name)
        failed, seen = {}, {}
        for value in (b, a):  # B comes first, because a failed statement leaves no traces
            server.execute(f"SET GLOBAL {name} = {value}")
            seen[value] = variables(server)
            before_it = BEFORE.get(statement.partition("}")[0][1:], ())
            wait_s = 2.5 if idle and value == b else 0
            failed[value] = outcome(server, re.sub(r"^{\w+}", "", statement), wait_s, user, before_it)
        server.execute(f"SET GLOBAL {name} = {before}")
        server.execute("DROP FUNCTION IF EXISTS shop.f")
        assert (name, failed[a], failed[b]) == (name, None, errno)
        cause = cause_of(errno, statement, (), setting_differences(seen[a], seen[b]))
        said = f"{name} is {seen[a][name]} in A, {seen[b][name]} in B" if name != "sql_mode" else "(sql_mode: only "
        assert said in cause.text
        assert cause.remedy.startswith(f"SET GLOBAL {name} = ")
        server.execute(cause.remedy.partition(" on B")[0])
        assert variables(server)[name] == seen[a][name]
        for text in MADE:
            server.execute(text)
        again = outcome(
            server, re.sub(r"^{\w+}", "", statement), 0, user, BEFORE.get(statement.partition("}")[0][1:], ())
        )
        assert again is None, (name, statement)
        for text in MADE:
            server.execute(text)
        server.execute(f"SET GLOBAL {name} = {before}")


@pytest.mark.long
@pytest.mark.parametrize("kind", CHANGED)
def test_remedy_makes_a_rejected_statement_work(kind: str, server_factory: ServerFactory) -> None:
    """A statement that B rejects works after the change that the remedy or lint rule suggests."""
    server = server_factory(kind)
    for statement in (*SETUP, *TEXTS):
        server.execute(statement)
    for statement, errno, names, changed in CHANGED[kind]:
        assert outcome(server, statement) == errno, statement
        said = cause_of(errno, Normalizer().normalize(statement.encode()).text).remedy
        advice = {rule.name: rule.advice for rule in all_rules()}
        for name, word in names:
            assert word in (advice[name] if name else said), statement
        for text, before in changed:
            assert outcome(server, text, before=before) is None, text


@pytest.mark.long
def test_collation_setting_explains_illegal_mix_of_collations(server_factory: ServerFactory) -> None:
    """The collation setting is not the cause if the statement uses CONVERT ... USING, because the collation of CONVERT
    does not depend on the setting.
    """
    server = server_factory("mysql80")
    for statement in (*SETUP, *TEXTS):
        server.execute(statement)
    seen, failed = {}, {}
    mixed = {"variable": OF_VARIABLE, "using": "SELECT 1 FROM shop.texts WHERE c = CONVERT(l USING utf8mb4)"}
    for value in ("utf8mb4_0900_ai_ci", "utf8mb4_general_ci"):
        server.execute(f"SET GLOBAL default_collation_for_utf8mb4 = {value}")
        seen[value] = variables(server)
        failed[value] = {name: outcome(server, text, before=NAMES) for name, text in mixed.items()}
    assert list(failed.values()) == [{"variable": 1267, "using": 1267}, {"variable": None, "using": 1267}]
    differences = setting_differences(seen["utf8mb4_general_ci"], seen["utf8mb4_0900_ai_ci"])
    said = {
        name: cause_of(1267, Normalizer().normalize(text.encode()).text, (), differences)
        for name, text in mixed.items()
    }
    assert said["variable"].remedy.startswith(
        "SET GLOBAL default_collation_for_utf8mb4 = 'utf8mb4_general_ci' on B, or "
    )
    assert said["using"].remedy.startswith("add COLLATE to the statement")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mysql80", "mariadb"])
def test_column_collation_explains_illegal_mix_of_collations(kind: str, server_factory: ServerFactory) -> None:
    """The join of both columns works after B's table is altered to A's collation."""
    server = server_factory(kind)
    for statement in (*SETUP, *TEXTS):
        server.execute(statement)
    joined = "SELECT 1 FROM shop.texts JOIN shop.others USING (c)"
    assert outcome(server, joined) == 1267
    column = ServerDifference(
        "column", "others.c", "column others.c: collation utf8mb4_general_ci in A, utf8mb4_unicode_ci in B",
        table="others", fact="collation",
    )  # fmt: skip
    cause = cause_of(1267, joined, (), [column])
    assert cause.remedy.startswith("SHOW CREATE TABLE others on A, then ALTER TABLE others on B")
    server.execute("ALTER TABLE shop.others MODIFY c CHAR(5) COLLATE utf8mb4_general_ci")
    assert outcome(server, joined) is None


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mysql80", "mariadb"])
def test_sql_mode_explains_only_zero_dates(kind: str, server_factory: ServerFactory) -> None:
    """sql_mode affects dates that contain zeros. It affects no other invalid date."""
    server = server_factory(kind)
    seen, failed = {}, {}
    dates = {"zeros": "SELECT DATE'2020-00-00'", "none": "SELECT DATE'2020-02-30'"}
    for modes in ("STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE", "STRICT_TRANS_TABLES"):
        server.execute(f"SET GLOBAL sql_mode = '{modes}'")
        seen[modes] = variables(server)
        failed[modes] = {name: outcome(server, text) for name, text in dates.items()}
    b, a = seen
    assert (failed[a], failed[b]) == ({"zeros": None, "none": 1525}, {"zeros": 1525, "none": 1525})
    differences = setting_differences(seen[a], seen[b])
    remedies = {
        value: cause_of(1525, "select date ?", (), differences, f"Incorrect DATE value: '{value}'").remedy
        for value in ("2020-00-00", "2020-02-30", "?")
    }
    server.execute(f"SET GLOBAL sql_mode = '{b}'")
    server.execute(remedies["2020-00-00"].partition(" on B")[0])
    assert outcome(server, dates["zeros"]) is None
    assert remedies["?"] == remedies["2020-00-00"]
    assert remedies["2020-02-30"].startswith("write valid dates")


@pytest.mark.long
@pytest.mark.parametrize("kind", CROSSED)
def test_isolation_settings_explain_write_conflicts(kind: str, server_factory: ServerFactory) -> None:
    """Two sessions read one row and then write it. With B's isolation level one of the sessions fails. With A's
    isolation level both sessions succeed.
    """
    server = server_factory(kind)
    for statement in SETUP:
        server.execute(statement)
    name, a, b, errno = CROSSED[kind]
    failed, seen = {}, {}
    for value in (b, a):
        server.execute(f"SET GLOBAL {name} = {value}")
        seen[value] = variables(server)
        failed[value] = deadlock_error(server)
    assert (failed[a], failed[b]) == (None, errno)
    cause = cause_of(errno, "update t set v=v+? where id=?", (), setting_differences(seen[a], seen[b]))
    new_name = "transaction_isolation" if name == "tx_isolation" else name
    assert f"{new_name} is {seen[a][name]} in A, {seen[b][name]} in B" in cause.text
    (remedy,) = re.findall(r"SET GLOBAL \w+ = \S+", cause.remedy)
    server.execute(remedy)
    assert variables(server)[name] == seen[a][name]


@pytest.mark.long
@pytest.mark.parametrize("kind", AT_START)
def test_startup_settings_explain_errors(kind: str, server_factory: ServerFactory) -> None:
    """The two servers start with different values of a setting. The error occurs only on B, and the report names the
    setting.
    """
    name, a, b, statement, errno = AT_START[kind]
    seen = []
    for value, expected in ((a, None), (b, errno)):
        server = server_factory(kind, {name.replace("_", "-"): value} if value else {})
        for text in SETUP:
            if "MyISAM" not in text:
                server.execute(text)
        assert outcome(server, statement) == expected
        seen.append(variables(server))
    cause = cause_of(errno, statement, (), setting_differences(seen[0], seen[1]))
    assert f"{name} is {seen[0][name] or 'empty'} in A, {seen[1][name]} in B" in cause.text


def deadlock_error(server: Server) -> int | None:
    """Return the error number of two transactions that first both read a row and then write that row in turn."""
    sessions = [pymysql.connect(host="127.0.0.1", port=server.port, user="root", db="shop") for _ in range(2)]
    numbers: list[int] = []

    def write(session: "pymysql.Connection[Any]") -> None:
        try:
            with session.cursor() as cursor:
                cursor.execute("UPDATE t SET v = v + 1 WHERE id = 1")
            session.commit()
        except pymysql.MySQLError as error:
            numbers.append(int(error.args[0]))

    with sessions[0], sessions[1]:
        for session in sessions:
            with session.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute("SELECT v FROM t WHERE id = 1")
        threads = [threading.Thread(target=write, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return numbers[0] if numbers else None


@pytest.mark.parametrize("kind", ALONE)
def test_causes_without_a_setting_have_a_command(kind: str, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue(kind)
    for statement, errno, word in ALONE[kind]:
        assert outcome(server, statement) == errno
        assert word in cause_of(errno, statement).remedy


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
def test_binary_log_explains_slower_writes(kind: str, server_factory: ServerFactory, tmp_path: Path) -> None:
    """Two servers differ only in the binary log. The counters of the runs then name the binary log as the cause. For
    equal servers the counters name no cause.
    """
    words = ["INSERT INTO t (v) VALUES (1)", "UPDATE t SET v = v + 1 WHERE id = 1"] * 30
    events = [
        {"statement": text, "class": "write", "db": "shop", "start_ns": T0 + n * MS} for n, text in enumerate(words)
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    without: dict[str, str] = {"skip-log-bin": ""} if kind == "mysql80" else {}
    runs = {}
    for side, config in {"a": without, "b": {"log-bin": "binlog"}}.items():
        server = server_factory(kind, config)
        for statement in SETUP:
            server.execute(statement)
        for number in (1, 2):
            options = ReplayOptions(
                target=parse_target(server.url("shop"), environ={}),
                output=tmp_path / f"{side}{number}.run",
                allow_writes=True,
                target_is_disposable=True,
                query_plans=False,
            )
            runs[side, number] = replay(tape, options).path
    report = build(tape, [runs["a", 1]], [runs["b", 1]])
    assert "B writes 1 transaction to the binary log, A 0" in work_text(work_of_writes(report), "write")
    assert settings_of(work_of_writes(report))[:2] == ["log_bin", "sync_binlog"]
    same = work_of_writes(build(tape, [runs["b", 1]], [runs["b", 2]]))
    assert not [work for work in same if "binary log" in work.says]


def outcome(
    server: Server, statement: str, idle_s: float = 0, user: str = "root", before: Sequence[str] = ()
) -> int | None:
    """Run a statement in a new session over TCP without TLS. Return its error number, or None on success."""
    try:
        connection = pymysql.connect(
            host="127.0.0.1", port=server.port, user=user, ssl_disabled=True, local_infile=True, autocommit=True
        )
        with connection, connection.cursor() as cursor:
            time.sleep(idle_s)
            for text in (*before, statement):
                cursor.execute(text)
    except pymysql.MySQLError as error:
        return int(error.args[0])
    return None


def setting(server: Server, name: str) -> str:
    value = variables(server)[name]
    return value if value.replace(".", "").isdigit() or value in ("ON", "OFF") else f"'{value}'"


def variables(server: Server) -> dict[str, str]:
    return {str(name): str(value) for name, value in server.execute("SHOW GLOBAL VARIABLES")}
