# SPDX-License-Identifier: Apache-2.0
"""Tests of the table of causes. The table is complete and ranks variables and counters by their relevance to the
changes.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from querytape.analyze.cause_table import (
    TOPICS,
    errnos_by,
    is_above,
    lines,
    of_error,
    ordered_topics,
    place_of,
    rank_counters,
    rank_variables,
    remedy_of,
)
from querytape.analyze.model import ServerDifference, Variable

from tests.helpers.shapes import entry_of, rows_of

SYMPTOMS = {"results", "slower", "any", "told", "counter", "start", "gone"}
WHERE = {
    "lint", "on its table", "used", "named", "compared", "sorts", "uses a temporary table", "scans in a join", "reads",
    "writes", "another plan", "joins tables", "weighs an index", "plans may differ", "numbers", "its charset",
}  # fmt: skip
FACTS = {
    *(
        "table",
        "schema",
        "view",
        "column",
        "index",
        "routine",
        "foreign_key",
        "charset",
        "partition",
        "trigger",
        "check",
    ),
}


def names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


def test_each_line_of_the_cause_table_is_complete() -> None:
    """Each error number occurs once in the table. Each line has short texts, and its conditions are known words or
    valid patterns.
    """
    numbers = [errno for line in lines() for errno in sorted(line.errnos)]
    assert len(numbers) == len(set(numbers)) > 120
    for line in lines():
        assert len(line.errnos) in (0, len(line.symptoms))
        assert line.errnos or set(line.symptoms) <= SYMPTOMS, line
        for where in line.where:
            assert where in WHERE or where.startswith(("~", "message ~", "more ", "fewer ")), line
            re.compile(where.partition("~")[2])
        if line.errnos:
            assert 3 < len(line.cause) <= 60, line
        if line.errnos:
            assert 5 < len(line.remedy) <= 120, line
        if {"slower", "results", "any"} & set(line.symptoms) and "lint" not in line.where:
            assert line.where, line
            assert line.cause.count("|") == 1, line
        assert not line.remedy.endswith("."), line


def test_settings_and_counters_have_known_topics() -> None:
    """No earlier pattern of the cause table hides a setting or counter. The table also contains the settings of the
    former separate lists.
    """
    assert {line.topic for line in lines()} == {"", *TOPICS}
    plain = {by.partition(":")[0]: None for line in lines() if line.topic for by in line.by if "*" not in by}
    settings = [name for name in plain if name == name.lower()]
    rows = rank_variables([{"name": name, "a": "1", "b": "2"} for name in settings], list(TOPICS))
    assert names(rows) == settings
    assert len(settings) > 110
    assert len(plain) - len(settings) > 30
    assert settings[0] == "sql_mode"
    assert is_above("innodb_flush_log_at_trx_commit")
    assert not is_above("wait_timeout")
    named = {by.partition(":")[0] for line in lines() for by in line.by if line.errnos and "." not in by}
    assert {name for name in named if place_of("variable", name) is None} == FACTS


@pytest.mark.parametrize(
    ("name", "a", "b", "remedy"),
    [
        ("wait_timeout", "28800", "2", "SET GLOBAL wait_timeout = 28800 on B"),
        ("max_statement_time", "0.5", "0", "SET GLOBAL max_statement_time = 0.5 on B"),
        ("log_bin", "OFF", "ON", "start B with log_bin = OFF"),
        ("sql_mode", "ANSI,DB2", "X", "SET GLOBAL sql_mode = 'ANSI' on B"),
        ("optimizer_switch", "mrr=on,x=on,old=on", "mrr=off,x=on", "SET GLOBAL optimizer_switch = 'mrr=on' on B"),
        ("time_zone_tables", "loaded", "empty", "load the time zone tables on B: mysql_tzinfo_to_sql"),
    ],
)
def test_setting_has_a_remedy(name: str, a: str, b: str, remedy: str) -> None:
    """The remedy sets A's value without the parts that B does not support. Startup settings need a restart of B.
    Settings with a special remedy use the text of the cause table.
    """
    assert remedy_of(ServerDifference("setting", name, "", a, b)).startswith(remedy)


def test_remedies_of_schema_differences() -> None:
    """The remedy of a schema difference contains the names of the table and the object. A property without its own line
    in the cause table uses the remedy of its object.
    """
    lacks = ServerDifference("index", "orders.k", "", table="orders")
    assert "SHOW CREATE TABLE orders on A" in remedy_of(lacks)
    assert remedy_of(ServerDifference("index", "orders.k visible", "", table="orders", fact="visible")) == remedy_of(
        lacks
    )
    assert (
        remedy_of(ServerDifference("statistics", "o updated", "", table="o", fact="updated"))
        == "ANALYZE TABLE o on both sides"
    )
    assert "ALTER EVENT shop.sweep" in remedy_of(ServerDifference("event", "shop.sweep", ""))


def test_error_depends_on_its_own_sql_modes() -> None:
    """A difference in an unrelated sql_mode is no cause. If the values of sql_mode are unknown, the mode may be the
    cause.
    """
    line = of_error(1055)
    assert line is not None
    for a, b, named in (("", "ONLY_FULL_GROUP_BY", True), ("ANSI", "", False), (None, None, True)):
        assert line.names(ServerDifference("setting", "sql_mode", "", a, b)) == named
    assert {1264, 1365, 1406} <= errnos_by("sql_mode:STRICT_*") | errnos_by(
        "sql_mode:STRICT_*,ERROR_FOR_DIVISION_BY_ZERO"
    )


def test_topics_of_listed_variables_depend_on_the_changes() -> None:
    """Errors select modes and character sets. Slower writes select flush settings. Slower reads select plans and
    caches.
    """
    assert ordered_topics([entry_of({"verdict": "errors changed", "class": "read"})], False)[0] == "answers"
    assert ordered_topics([entry_of({"verdict": "slower", "class": "write"})], False)[0] == "durability"
    assert ordered_topics([entry_of({"verdict": "slower", "class": "read"})], False)[:2] == ["optimizer", "memory"]
    assert ordered_topics([entry_of({"verdict": "slower", "class": "write"})], True)[:2] == ["answers", "durability"]
    assert ordered_topics([entry_of({"verdict": "same", "class": "read"})], False) == list(TOPICS)


def test_listed_variables_come_first_by_topic_and_position() -> None:
    given = ("back_log", "innodb_buffer_pool_size", "sync_binlog", "sql_mode", "collation_server", "zzz")
    rows: list[Variable] = [{"name": name, "a": "1", "b": None} for name in given]
    wanted = ["sql_mode", "collation_server", "sync_binlog", "innodb_buffer_pool_size", "back_log", "zzz"]
    assert names(rank_variables(rows, list(TOPICS))) == wanted
    assert names(rank_variables(rows, ["memory", "answers", "optimizer", "durability", "limits"]))[:2] == [
        "innodb_buffer_pool_size",
        "sql_mode",
    ]
    assert [row["topic"] for row in rank_variables(rows, list(TOPICS))][-2:] == [None, None]


def test_counters_with_small_differences_come_last_in_any_topic() -> None:
    rows: list[dict[str, Any]] = [
        {"name": "Sort_scan", "weight": 0.1},
        {"name": "Innodb_os_log_fsyncs", "weight": 3.0},
        {"name": "Handler_read_rnd_next", "weight": -1.0},
        {"name": "Nobody_knows", "weight": 9.0},
    ]
    wanted = ["Handler_read_rnd_next", "Innodb_os_log_fsyncs", "Nobody_knows", "Sort_scan"]
    assert names(rank_counters(rows_of("counters", *rows), list(TOPICS))) == wanted


@pytest.mark.parametrize(
    ("name", "a", "b", "errnos"),
    [
        ("max_allowed_packet", "67108864", "4194304", {1153, 1301, 2006, 2013, 2020}),
        ("max_allowed_packet", "4194304", "67108864", set()),
        ("wait_timeout", "28800", "2", {2006, 2013, 4031}),
        ("max_execution_time", "0", "2000", {1317, 3024}),
        ("max_execution_time", "2000", "0", set()),
        ("innodb_lock_wait_timeout", "50", "0", {1205}),
        ("innodb_lock_wait_timeout", "0", "50", set()),
    ],
)
def test_lower_limit_explains_errors(name: str, a: str, b: str, errnos: set[int]) -> None:
    """A higher limit in B causes no error. A maximum execution time of 0 means no limit, but a lock wait timeout of 0
    is the lowest limit.
    """
    difference = ServerDifference("setting", name, f"{name}: {a} in A, {b} in B", a, b)
    assert {errno for line in lines() if line.names(difference) for errno in line.errnos} == errnos
