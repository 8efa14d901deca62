# SPDX-License-Identifier: Apache-2.0
"""Settings that explain other results and slower statements, tried on real servers that differ in just this."""

from contextlib import closing
from math import log
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.analyze import Report
from querytape.analyze.cause_table import lines
from querytape.analyze.database import open_analysis
from querytape.analyze.findings.causes import with_causes
from querytape.analyze.findings.servers import Side, compare_servers, setting_differences
from querytape.analyze.model import ServerDifference, Servers
from querytape.native.bindings.statements import Normalizer
from querytape.replay import parse_target
from querytape.replay.observe.schema_facts import keep_schema_facts
from querytape.schemas import Folder
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.server
SETUP = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(3), note VARCHAR(300), KEY k (note))",
    "INSERT INTO shop.t (c, note) SELECT 'a', REPEAT('x', 200) FROM (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) AS s",
    *("INSERT INTO shop.t (c, note) SELECT c, CONCAT(REPEAT(CHAR(97 + id % 26), 200), id) FROM shop.t",) * 11,
    "CREATE TABLE shop.keyed (id INT PRIMARY KEY, n INT, KEY k (n)) ENGINE=MyISAM",
    "INSERT INTO shop.keyed SELECT id, id * 7 % 5000 FROM shop.t",
)
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
# Setting, its values in A and B, what returns something else, and what is done before it in the same session.
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
SORTED = "SELECT note FROM shop.t ORDER BY CONCAT(note, id)"
GROUPED = "SELECT CONCAT(note, id), COUNT(*) FROM shop.t GROUP BY CONCAT(note, id)"
KEYED = "SELECT COUNT(*) FROM shop.keyed WHERE n > 5"
WRITE = "INSERT INTO shop.n VALUES ()"
# Setting, its values in A and B, what is slower, its class, and the counter of which B has more.
SLOWER: dict[str, list[tuple[str, str, str, str, str, str]]] = {
    "mysql80": [
        ("sort_buffer_size", "8388608", "32768", SORTED, "read", "Sort_merge_passes"),
        ("innodb_flush_log_at_trx_commit", "0", "1", WRITE, "write", "Innodb_os_log_fsyncs"),
        ("key_buffer_size", "8388608", "4096", KEYED, "read", "Key_reads"),
    ],
    "mariadb": [
        ("sort_buffer_size", "8388608", "32768", SORTED, "read", "Sort_merge_passes"),
        ("tmp_table_size", "67108864", "1024", GROUPED, "read", "Created_tmp_disk_tables"),
        ("innodb_flush_log_at_trx_commit", "0", "1", WRITE, "write", "Innodb_data_fsyncs"),
    ],
}


def started(factory: ServerFactory, kind: str) -> Server:
    """Return a server with the tables."""
    server = factory(kind)
    for statement in SETUP:
        server.execute(statement)
    return server


def rows_of(server: Server, statement: str, before: tuple[str, ...] = (), times: int = 1) -> Any:
    """Return what a statement returns in a session of its own."""
    with closing(server.connect()) as con, con.cursor() as cursor:
        for text in before:
            cursor.execute(text)
        for _ in range(times):
            cursor.execute(statement)
        return cursor.fetchall()


def variables(server: Server) -> dict[str, str]:
    """Return the global variables, and what goes with them."""
    with closing(server.connect()) as con:
        return gather(con).variables


def explaining(statement: str, kind: str, differences: list[ServerDifference], **more: Any) -> list[str]:
    """Return the names of differences that explain a statement that returns something else, or is slower."""
    entry = {
        "digest": "d",
        "verdict": "slower" if kind != "results" else "same",
        "text": Normalizer().normalize(statement.encode()).text,
        "class": kind,
    }
    told = {"results": [{"digest": "d", "known": None, "reason": None, "kind": "data"}] if kind == "results" else []}
    tables = {"d": frozenset({"n"} if "shop.n" in statement else ())}
    inserting = {"digest": "i", "verdict": "same", "text": "insert into n values ()", "class": "write"}
    written = {row["digest"]: Normalizer().properties(str(row["text"]).encode()) for row in (entry, inserting)}
    report = Report(
        Folder("tape", Path("t"), {}), [], [], digests=[entry, inserting], written=written, tables={**tables, "i": frozenset({"n"})},
        answers={**told, **more}, servers=Servers((), quiet=tuple(differences)),
    )  # fmt: skip
    return [each.name for each in with_causes(report).differences if "d" in each.changed]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", RESULTS)
def test_settings_that_change_results(kind: str, server_factory: ServerFactory) -> None:
    """The rows differ between A's value and B's, and the setting is the one that explains them."""
    server = started(server_factory, kind)
    for name, a, b, statement, before in RESULTS[kind]:
        old = variables(server)[name]
        found, seen = [], []
        for value in (a, b):
            server.execute(f"SET GLOBAL {name} = {value}")
            found.append(rows_of(server, statement, before))
            seen.append(variables(server))
            server.execute("DROP TABLE IF EXISTS shop.grown")
        server.execute(f"SET GLOBAL {name} = {old if old.isdigit() or old in ('ON', 'OFF') else repr(old)}")
        assert found[0] != found[1], (name, found)
        assert explaining(statement, "results", setting_differences(seen[0], seen[1])) == [name], statement


@pytest.mark.long
@pytest.mark.parametrize("kind", SLOWER)
def test_settings_that_make_it_slower(kind: str, server_factory: ServerFactory) -> None:
    """The server counts more of what takes long, and the setting is the one that explains it."""
    server = started(server_factory, kind)
    server.execute("CREATE TABLE shop.n (id INT PRIMARY KEY AUTO_INCREMENT)")
    for name, a, b, statement, of_class, counter in SLOWER[kind]:
        old = variables(server)[name]
        counted, seen = [], []
        for value in (a, b):
            server.execute(f"SET GLOBAL {name} = {value}")
            before = int(server.execute(f"SHOW GLOBAL STATUS LIKE '{counter}'")[0][1])
            rows_of(server, statement, times=20)
            counted.append(int(server.execute(f"SHOW GLOBAL STATUS LIKE '{counter}'")[0][1]) - before)
            seen.append(variables(server))
        server.execute(f"SET GLOBAL {name} = {old}")
        assert counted[1] > 2 * counted[0], (name, counted)
        counters = [{"name": counter, "weight": log((counted[1] + 1) / (counted[0] + 1))}]
        assert explaining(statement, of_class, setting_differences(seen[0], seen[1]), counters=counters) == [name], (
            statement
        )


@pytest.mark.long
def test_tables_of_time_zones(mysql80: Server, server_factory: ServerFactory) -> None:
    """Where one server has them, what converts between zones returns something else; the servers differ in just this."""
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


def test_default_collations(mysql80: Server, mariadb: Server, tmp_path: Path) -> None:
    """Texts without a column compare otherwise where a character set has another default collation."""
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
    database = open_analysis()
    database.con.execute(f"CREATE TEMP VIEW tape_digest AS FROM '{tape}/digests.parquet'")
    found = list(compare_servers(database, *sides).quiet)
    database.close()
    assert "utf8mb4 collation" in explaining(statement, "results", found)


def test_no_row_is_left_out() -> None:
    """Of each line about answers, durability and memory one setting is tried above on a server, but for the untried."""
    tried = {row[0] for rows in RESULTS.values() for row in rows} | {row[0] for rows in SLOWER.values() for row in rows}
    for line in lines():
        if set(line.symptoms) & {"results", "slower"} and line.topic in ("answers", "durability", "memory"):
            assert (
                not line.by
                or tried & {name.partition(":")[0] for name in line.by}
                or {name.partition(":")[0] for name in line.by} & UNTRIED
            ), line


# Of their lines no setting is tried here: these have other tests, or are known from the manuals alone.
UNTRIED = {
    "time_zone_tables", "auto_increment_*", "innodb_doublewrite", "innodb_buffer_pool_size", "join_buffer_size",
    "temptable_*", "query_cache_type", "read_rnd_buffer_size", "mrr_buffer_size", "table_open_cache",
}  # fmt: skip
