# SPDX-License-Identifier: Apache-2.0
"""Explanations of time differences: work per execution or write, the query cache, and changes over time.

The module also tests notes on ratios that disagree with sums.
"""

import json
import random
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.analyze import Report, as_html, as_json, as_markdown, build
from querytape.analyze.findings.slower import (
    MIN_WRITES,
    WRITES,
    cache_sentence,
    cache_use,
    counted,
    differences,
    more_work,
    number,
    observations,
    period_s,
    settings_of,
    warm_after_ns,
    work_of,
    work_of_writes,
    work_sentence,
    work_text,
    write_counters,
)
from querytape.analyze.model import DigestEntry, ratio_of
from querytape.schemas import Folder, columns, open_folder

from tests.helpers.duck import database
from tests.helpers.reports import terminal_text
from tests.helpers.runs import make_run
from tests.helpers.shapes import entry_of, plan_of, rows_of
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, SECOND, T0, make_tape

EVENTS, HEAVY = 200, 20
FAST, SLOW = MS // 10, 4 * MS // 10
CACHE = {"before": {"qcache_hits": 0, "com_select": 0}, "after": {"qcache_hits": 90, "com_select": 10}}


def plan(a: Any, b: Any, word: str = "same") -> Any:
    sides = [{"counters": json.dumps({"executions": 4, "counters": counters})} for counters in (a, b)]
    return plan_of({"class": word, "a": sides[0], "b": sides[1]})


def report_of_work(**more: Any) -> Report:
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
def test_large_counter_differences_are_named(a: dict[str, float], b: dict[str, float], text: str | None) -> None:
    """A counter is named only if its ratio and its difference are both large. Both sides must have the counter."""
    assert work_sentence(plan(a, b)) == (f"plans agree; for each execution {text}" if text else "")


def test_most_relevant_counters_come_first() -> None:
    """Disk access precedes memory. At most two counters are shown, each with the side that has the higher value."""
    a = {"Handler_write": 10, "Innodb_pages_read": 0, "Created_tmp_disk_tables": 3, "Sort_rows": 9000}
    b = {"Handler_write": 9000, "Innodb_pages_read": 80, "Created_tmp_disk_tables": 0, "Sort_rows": 0}
    assert work_text(differences(a, b)) == (
        "for each execution B reads 80 pages from disk, A 0; A makes 3 temporary tables on disk, B 0"
    )
    assert settings_of(differences(a, b))[:2] == ["innodb_buffer_pool_size", "tmp_table_size"]


def test_several_digests_share_one_range_of_counters() -> None:
    works = [*differences({"Sort_rows": 0}, {"Sort_rows": 400}), *differences({"Sort_rows": 1.5}, {"Sort_rows": 9000})]
    assert work_text(works) == "for each execution B sorts 400 to 9,000 rows, A 0 to 1.5"


def test_counters_explain_slowdown_only_if_plans_are_equal() -> None:
    """A changed plan is already a cause, so counters are not used. Invalid counters are ignored."""
    a, b = {"Sort_rows": 0}, {"Sort_rows": 400}
    assert [bool(work_of(plan(a, b, word))) for word in ("same", "estimates apart", "now a scan", "inconclusive")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert work_of(None) == work_of(plan_of({"class": "same"})) == []
    for text in ("{", "[]", '{"counters": 3}', '{"counters": {"Sort_rows": "x"}}', None, "[" * 100_000):
        assert counted(text) == {}


def test_server_counters_explain_slower_writes() -> None:
    """The counters of the server are divided by the number of writes. Both sides must have these counters. A read uses
    the counters of its own execution.
    """
    a, b = (
        {"binlog_cache_use": 0.0, "innodb_os_log_fsyncs": 1.0},
        {"binlog_cache_use": 1.0, "innodb_os_log_fsyncs": 1.1},
    )
    made = report_of_work(write_counters={"a": a, "b": b})
    works, each = more_work(made, entry_of({"class": "transaction"}))
    assert work_text(works, each) == "for each write B writes 1 transaction to the binary log, A 0"
    assert settings_of(works) == ["log_bin", "sync_binlog"]
    assert work_of_writes(report_of_work(write_counters={"b": b})) == []
    read = entry_of({"class": "read", "digest": "d"})
    made.query_plans["d"] = plan({"Sort_rows": 400}, {"Sort_rows": 0})
    assert more_work(made, read) == ([], "execution")
    assert differences(b, a, WRITES)[0].a == 1.0


def test_small_numbers_have_up_to_two_decimals() -> None:
    assert [number(value) for value in (0, 1, 0.2, 0.04, 1.98, 9.96, 225.4, 12345)] == [
        "0", "1", "0.2", "0.04", "2", "10", "225", "12,345",
    ]  # fmt: skip


def run_of(folder: Path, con: duckdb.DuckDBPyConnection, writes: int, before: Any, after: Any) -> Folder:
    """Write a run with the given number of writes in two ticks."""
    tape = folder / "t.tape"
    if not tape.exists():
        make_tape(tape, [{"statement": "SELECT 1"}])
    number = len(list(folder.glob("*.run")))
    kept = {"before": before, "after": after}
    run = make_run(folder / f"{number}.run", tape, [{}], server_counters=kept)
    listed = ", ".join(f"{'n' if name == 'writes' else 0} AS {name}" for name, _ in columns("run", "ticks"))
    con.execute(f"COPY (SELECT {listed} FROM (VALUES ({writes - 1}), (1)) AS v(n)) TO '{run}/ticks.parquet'")
    return open_folder("run", run)


@pytest.fixture
def con() -> Any:
    with database() as made:
        yield made


def test_counters_of_all_rounds_are_added(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    """Counters are divided by the writes of all rounds. A round with a server restart is excluded, including its
    writes.
    """
    start = {"uptime": 10, "binlog_cache_use": 5}
    rounds = [
        run_of(tmp_path, con, 100, start, {"uptime": 20, "binlog_cache_use": 105}),
        run_of(tmp_path, con, 100, start, {"uptime": 20, "binlog_cache_use": 25}),
        run_of(tmp_path, con, 900, start, {"uptime": 2, "binlog_cache_use": 25}),
    ]
    assert write_counters(con, {"a": rounds, "b": rounds[:1]}) == {
        "a": {"binlog_cache_use": 0.6},
        "b": {"binlog_cache_use": 1.0},
    }


def test_missing_counters_give_no_explanation(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    """Runs of older releases, read-only runs and runs with few writes have no usable counters. A server that is gone at
    the end of the run has no usable counters either.
    """
    start, end = {"binlog_cache_use": 5}, {"binlog_cache_use": 105}
    assert write_counters(con, {"a": [run_of(tmp_path, con, 100, start, None)]}) == {}
    assert write_counters(con, {"a": [run_of(tmp_path, con, MIN_WRITES - 1, start, end)]}) == {}
    run = run_of(tmp_path, con, 100, start, end)
    run.info["server_counters"] = None
    assert write_counters(con, {"a": [run], "b": []}) == {}


def side(version: str, *counted: tuple[int, int, int, int] | None, read_target: str | None = None) -> list[Folder]:
    """Return the rounds of a side.

    Each tuple has the cache hits and Com_select before the round and after the round. None means that the server has no
    query cache.
    """
    rounds = []
    for nth, four in enumerate(counted):
        info: dict[str, Any] = {"target": {"version": version}, "query_cache": None}
        if read_target:
            info["read_target"] = {"version": read_target}
        if four is not None:
            names = ("qcache_hits", "com_select")
            info["query_cache"] = {
                "before": dict(zip(names, four[:2], strict=True)),
                "after": dict(zip(names, four[2:], strict=True)),
            }
        rounds.append(Folder("run", Path(f"{nth}.run"), info))
    return rounds


def report(a: list[Folder], b: list[Folder]) -> Report:
    return Report(Folder("tape", Path("t.tape"), {}), a, b)


@pytest.mark.parametrize(
    ("rounds", "use"),
    [
        (side("5.7.44-log", (10, 10, 70, 50)), (60, 100)),
        (side("10.11.6-MariaDB", (10, 10, 70, 110)), (60, 100)),
        (side("8.0.42", (10, 10, 70, 110), read_target="10.11.6-MariaDB"), (60, 100)),
        (side("5.7.44", (0, 0, 10, 10), (10, 10, 20, 40)), (20, 60)),
        (side("5.7.44", (900, 900, 10, 10)), (10, 20)),
    ],
)
def test_query_cache_share_of_mysql_and_mariadb(rounds: list[Folder], use: tuple[int, int]) -> None:
    """MySQL's Com_select excludes cache hits, and MariaDB's Com_select includes them. The counters of all rounds are
    added. Counters of a restarted server start at zero.
    """
    found = cache_use(report(rounds, side("8.0.42", None)))
    assert found == {"a": use}


def test_query_cache_text_names_side_hit_share_and_remedy() -> None:
    both = report(side("5.7.44", (0, 0, 61, 39)), side("10.11.6-MariaDB", (0, 0, 1, 900)))
    assert cache_sentence(both) == (
        "A answered 61 % of its SELECTs from its query cache (61 of 100) and B answered less than 1 % of its SELECTs from"
        " its query cache (1 of 900). These times measure the cache, not the queries. Use"
        " querytape compare --no-query-cache to compare without the cache."
    )
    assert cache_sentence(report(side("5.7.44", (5, 5, 5, 90)), side("8.0.42", None))) is None


def report_with_opposite_tail(folder: Path, swap: bool = False, heavy_ns: int = 60 * MS, cache: Any = None) -> Report:
    """Return a report in which one side is four times faster, but one in ten of its events takes very long."""
    events = [{"statement": "SELECT 1", "digest": "1" * 16, "start_ns": T0 + n * 50 * MS} for n in range(EVENTS)]
    tape = make_tape(folder / "t.tape", events)
    write_digests(tape, {"1" * 16: "select c from t where id = ?"})
    sides = []
    for quick in (True, False):
        rows = []
        for n in range(EVENTS):
            due, jitter = n * 50 * MS, n * 37 % 100 * 100
            took = (heavy_ns if n % (EVENTS // HEAVY) == 5 else FAST) if quick else SLOW
            rows.append({"due_ns": due, "sent_ns": due, "done_ns": due + took + jitter})
        sides.append(rows)
    if swap:
        sides.reverse()
    given = {"target": {"name": "old", "version": "5.7.44"}, "query_cache": cache}
    a = make_run(folder / "a.run", tape, sides[0], **given)
    return build(tape, [a], [make_run(folder / "b.run", tape, sides[1])])


def lost_ns(entry: DigestEntry) -> int:
    """Return the additional time that B took for the pairs of a digest."""
    assert entry["pair"] is not None
    return entry["pair"]["lost_ns"]


@pytest.mark.slow
def test_slower_ratio_with_lower_total_time_has_a_note(tmp_path: Path) -> None:
    """The note counts the events that took longer in B and the events that took less time. Each output shows the note
    next to the ratio.
    """
    report = report_with_opposite_tail(tmp_path)
    (entry,) = report.digests
    assert (ratio_of(entry) or 0) > 1.5
    assert lost_ns(entry) < -HEAVY * 50 * MS
    assert entry["note"] == (
        "but 1.14s less in total: 180 events took longer in B (by 54.0ms in total), 20 events took less time in B (by 1.19s in total)"
    )
    flat = " ".join(terminal_text(report).split())
    for text in (flat, as_html(report), as_markdown(report).replace("\\", "")):
        assert entry["note"] in text
    assert json.loads(as_json(report))["digests"][0]["note"] == entry["note"]
    assert "1 digest, 200 events, 1.14s saved in total: most events take longer" in flat


@pytest.mark.slow
def test_faster_ratio_with_higher_sum_has_a_note(tmp_path: Path) -> None:
    (entry,) = report_with_opposite_tail(tmp_path, swap=True).digests
    assert (
        entry["note"]
        == "but 1.14s more in total: 20 events took longer in B (by 1.19s in total), 180 events took less time in B (by 54.0ms in total)"
    )


@pytest.mark.slow
def test_note_names_query_cache_hits(tmp_path: Path) -> None:
    (entry,) = report_with_opposite_tail(tmp_path, cache=CACHE).digests
    assert (entry["note"] or "").endswith("; the query cache of A answered some events")


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("heavy_ns", [FAST, 3 * FAST])
def test_ratio_and_sum_with_equal_direction_need_no_note(tmp_path: Path, heavy_ns: int) -> None:
    (entry,) = report_with_opposite_tail(tmp_path, heavy_ns=heavy_ns).digests
    assert lost_ns(entry) > 0
    assert entry["note"] is None


def test_periodic_stalls_and_warm_up_are_named() -> None:
    """Stalls every 30 s are called periodic, and random stalls are not. A slow start of the run is called a warm-up."""
    even = rows_of("stalls", *({"round": 1, "at_ns": n * 30 * SECOND} for n in range(6)))
    assert period_s(even) == pytest.approx(30)
    odd = rows_of("stalls", *({"round": 1, "at_ns": at * SECOND} for at in (1, 2, 30, 31, 90, 200)))
    assert period_s(odd) is None
    slow = parts((4, 2.0), (16, 1.0))
    assert warm_after_ns(slow) == 4 * SECOND
    assert warm_after_ns(parts((20, 1.0))) == 0


def parts(*levels: tuple[int, float]) -> list[Any]:
    """Return rows of relative_latency.sql for run b. Each argument has a number of parts and the level of these parts."""
    values = [level for n, level in levels for _ in range(n)]
    return [
        {"run": "b", "round": 1, "part": n, "relative_latency": value, "span_ns": 20 * SECOND, "n": 100}
        for n, value in enumerate(values)
    ]


def stall(at_s: float, long_s: float) -> Any:
    """Return a row of stalls.sql for run a."""
    return {"run": "a", "round": 1, "at_ns": int(at_s * SECOND), "long_ns": int(long_s * SECOND)}


def test_each_kind_of_observation_names_its_run() -> None:
    (warm,) = observations(parts((4, 2.0), (16, 1.0)), [])
    assert warm == (
        "b",
        "warmed up for 4.00s. During this time, statements were 100% slower than later. Use --exclude-warmup 4s to exclude this time.",
    )
    (steady,) = observations(parts((12, 1.0), (8, 1.5)), [])
    assert steady == ("b", "was not steady: statements took 50% more time at the end of the run than in the middle.")
    *_, faster = observations(parts((12, 1.0), (8, 0.8)), [])
    assert faster.text == "was not steady: statements took 20% less time at the end of the run than in the middle."
    assert observations(parts((20, 1.0)), []) == []
    assert observations(parts((3, 0.7), (1, 1.5), (16, 1.0)), []) == []  # one slow part after the start is no warm-up
    assert warm_after_ns(parts((1, 1.2), (5, 0.5), (14, 1.15))) == 0  # the start is not slower than the later parts
    assert observations(parts((10, 3.0)), []) == []  # too few parts for an observation


def test_warm_up_is_slower_than_later_parts() -> None:
    """For random latencies, each reported warm-up is at least 10 % slower than the later parts of the run."""
    chance = random.Random(20)
    for _ in range(2000):
        found = observations(parts(*((1, chance.lognormvariate(0, chance.choice((0.1, 0.5)))) for _ in range(20))), [])
        for text in (each.text for each in found if each.text.startswith("warmed up")):
            assert int(re.findall(r"were (-?\d+)% slower", text)[0]) >= 10, text


def test_single_repeated_and_periodic_stalls_have_different_texts() -> None:
    assert observations([], [stall(3, 0.5)]) == [("a", "had 1 stall, 500ms in total.")]
    assert observations([], [stall(3, 0.5), stall(4, 1)])[0].text == "had 2 stalls, 1.50s in total, the longest 1.00s."
    even = [stall(10 * n, 0.2) for n in range(5)]
    assert observations([], even)[0].text == "had 5 stalls, 1.00s in total, the longest 200ms, about every 10.0 s."
