# SPDX-License-Identifier: Apache-2.0
"""Settings that explain slower statements, tested on real servers that differ in one setting. The counters or plans of
the servers differ.
"""

from dataclasses import dataclass
from math import log
from typing import Any

import pytest
from querytape.analyze.cause_table import lines
from querytape.analyze.findings.plans import plan_changes
from querytape.analyze.findings.servers import setting_differences
from querytape.analyze.model import ServerDifference
from querytape.servers.sandbox import Server

from tests.analyze.findings.on_servers import explaining, rows_of, settable, started, variables
from tests.conftest import ServerFactory

pytestmark = pytest.mark.server
SORTED = "SELECT note FROM shop.t ORDER BY CONCAT(note, id)"
GROUPED = "SELECT CONCAT(note, id), COUNT(*) FROM shop.t GROUP BY CONCAT(note, id)"
LONG_TEXTS = "SELECT REPEAT(note, 500) AS r, COUNT(*) FROM shop.t WHERE id < 50 GROUP BY r"
KEYED = "SELECT COUNT(*) FROM shop.keyed WHERE n > 5"
JOINED = "SELECT COUNT(*) FROM shop.loose AS a JOIN shop.loose AS b ON a.n = b.n AND a.w = b.w"
CROSSED = "SELECT COUNT(*) FROM shop.loose AS a JOIN shop.loose AS b ON a.n < b.n AND a.w <= b.w"
SCANNED = "SELECT COUNT(note) FROM shop.t IGNORE INDEX (k)"
BY_RANGE = "SELECT COUNT(c) FROM shop.t FORCE INDEX (k) WHERE note >= 'a' ORDER BY NULL"
WRITE = "INSERT INTO shop.n VALUES ()"
CHANGE = "UPDATE shop.t SET c = IF(c = 'a', 'b', 'a') WHERE id < 3000"
MORE_ROWS = ("INSERT INTO shop.t (c, note) SELECT c, REPEAT(note, 1) FROM shop.t",) * 2
TABLES = tuple(f"SELECT * FROM shop.o{number}" for number in range(30))
# The statements write the pages of the tables to disk immediately. Afterwards no page counts as newly created.
PAGES = ("FLUSH TABLES shop.t FOR EXPORT", "UNLOCK TABLES")
NO_DIRTY_PAGES = ("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0", "SET GLOBAL innodb_max_dirty_pages_pct = 0")
BINLOG_SYNCS = (
    "SELECT COUNT_MISC FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME = 'wait/io/file/sql/binlog'"
)
BINLOG_BYTES = "SHOW BINARY LOGS"
CACHE = ("SET GLOBAL query_cache_size = 1048576",)
MORE_TABLES = (
    "CREATE TABLE shop.n (id INT PRIMARY KEY AUTO_INCREMENT)",
    "CREATE TABLE shop.loose AS SELECT id AS n, REPEAT('x', 200) AS w FROM shop.t WHERE id < 500",
    *(f"CREATE TABLE shop.o{number} (a INT)" for number in range(30)),
)


@dataclass(frozen=True)
class Case:
    """A setting with its values in A and B, and a slower statement with its class and the counter that is higher in B.

    `before` runs in the session of the statement. `after` runs in another session after the statement. `at_start`: the
    server reads the setting only when it starts. `fewer`: the counter is lower in B.
    """

    name: str
    a: str
    b: str
    statement: str
    of_class: str
    counter: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    times: int = 20
    at_start: bool = False
    fewer: bool = False


CONFIG = {
    "mysql80": {
        "log-bin": "binlog",
        "binlog-format": "ROW",
        "performance-schema": "ON",
        "temptable-max-mmap": "0",
    },
    "mariadb": {
        "log-bin": "binlog",
        "binlog-format": "ROW",
        "performance-schema": "ON",
        "query-cache-type": "1",
        "query-cache-size": "0",
    },
    "mysql-5.7": {"query-cache-type": "1", "query-cache-size": "0", "tmp-table-size": "1024"},
}
OF_BOTH = [
    Case("sort_buffer_size", "8388608", "32768", SORTED, "read", "Sort_merge_passes"),
    Case("sync_binlog", "0", "1", WRITE, "write", BINLOG_SYNCS),
    Case("binlog_row_image", "'MINIMAL'", "'FULL'", CHANGE, "write", BINLOG_BYTES, times=2),
    Case("table_open_cache", "4000", "10", TABLES[0], "read", "Opened_tables", TABLES * 2, times=1, at_start=True),
    Case(
        "innodb_doublewrite",
        "OFF",
        "ON",
        CHANGE,
        "write",
        "Innodb_dblwr_pages_written",
        (*PAGES, *NO_DIRTY_PAGES, "SELECT SLEEP(2)"),
        ("SELECT SLEEP(3)",),
        1,
        at_start=True,
    ),
    Case(
        "innodb_buffer_pool_size",
        "67108864",
        "8388608",
        SCANNED,
        "read",
        "Innodb_buffer_pool_reads",
        MORE_ROWS,
        at_start=True,
    ),
]
SLOWER: dict[str, list[Case]] = {
    "mysql80": [
        *OF_BOTH,
        Case("innodb_flush_log_at_trx_commit", "0", "1", WRITE, "write", "Innodb_os_log_fsyncs"),
        Case("innodb_flush_method", "O_DSYNC", "fsync", WRITE, "write", "Innodb_os_log_fsyncs", at_start=True),
        Case("key_buffer_size", "8388608", "4096", KEYED, "read", "Key_reads"),
        Case("join_buffer_size", "4194304", "1024", JOINED, "read", "Created_tmp_files"),
        Case("tmp_table_size", "67108864", "1048576", GROUPED, "read", "Created_tmp_disk_tables"),
        Case(
            "max_heap_table_size",
            "67108864",
            "16384",
            GROUPED,
            "read",
            "Created_tmp_disk_tables",
            ("SET SESSION internal_tmp_mem_storage_engine = MEMORY",),
        ),
        Case("temptable_max_ram", "1073741824", "2097152", GROUPED, "read", "Created_tmp_disk_tables"),
        Case("internal_tmp_mem_storage_engine", "TempTable", "MEMORY", LONG_TEXTS, "read", "Created_tmp_disk_tables"),
    ],
    "mariadb": [
        *OF_BOTH,
        Case("innodb_flush_log_at_trx_commit", "0", "1", WRITE, "write", "Innodb_data_fsyncs"),
        Case("innodb_flush_method", "O_DSYNC", "fsync", WRITE, "write", "Innodb_data_fsyncs", at_start=True),
        Case("tmp_table_size", "67108864", "1024", GROUPED, "read", "Created_tmp_disk_tables"),
        Case("max_heap_table_size", "67108864", "16384", GROUPED, "read", "Created_tmp_disk_tables"),
        Case("join_buffer_size", "4194304", "1024", CROSSED, "read", "Handler_read_rnd_next", times=1),
        Case("join_cache_level", "2", "0", CROSSED, "read", "Handler_read_rnd_next", times=1),
        Case(
            "mrr_buffer_size",
            "262144",
            "8192",
            BY_RANGE,
            "read",
            "Handler_mrr_rowid_refills",
            ("SET SESSION optimizer_switch = 'mrr=on,mrr_cost_based=off'",),
        ),
        Case("query_cache_type", "ON", "OFF", KEYED, "read", "Qcache_hits", CACHE, fewer=True),
        Case("query_cache_size", "1048576", "0", KEYED, "read", "Qcache_hits", fewer=True),
    ],
    "mysql-5.7": [
        Case("internal_tmp_disk_storage_engine", "INNODB", "MYISAM", GROUPED, "read", "Key_write_requests", times=3),
        Case("query_cache_type", "ON", "OFF", KEYED, "read", "Qcache_hits", CACHE, fewer=True),
    ],
}


def counted(server: Server, counter: str) -> int:
    """Return the value of a status counter, or the number that a given statement returns."""
    if counter == BINLOG_BYTES:
        return sum(int(row[1]) for row in server.execute(counter))
    rows = server.execute(counter if counter.startswith("SELECT") else f"SHOW GLOBAL STATUS LIKE '{counter}'")
    return int(rows[0][-1])


def measure(server: Server, case: Case) -> tuple[int, dict[str, str]]:
    """Return the increase of the counter during the statement, and the global variables."""
    first = counted(server, case.counter)
    rows_of(server, case.statement, case.before, case.times)
    for text in case.after:
        server.execute(text)
    return counted(server, case.counter) - first, variables(server)


def server_with_tables(factory: ServerFactory, kind: str, config: dict[str, str]) -> Server:
    server = started(factory, kind, config)
    for statement in MORE_TABLES:
        server.execute(statement)
    return server


@pytest.mark.long
@pytest.mark.parametrize("kind", SLOWER)
def test_setting_increases_counter_and_is_named_as_cause(kind: str, server_factory: ServerFactory) -> None:
    shared = server_with_tables(server_factory, kind, CONFIG[kind])
    for case in SLOWER[kind]:
        sides = []
        for value in (case.a, case.b):
            if case.at_start:
                option = {case.name.replace("_", "-"): value, "innodb-flush-log-at-trx-commit": "1"}
                server = server_with_tables(server_factory, kind, CONFIG[kind] | option)
                sides.append(measure(server, case))
                server.kill()
                continue
            old = variables(shared)[case.name]
            shared.execute(f"SET GLOBAL {case.name} = {value}")
            sides.append(measure(shared, case))
            shared.execute(f"SET GLOBAL {case.name} = {settable(old)}")
        (a, of_a), (b, of_b) = sides
        assert (a > 2 * b) if case.fewer else (b > 2 * a), (case.name, a, b)
        counters = [{"name": case.counter, "weight": log((b + 1) / (a + 1))}]
        differences = setting_differences(of_a, of_b)
        assert explaining(case.statement, case.of_class, differences, counters=counters) == [case.name], case.statement


# Test data for plans: columns with few values, many values, mostly one value, or mostly NULL.
PLANNED = (
    "CREATE TABLE shop.big (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b INT, s INT, n INT, w CHAR(60),"
    " KEY ka (a), KEY kb (b), KEY ks (s), KEY kn (n))",
    "INSERT INTO shop.big (a, b, s, n, w)"
    " SELECT id % 300, id % 311, IF(id % 10, 1, id), IF(id % 2, NULL, id), REPEAT('w', 60) FROM shop.t",
    "CREATE TABLE shop.small (id INT PRIMARY KEY, v INT, KEY kv (v))",
    "INSERT INTO shop.small SELECT id, id % 3 FROM shop.t WHERE id < 90",
    "CREATE TABLE shop.sparse (id INT PRIMARY KEY AUTO_INCREMENT, n INT, w CHAR(60), KEY kn (n)) STATS_PERSISTENT=0",
    "INSERT INTO shop.sparse (n, w) SELECT IF(id % 600, NULL, id), 'w' FROM shop.t",
    "CREATE TABLE shop.kept (id INT PRIMARY KEY, v INT, KEY kv (v))",
    "INSERT INTO shop.kept SELECT id, id % 97 FROM shop.t",
    "ANALYZE TABLE shop.big, shop.small, shop.sparse, shop.kept",
)
EITHER = "SELECT w FROM shop.big WHERE a = 3 OR b = 4"
LISTED = "SELECT w FROM shop.big WHERE s IN (1, 2, 3)"
MANY_LISTED = f"SELECT w FROM shop.big WHERE id IN ({', '.join(map(str, range(1, 60)))})"
OF_THREE = "SELECT COUNT(*) FROM shop.big AS x, shop.big AS y, shop.big AS z WHERE y.s = x.id AND z.b = y.n"
NULLS = "SELECT s.w FROM shop.small STRAIGHT_JOIN shop.sparse AS s ON s.n = small.v"
UNINDEXED = "SELECT * FROM shop.big JOIN shop.small ON small.v = big.b WHERE big.w = 'a'"
OF_FIVE = (
    "SELECT COUNT(*) FROM shop.small AS v, shop.small AS w, shop.kept AS x, shop.kept AS y, shop.big AS z"
    " WHERE w.v = v.v AND x.id = v.id AND y.v = x.v AND z.s = y.id"
)
COUNT_AGAIN = ("ANALYZE TABLE shop.sparse",)
COUNT_ALL = ("SET SESSION use_stat_tables = PREFERABLY", "ANALYZE TABLE shop.big, shop.small PERSISTENT FOR ALL")
# Each tuple has the setting, its values in A and B, the statement whose plan changes, and earlier statements of the
# session.
PLANS_OF_BOTH = [
    ("optimizer_switch", "'index_merge=on'", "'index_merge=off'", EITHER, ()),
    ("eq_range_index_dive_limit", "200", "1", LISTED, ()),
    ("optimizer_search_depth", "62", "1", OF_THREE, ()),
    ("optimizer_prune_level", "1", "0", OF_FIVE, ()),
    ("innodb_stats_method", "nulls_equal", "nulls_unequal", NULLS, COUNT_AGAIN),
]
PLANS = {
    "mysql80": [
        *PLANS_OF_BOTH,
        ("range_optimizer_max_mem_size", "8388608", "200", MANY_LISTED, ()),
    ],
    "mariadb": [
        *PLANS_OF_BOTH,
        ("in_predicate_conversion_threshold", "1000", "2", MANY_LISTED, ()),
        ("use_stat_tables", "never", "preferably", UNINDEXED, (*COUNT_ALL, "SET SESSION use_stat_tables = DEFAULT")),
        ("optimizer_use_condition_selectivity", "1", "4", UNINDEXED, COUNT_ALL),
    ],
}


@pytest.mark.long
@pytest.mark.parametrize("kind", PLANS)
def test_setting_that_changes_plans_is_named_as_cause(kind: str, server_factory: ServerFactory) -> None:
    server = server_with_tables(server_factory, kind, {})
    for statement in PLANNED:
        server.execute(statement)
    for name, a, b, statement, before in PLANS[kind]:
        old = variables(server)[name]
        plans, seen = [], []
        for value in (a, b):
            server.execute(f"SET GLOBAL {name} = {value}")
            plans.append(rows_of(server, f"EXPLAIN FORMAT=JSON {statement}", before)[0][0])
            seen.append(variables(server))
        server.execute(f"SET GLOBAL {name} = {settable(old)}")
        assert explaining_differences(plans, statement, setting_differences(*seen)) == [name], statement


@pytest.mark.long
@pytest.mark.parametrize("kind", PLANS)
def test_persistent_statistics_explain_changed_plans(kind: str, server_factory: ServerFactory) -> None:
    """A server with persistent statistics uses even outdated statistics. The other server has no persistent statistics
    and estimates again.
    """
    plans, seen = [], []
    for value in ("ON", "OFF"):
        server = started(server_factory, kind, {"innodb-stats-persistent": value})
        for statement in PLANNED:
            server.execute(statement)
        server.execute("UPDATE mysql.innodb_table_stats SET n_rows = 9 WHERE table_name = 'kept'")
        server.execute("RENAME TABLE shop.kept TO shop.renamed")  # makes the server read the statistics of the new name
        plans.append(rows_of(server, "EXPLAIN FORMAT=JSON SELECT v FROM shop.renamed")[0][0])
        seen.append(variables(server))
    differences = setting_differences(*seen)
    assert explaining_differences(plans, "SELECT v FROM shop.renamed", differences) == ["innodb_stats_persistent"]


def explaining_differences(plans: list[str], statement: str, differences: list[ServerDifference]) -> list[str]:
    """Return the names of the differences that explain a slower read with the given plans of A and B."""
    changes = plan_changes(*plans)
    assert changes, statement
    sides: dict[str, Any] = {side: {"json": text} for side, text in zip("ab", plans, strict=True)}
    kept = {**sides, "class": changes[0].word, "changes": [change.text for change in changes]}
    return explaining(statement, "read", differences, kept)


# Settings that are not tested in this file, with the reason for each setting.
UNTRIED = {
    "innodb_io_capacity": "the pages that the server writes in the background have no fixed number",
    "log_bin": "test_remedies_on_servers.py tries it",
    "log_slave_updates": "only a replica writes more",
    "log_replica_updates": "only a replica writes more",
    "join_buffer_space_limit": "no counter differs with it",
    "read_rnd_buffer_size": "no counter differs with it",
    "max_sort_length": "test_causes_on_servers.py tries it",
    "information_schema_stats_expiry": "test_causes_on_servers.py tries it",
    "innodb_stats_persistent_sample_pages": "estimates of few pages are chance",
    "analyze_sample_percentage": "estimates of few rows are chance",
    "max_seeks_for_key": "MySQL caps such costs itself; whether a plan changes depends on the estimates",
    "optimizer_selectivity_sampling_limit": "estimates of few rows are chance",
    "optimizer_extra_pruning_depth": "it matters for joins of more tables",
    "optimizer_join_limit_pref_ratio": "off, unless somebody sets it",
    "optimizer_max_subgraph_pairs": "only the hypergraph optimizer reads it",
}


def test_each_slowdown_setting_is_tested_or_has_a_reason() -> None:
    tried = {case.name for cases in SLOWER.values() for case in cases} | {"innodb_stats_persistent"}
    tried |= {row[0] for rows in PLANS.values() for row in rows}
    of_slower = {
        name.partition(":")[0]: line for line in lines() if "slower" in line.symptoms and line.topic for name in line.by
    }
    plain = {name for name in of_slower if "*" not in name}
    assert plain - tried == UNTRIED.keys()
