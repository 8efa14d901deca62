# SPDX-License-Identifier: Apache-2.0
"""What two servers count for one execution or one write: only what differs by far is said."""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze.findings.work import (
    WRITES,
    counted,
    differences,
    more_work,
    number,
    settings_of,
    work_of,
    work_of_writes,
    work_sentence,
    work_text,
)
from querytape.analyze.model import Report
from querytape.schemas import Folder


def plan(a: Any, b: Any, word: str = "same") -> dict[str, Any]:
    """Return a digest's plans with their counters."""
    return {
        "class": word,
        "a": {"counters": json.dumps({"executions": 4, "counters": a})},
        "b": {"counters": json.dumps({"executions": 4, "counters": b})},
    }


def report(**more: Any) -> Report:
    """Return a report without digests."""
    return Report(Folder("tape", Path("t"), {}), [], [], **more)


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ({"Innodb_pages_read": 0.2}, {"Innodb_pages_read": 225}, "B reads 225 pages from disk, A 0.2"),
        ({"Innodb_pages_read": 2866}, {"Innodb_pages_read": 0}, "A reads 2,866 pages from disk, B 0"),
        ({"Innodb_pages_read": 1000}, {"Innodb_pages_read": 1900}, None),
        ({"Innodb_pages_read": 0}, {"Innodb_pages_read": 3}, None),
        ({}, {"Innodb_pages_read": 225}, None),
        ({"Handler_read_next": 5}, {"Handler_read_rnd_next": 500}, "B reads 500 rows, A 5"),
        ({"Handler_read_next": 300}, {"Handler_read_rnd_next": 301}, None),
        ({"Handler_read_next": 0}, {"Handler_read_next": 20_002}, None),
        ({"Created_tmp_disk_tables": 0}, {"Created_tmp_disk_tables": 1}, "B makes 1 temporary table on disk, A 0"),
        ({"Handler_write": 0}, {"Handler_write": 0, "Handler_tmp_write": 900}, "B writes 900 rows to temporary tables, A 0"),
        ({"Select_full_join": 0}, {"Select_full_join": 2}, "B joins 2 tables without an index, A 0"),
        ({"Sort_merge_passes": 0}, {"Sort_merge_passes": 1}, "B merges sorted rows 1 time on disk, A 0"),
    ],
)  # fmt: skip
def test_what_differs_by_far(a: dict[str, float], b: dict[str, float], text: str | None) -> None:
    """A ratio and a number that matter; equal counters, and those that one side lacks, say nothing."""
    assert work_sentence(plan(a, b)) == (f"plans agree; for each execution {text}" if text else "")


def test_what_tells_most_comes_first() -> None:
    """Disk before memory, at most two of them, each with the side that has more."""
    a = {"Handler_write": 10, "Innodb_pages_read": 0, "Created_tmp_disk_tables": 3, "Sort_rows": 9000}
    b = {"Handler_write": 9000, "Innodb_pages_read": 80, "Created_tmp_disk_tables": 0, "Sort_rows": 0}
    assert work_text(differences(a, b)) == (
        "for each execution B reads 80 pages from disk, A 0; A makes 3 temporary tables on disk, B 0"
    )
    assert settings_of(differences(a, b))[:2] == ["innodb_buffer_pool_size", "tmp_table_size"]


def test_several_digests_are_one_range() -> None:
    """Of the same kind, from the least to the most."""
    works = [*differences({"Sort_rows": 0}, {"Sort_rows": 400}), *differences({"Sort_rows": 1.5}, {"Sort_rows": 9000})]
    assert work_text(works) == "for each execution B sorts 400 to 9,000 rows, A 0 to 1.5"


def test_only_where_plans_agree() -> None:
    """Another plan is the cause itself; what is no counter is none."""
    a, b = {"Sort_rows": 0}, {"Sort_rows": 400}
    assert [bool(work_of(plan(a, b, word))) for word in ("same", "estimates apart", "now a scan", "cannot tell")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert work_of(None) == work_of({"class": "same"}) == []
    for text in ("{", "[]", '{"counters": 3}', '{"counters": {"Sort_rows": "x"}}', None, "[" * 100_000):
        assert counted(text) == {}


def test_writes_by_the_servers_counters() -> None:
    """For each write, and only where both sides have them; a read has its own."""
    a, b = (
        {"binlog_cache_use": 0.0, "innodb_os_log_fsyncs": 1.0},
        {"binlog_cache_use": 1.0, "innodb_os_log_fsyncs": 1.1},
    )
    made = report(write_counters={"a": a, "b": b})
    works, each = more_work(made, {"class": "transaction"})
    assert work_text(works, each) == "for each write B writes 1 transaction to the binary log, A 0"
    assert settings_of(works) == ["log_bin", "sync_binlog"]
    assert work_of_writes(report(write_counters={"b": b})) == []
    read = {"class": "read", "digest": "d"}
    made.query_plans["d"] = plan({"Sort_rows": 400}, {"Sort_rows": 0})
    assert more_work(made, read) == ([], "execution")
    assert differences(b, a, WRITES)[0].a == 1.0


def test_numbers() -> None:
    """Small ones have a decimal or two, whole ones none."""
    assert [number(value) for value in (0, 1, 0.2, 0.04, 1.98, 9.96, 225.4, 12345)] == [
        "0", "1", "0.2", "0.04", "2", "10", "225", "12,345",
    ]  # fmt: skip
