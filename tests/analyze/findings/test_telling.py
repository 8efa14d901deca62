# SPDX-License-Identifier: Apache-2.0
"""Variables and counters by what they tell about what changed."""

from typing import Any

from querytape.analyze.findings.telling import (
    TOPICS,
    decisive,
    ordered_topics,
    rank_counters,
    rank_variables,
    telling,
)


def names(rows: list[dict[str, Any]]) -> list[str]:
    """Return the names of rows, in order."""
    return [row["name"] for row in rows]


def test_the_list() -> None:
    """Each name has a topic that is known, and stands once; none is behind a pattern that takes it first."""
    known = telling()
    assert {each.topic for each in known} <= set(TOPICS)
    assert {each.kind for each in known} == {"variable", "counter"}
    assert len({(each.kind, each.name) for each in known}) == len(known)
    plain = [each.name for each in known if each.kind == "variable" and "*" not in each.name]
    rows = rank_variables([{"name": name, "a": "1", "b": "2"} for name in plain], list(TOPICS))
    assert names(rows) == plain
    assert decisive()[0] == "sql_mode"
    assert "innodb_flush_log_at_trx_commit" in decisive()


def test_by_what_changed() -> None:
    """Errors ask for modes and character sets, slower writes for what flushes, slower reads for plans and caches."""
    assert ordered_topics([{"verdict": "errors changed", "class": "read"}], False)[0] == "answers"
    assert ordered_topics([{"verdict": "slower", "class": "write"}], False)[0] == "durability"
    assert ordered_topics([{"verdict": "slower", "class": "read"}], False)[:2] == ["optimizer", "memory"]
    assert ordered_topics([{"verdict": "slower", "class": "write"}], True)[:2] == ["answers", "durability"]
    assert ordered_topics([{"verdict": "same", "class": "read"}], False) == list(TOPICS)


def test_variables() -> None:
    """What is in the list comes first, by topic and place; the rest keeps its order and has no topic."""
    given = ("back_log", "innodb_buffer_pool_size", "sync_binlog", "sql_mode", "collation_server", "zzz")
    rows = [{"name": name, "a": "1", "b": None} for name in given]
    wanted = ["sql_mode", "collation_server", "sync_binlog", "innodb_buffer_pool_size", "back_log", "zzz"]
    assert names(rank_variables(rows, list(TOPICS))) == wanted
    assert names(rank_variables(rows, ["memory", "answers", "optimizer", "durability", "limits"]))[:2] == [
        "innodb_buffer_pool_size",
        "sql_mode",
    ]
    assert [row["topic"] for row in rank_variables(rows, list(TOPICS))][-2:] == [None, None]


def test_counters() -> None:
    """Those that hardly differ are last, whatever their topic."""
    rows = [
        {"name": "Sort_scan", "weight": 0.1},
        {"name": "Innodb_os_log_fsyncs", "weight": 3.0},
        {"name": "Handler_read_rnd_next", "weight": -1.0},
        {"name": "Nobody_knows", "weight": 9.0},
    ]
    wanted = ["Handler_read_rnd_next", "Innodb_os_log_fsyncs", "Nobody_knows", "Sort_scan"]
    assert names(rank_counters(rows, list(TOPICS))) == wanted
