# SPDX-License-Identifier: Apache-2.0
"""Settings that explain changed results, tested on real servers that differ only in one setting."""

from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from querytape.analyze.cause_table import lines
from querytape.analyze.findings.servers import Side, setting_differences
from querytape.replay import parse_target
from querytape.replay.observe.schema_facts import keep_schema_facts
from querytape.servers.sandbox import Server

from tests.analyze.findings.made_sides import compared
from tests.analyze.findings.on_servers import explaining, rows_of, settable, started, variables
from tests.conftest import ServerFactory
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.server
SAME = "CONVERT('a' USING utf8mb4) = CONVERT('a ' USING utf8mb4)"
MARKED = "_utf8mb4'a' = _utf8mb4'a '"
ALIKE = "CONVERT('a' USING utf8mb4) = CONVERT('A' USING utf8mb4)"
STATISTICS = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_NAME = 'grown'"
GROW = (
    "CREATE TABLE IF NOT EXISTS shop.grown AS SELECT id FROM shop.t LIMIT 0",
    "SET SESSION information_schema_stats_expiry = 86400",
    STATISTICS,
    "INSERT INTO shop.grown SELECT id FROM shop.t",
    "SET SESSION information_schema_stats_expiry = DEFAULT",
)
SEARCH = "SELECT COUNT(*) FROM shop.words WHERE MATCH (w) AGAINST ('will' IN BOOLEAN MODE)"
INDEX = (
    "DROP TABLE IF EXISTS shop.words",
    "CREATE TABLE shop.words (w VARCHAR(90), FULLTEXT KEY f (w))",
    "INSERT INTO shop.words VALUES ('will')",
)
NUMBER = (
    "DROP TABLE IF EXISTS shop.n",
    "CREATE TABLE shop.n (id INT PRIMARY KEY AUTO_INCREMENT)",
    *("INSERT INTO shop.n VALUES ()",) * 2,
)
DEEP = "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 9) SELECT n FROM c"
# Each tuple has the setting, its values in A and B, the statement whose result changes, and earlier statements of the
# session.
OF_BOTH: list[tuple[str, str, str, str, tuple[str, ...]]] = [
    ("sql_mode", "''", "'PIPES_AS_CONCAT'", "SELECT 1 || 0", ()),
    ("sql_mode", "''", "'HIGH_NOT_PRECEDENCE'", "SELECT NOT 1 BETWEEN -5 AND 5", ()),
    ("sql_mode", "''", "'PAD_CHAR_TO_FULL_LENGTH'", "SELECT LENGTH(c) FROM shop.t WHERE id = 1", ()),
    ("time_zone", "'+00:00'", "'+02:00'", "SELECT FROM_UNIXTIME(86400)", ()),
    ("group_concat_max_len", "1024", "10", "SELECT GROUP_CONCAT(note) FROM shop.t WHERE id < 4", ()),
    ("max_allowed_packet", "16777216", "1048576", "SELECT LENGTH(REPEAT('a', 2000000))", ()),
    ("innodb_ft_enable_stopword", "ON", "OFF", SEARCH, INDEX),
    ("sql_select_limit", "100", "2", "SELECT id FROM shop.t WHERE id < 9", ()),
    ("div_precision_increment", "4", "8", "SELECT 1 / 3", ()),
    ("default_week_format", "0", "1", "SELECT WEEK('2008-02-20')", ()),
    ("lc_time_names", "'en_US'", "'zh_TW'", "SELECT DATE_FORMAT('2008-02-20', '%M')", ()),
    ("auto_increment_increment", "1", "10", "SELECT MAX(id) - MIN(id) FROM shop.n", NUMBER),
]
RESULTS = {
    "mysql80": [
        *OF_BOTH,
        ("sql_auto_is_null", "OFF", "ON", "SELECT COUNT(*) FROM shop.n WHERE id IS NULL", NUMBER),
        ("block_encryption_mode", "'aes-128-ecb'", "'aes-256-ecb'", "SELECT HEX(AES_ENCRYPT('a', 'k'))", ()),
        ("default_collation_for_utf8mb4", "utf8mb4_0900_ai_ci", "utf8mb4_general_ci", f"SELECT {MARKED}", ()),
        ("information_schema_stats_expiry", "0", "86400", STATISTICS, GROW),
    ],
    "mariadb-11.8": [
        *OF_BOTH,
        ("character_set_collations", "''", "'utf8mb4=utf8mb4_bin'", f"SELECT {ALIKE}", ()),
        ("max_recursive_iterations", "1000", "2", DEEP, ()),
        ("max_sort_length", "1024", "64", "SELECT id FROM shop.t ORDER BY CONCAT(note, '') DESC LIMIT 20", ()),
    ],
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", RESULTS)
def test_setting_changes_result_and_is_named_as_cause(kind: str, server_factory: ServerFactory) -> None:
    server = started(server_factory, kind)
    for name, a, b, statement, before in RESULTS[kind]:
        old = variables(server)[name]
        found, seen = [], []
        for value in (a, b):
            server.execute(f"SET GLOBAL {name} = {value}")
            found.append(rows_of(server, statement, before))
            seen.append(variables(server))
            server.execute("DROP TABLE IF EXISTS shop.grown")
        server.execute(f"SET GLOBAL {name} = {settable(old)}")
        assert found[0] != found[1], (name, found)
        assert explaining(statement, "results", setting_differences(seen[0], seen[1])) == [name], statement


@pytest.mark.long
def test_missing_time_zone_tables_explain_changed_results(mysql80: Server, server_factory: ServerFactory) -> None:
    """Only one server has the time zone tables, so CONVERT_TZ returns different values. The servers are otherwise
    equal.
    """
    other = server_factory("mysql80")
    for statement in (
        "INSERT INTO mysql.time_zone VALUES (9000, 'N')",
        "INSERT INTO mysql.time_zone_name VALUES ('UTC', 9000), ('Europe/Berlin', 9000)",
        "INSERT INTO mysql.time_zone_transition_type VALUES (9000, 0, 3600, 0, 'CET')",
    ):
        other.execute(statement)
    statement = "SELECT CONVERT_TZ('2020-01-01', 'UTC', 'Europe/Berlin')"
    assert rows_of(mysql80, statement) != rows_of(other, statement)
    differences = setting_differences(variables(other), variables(mysql80))
    (zones,) = (each for each in differences if each.name == "time_zone_tables")
    assert (zones.a, zones.b) == ("loaded", "empty")
    assert explaining(statement, "results", [zones]) == ["time_zone_tables"]


def test_default_collation_explains_changed_literal_comparison(
    mysql80: Server, mariadb: Server, tmp_path: Path
) -> None:
    """Literals without a column use the default collation of their character set, which differs between the servers."""
    statement = f"SELECT {SAME}"
    sides: list[Side] = []
    tape = make_tape(tmp_path / "t.tape", [{"statement": statement, "db": "shop"}])
    for server in (mysql80, mariadb):
        server.execute("CREATE DATABASE IF NOT EXISTS shop")
        file = tmp_path / f"{server.kind}.parquet"
        with duckdb.connect() as con, closing(parse_target(server.url(), environ={}).connect()) as there:
            keep_schema_facts(con, there, {"shop": "shop"}, file)
        sides.append(Side({}, f"read_parquet('{file}')"))
    assert rows_of(mysql80, statement) != rows_of(mariadb, statement)
    found = list(compared(tape, *sides).quiet)
    assert "utf8mb4 collation" in explaining(statement, "results", found)


def test_each_result_setting_is_tested_on_a_server() -> None:
    tried = {row[0] for rows in RESULTS.values() for row in rows} | {"time_zone_tables"}
    for line in lines():
        if "results" in line.symptoms and line.topic == "answers" and line.by:
            assert tried & {name.partition(":")[0] for name in line.by} or "auto_increment_*" in line.by, line
