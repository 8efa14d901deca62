# SPDX-License-Identifier: Apache-2.0
"""Causes of changed statements: which server differences explain them, and how a statement uses a column."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze.cause_table import remedy_of
from querytape.analyze.findings.causes import (
    FAILS,
    compares,
    differences_of,
    does,
    may_be_slower,
    reason_of,
    reason_text,
    slower_because,
    with_causes,
    withdraw_excuses,
)
from querytape.analyze.findings.remedies import cause_of
from querytape.analyze.model import Report, ServerDifference, Servers
from querytape.native.bindings.statements import Normalizer
from querytape.schemas import Folder

from tests.helpers.shapes import entry_of, plan_of, rows_of

SORTS = json.dumps({"query_block": {"filesort": {"table": {"table_name": "o", "access_type": "ALL"}}}})


BEYOND: dict[str, Any] = {"verdict": "inconclusive", "shift": {"ratio": 9.0}, "pair": {"lost_ns": 10**9}}


def report(**more: Any) -> Report:
    """Return a report of three digests. The first is slower on table `o`, the second sorts and is slower, and the third
    is the same.
    """
    tape = Folder("tape", Path("t"), {})
    digests = [
        entry_of({"digest": "slow", "verdict": "slower", "text": "select * from o"}),
        entry_of({"digest": "sorting", "verdict": "slower", "text": "select * from p order by a"}),
        entry_of({"digest": "same", "verdict": "same", "text": "select * from o order by a"}),
    ]
    for plan in more.get("query_plans", {}).values():
        plan.update(plan_of(plan))
    tables = {"slow": frozenset({"o"}), "sorting": frozenset({"p"}), "same": frozenset({"o"})}
    return read_again(Report(tape, [], [], digests=digests, tables=tables, answers={"results": []}, **more))


def read_again(made: Report) -> Report:
    """Return the report after parsing its statement texts again."""
    made.written = {row["digest"]: Normalizer().properties(row["text"].encode()) for row in made.digests}
    return made


def test_differences_that_explain_changes_come_first() -> None:
    """The index of a changed statement's table comes first. Then come the sort buffer and a setting that explains no
    statement.
    """
    rows = (
        ServerDifference("setting", "time_zone", "t"),
        ServerDifference("index", "o.k", "i", table="O"),
        ServerDifference("setting", "sort_buffer_size", "s"),
    )
    found = with_causes(report(servers=Servers(rows))).differences
    assert [(each.text, each.changed) for each in found] == [("i", ("slow",)), ("s", ("sorting",)), ("t", ())]
    assert reason_text(found[0]) == "i: 1 changed statement uses the index"
    assert reason_text(found[2]) == "t"


def test_setting_for_results_does_not_explain_slowdown() -> None:
    zone = ServerDifference("setting", "time_zone", "zone", "UTC", "SYSTEM")
    made = report(servers=Servers((zone,)))
    made.digests[0]["text"] = "select now() from o"
    made.answers["results"] = rows_of("results", {"digest": "slow", "kind": "data"})
    made.servers = with_causes(made)
    assert made.servers.differences[0].changed == ("slow",)
    assert reason_of(made, made.digests[0]).difference is None
    made.servers = Servers((zone, ServerDifference("index", "o.k", "index", table="o")))
    made.servers = with_causes(made)
    difference = reason_of(made, made.digests[0]).difference
    assert getattr(difference, "text", None) == "index"


def test_durability_settings_explain_only_slower_writes_commits_and_ddl() -> None:
    made = report(servers=Servers((ServerDifference("setting", "log_bin", "l"),)))
    made.digests[0] |= {"class": "write"}
    made.digests[1] |= {"class": "read"}
    for more, verdict in (("transaction", "slower"), ("ddl", "unstable"), ("write", "errors"), ("write", "same")):
        made.digests.append(entry_of({"digest": f"{more} {verdict}", "verdict": verdict, "text": "", "class": more}))
    found = with_causes(made).differences[0]
    assert found.changed == ("ddl unstable", "slow", "transaction slower")
    assert reason_text(found) == "l: 3 changed statements write or commit"


def test_reason_counts_failed_and_slower_statements_separately() -> None:
    difference = ServerDifference("setting", "sort_buffer_size", "s", changed=("e", "s", "t"), doing={"e": FAILS})
    assert reason_text(difference) == (
        "s: 1 changed statement fails with an error that the difference can cause;"
        " 2 changed statements sort or use a temporary table"
    )


def test_possibly_slower_digest_has_a_cause() -> None:
    """An inconclusive digest has a cause only if its ratio exceeds the margin and its lost time is relevant."""
    rows = (ServerDifference("setting", "time_zone", "t"), ServerDifference("index", "o.k", "i", table="o"))
    made = report(servers=Servers(rows))
    first = dict(made.digests[0])
    for less in ({}, {"shift": {"ratio": 1.05}}, {"pair": {"lost_ns": 1000}}, {"shift": None, "pair": None}):
        made.digests[0] = entry_of(first, BEYOND, less)
        found = with_causes(made).differences
        assert [(each.text, each.changed, each.inconclusive) for each in found if each.inconclusive] == (
            [] if less else [("i", (), ("slow",))]
        )
        assert may_be_slower(made, made.digests[0]) == (not less)
    made.digests[0] = entry_of(first, BEYOND)
    assert reason_text(with_causes(made).differences[0]) == "i: 1 possibly slower statement uses the index"


def test_lost_index_precedes_sort_buffer() -> None:
    """If a statement sorts because B lacks an index, the index is the cause. The sort buffer is not, although it
    affects more statements.
    """
    rows = (
        ServerDifference("setting", "sort_buffer_size", "s"),
        ServerDifference("index", "o.k", "i", table="o"),
        ServerDifference("index", "p.k", "other", table="p"),
    )
    keyed = json.dumps({"query_block": {"table": {"table_name": "o", "access_type": "ref", "key": "k"}}})
    made = report(servers=Servers(rows), query_plans={"slow": {"a": {"json": keyed}, "b": {"json": SORTS}}})
    made.digests[1] = entry_of(made.digests[1], BEYOND)
    found = with_causes(made)
    assert [each.text for each in found.differences] == ["i", "s", "other"]
    assert [each.text for each in differences_of(replace(made, servers=found), "slow")] == ["i", "s"]


def test_unused_index_explains_nothing() -> None:
    """If plans are known, only an index that a plan uses is a cause. A changed column matters if a statement names it
    or selects all columns.
    """
    keyed = json.dumps({"query_block": {"table": {"table_name": "o", "access_type": "ref", "key": "k"}}})
    rows = tuple(ServerDifference("index", f"o.{key}", key, table="o") for key in ("k", "l"))
    rows += (
        ServerDifference("column", "o.a type", "a", table="o", fact="type"),
        ServerDifference("column", "p.a type", "pa", table="p", fact="type"),
    )
    rows += (ServerDifference("column", "p.b", "pb", table="p"),)
    made = report(servers=Servers(rows), query_plans={"slow": {"a": {"json": keyed}, "b": {}}})
    made.digests[1]["text"] = "select c, count(*) from p order by a"
    found = {each.text: each.changed for each in with_causes(read_again(made)).differences}
    assert found == {"k": ("slow",), "l": (), "a": ("slow",), "pa": ("sorting",), "pb": ()}


def test_plan_overrides_statement_text() -> None:
    """An index can satisfy ORDER BY, so only the plan shows whether the server sorts."""
    plans = {"sorting": {"a": {"json": "{}"}, "b": {}}, "slow": {"a": {}, "b": {"json": SORTS}}}
    made = report(query_plans=plans)
    assert not does(made, "sorting", "sorts")
    assert does(made, "slow", "sorts")
    assert not does(report(), "slow", "sorts")


def test_collation_explains_comparing_statements() -> None:
    """The collation of a column explains a statement only if the statement compares the column. The default collation
    of a table affects only new columns, so it explains nothing.
    """
    rows = (
        ServerDifference("table", "o collation", "table", table="o", folded=True, fact="collation"),
        ServerDifference("table", "o engine", "engine", table="o", fact="engine"),
        ServerDifference("column", "o.status collation", "column", table="o", folded=True, fact="collation"),
        ServerDifference("column", "o.status charset", "charset", table="o", fact="charset"),
    )
    made = report(servers=Servers(rows))
    every = {"engine": ("slow",), "charset": ("slow",), "table": ()}
    for text, found in (
        ("select status from o where id = ?", ()),
        ("select * from o where id = ?", ()),
        ("select id from o where status = ?", ("slow",)),
    ):
        made.digests[0]["text"] = text
        expected = every | {"column": found} | ({"charset": ()} if "status" not in text and "*" not in text else {})
        assert {each.text: each.changed for each in with_causes(read_again(made)).differences} == expected, text
    made.digests[0] = entry_of(made.digests[0], BEYOND)
    assert {each.text for each in with_causes(made).differences if each.inconclusive} == {"engine", "column", "charset"}


def test_sql_mode_explains_new_errors() -> None:
    """A different sql_mode explains an error only if the error depends on the mode. The error must also be new or
    changed in B.
    """
    rows = (ServerDifference("setting", "time_zone", "t"), ServerDifference("setting", "sql_mode", "m"))
    made = report(servers=Servers(rows))
    for errno, what, changed in (
        (1055, "new", True),
        (1292, "changed", True),
        (1146, "new", False),
        (1055, "same", False),
    ):
        made.digests[0]["verdict"] = "errors changed"
        made.answers["errors"] = rows_of("errors", {"digest": "slow", "what": what, "after": errno})
        first = with_causes(made).differences[0]
        assert (first.text, first.changed) == (("m", ("slow",)) if changed else ("t", ())), (errno, what)
        if changed:
            assert reason_text(first) == "m: 1 changed statement fails with an error that the difference can cause"


def test_statistics_do_not_explain_errors() -> None:
    """Statistics, histograms and estimates affect plans, not errors. A changed column explains slowdowns and errors."""
    rows = tuple(
        ServerDifference(kind, name, name, table="o", fact=name.partition(" ")[2])
        for kind, name in (
            ("statistics", "o updated"),
            ("histogram", "o.a"),
            ("table", "o rows"),
            ("index", "o.k cardinality"),
            ("column", "o.a type"),
        )
    )
    made = report(servers=Servers(rows))
    for verdict, found in (("errors changed", ["o.a type"]), ("slower", [row.name for row in rows])):
        made.digests[0]["verdict"] = verdict
        assert sorted(row.name for row in with_causes(made).differences if "slow" in row.changed) == sorted(found)


def test_equal_plans_exclude_statistics_as_cause() -> None:
    """If the plans are equal, optimizer statistics cannot explain a slowdown. A different number of rows in the table
    can explain it.
    """
    rows = (
        ServerDifference("index", "o.PRIMARY cardinality", "c", table="o", fact="cardinality"),
        ServerDifference("table", "o rows", "r", table="o", fact="rows"),
        ServerDifference("statistics", "o updated", "u", table="o", fact="updated"),
    )
    plans = {"a": {"json": "{}"}, "b": {"json": "{}"}, "changes": []}
    for word, texts in (("same", ["r"]), ("estimates apart", ["r"]), ("inconclusive", ["r", "u"])):
        made = report(servers=Servers(rows), query_plans={"slow": {**plans, "class": word}})
        assert [each.text for each in with_causes(made).differences if each.changed] == texts


KEYED = {"table_name": "o", "access_type": "ref", "key": "k"}
SCANNED = {"table_name": "o", "access_type": "ALL", "rows_examined_per_scan": 900}


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        ([SCANNED], [KEYED], ["eq_range_index_dive_limit", "optimizer_switch"]),
        ([SCANNED], [SCANNED, KEYED], ["eq_range_index_dive_limit", "optimizer_prune_level", "optimizer_switch"]),
        ([SCANNED], [SCANNED | {"filtered": 1}], ["optimizer_switch"]),
        ([], [SCANNED], []),
        (None, [KEYED], []),
    ],
)
def test_optimizer_settings_explain_changed_plans(
    a: list[dict[str, Any]] | None, b: list[dict[str, Any]], names: list[str]
) -> None:
    """Optimizer settings explain a changed join order or index choice. They explain nothing if the plan is unknown or
    reads no table.
    """
    settings = ("eq_range_index_dive_limit", "optimizer_prune_level", "optimizer_switch", "optimizer_trace")
    rows = tuple(ServerDifference("setting", name, name) for name in settings)
    sides = [{} if plan is None else {"json": nested(plan)} for plan in (a, b)]
    plan = {"a": sides[0], "b": sides[1], "class": "other access", "changes": ["o: another access"]}
    found = with_causes(report(servers=Servers(rows), query_plans={"slow": plan})).differences
    assert [each.name for each in found if "slow" in each.changed] == names


def test_statistics_settings_explain_different_estimates_of_scanned_table() -> None:
    """The settings of persistent statistics explain different row estimates even if no plan uses an index."""
    rows = (ServerDifference("setting", "innodb_stats_persistent", "s"),)
    plan = {"a": {"json": nested([SCANNED])}, "b": {"json": nested([SCANNED])}, "changes": ["o: more rows"]}
    for word, changed in (("estimates apart", ("slow",)), ("now sorts or a temporary table", ())):
        made = report(servers=Servers(rows), query_plans={"slow": {**plan, "class": word}})
        assert with_causes(made).differences[0].changed == changed


def nested(tables: list[dict[str, Any]]) -> str:
    """Return a plan that reads the tables in the given order."""
    return json.dumps({"query_block": {"nested_loop": [{"table": table} for table in tables]}})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("select * from o where id = ?", False),
        ("update o set c = ? where a = ? and b = ?", False),
        ("insert into o values (?)", False),
        ("select * from o where a = ?", True),
        ("select * from o where id > ?", True),
        ("select * from o where id = ? or c = ?", True),
        ("select * from o join o as p where o.id = ?", True),
        ("select * from o where id = ? and c in (select c from o)", True),
        ("insert into o select * from o where c = ?", True),
    ],
)
def test_statistics_do_not_explain_single_row_lookup(text: str, named: bool) -> None:
    """Without a plan, a statement that names all columns of a unique index counts as a single-row lookup. Case is
    ignored.
    """
    difference = ServerDifference("index", "o.PRIMARY cardinality", "c", table="o", fact="cardinality")
    made = report(servers=Servers((difference,)))
    made.digests[0]["text"] = text
    read_again(made)
    assert with_causes(made).differences[0].changed == (() if "values" in text else ("slow",))
    made.unique_keys = {"o": frozenset({("id",), ("a", "b")})}
    assert with_causes(made).differences[0].changed == (("slow",) if named else ())
    made.query_plans = {"slow": plan_of({"changes": ["o: ref by k -> a full scan"], "class": "now a scan"})}
    assert with_causes(made).differences[0].changed == ("slow",)


def test_durability_setting_with_changed_counters_comes_first() -> None:
    rows = tuple(ServerDifference("setting", name, name) for name in ("innodb_flush_method", "log_bin"))
    counted = {"a": {"binlog_cache_use": 0.0}, "b": {"binlog_cache_use": 1.0}}
    made = report(servers=Servers(rows), write_counters=counted)
    made.digests[0] |= {"class": "write"}
    made.servers = with_causes(made)
    assert [each.name for each in differences_of(made, "slow")] == ["log_bin", "innodb_flush_method"]
    words = "log_bin; for each write B writes 1 transaction to the binary log, A 0"
    assert slower_because([reason_of(made, made.digests[0])]) == words
    made.write_counters["a"] = {"binlog_cache_use": 1.0}
    assert slower_because([reason_of(made, made.digests[0])]) == "innodb_flush_method"


def test_smaller_buffer_pool_explains_only_more_disk_reads() -> None:
    difference = ServerDifference("setting", "innodb_buffer_pool_size", "pool")
    sides = [{"counters": json.dumps({"counters": {"Innodb_pages_read": pages}})} for pages in (0, 225)]
    for pages, words in ((1, "pool; for each execution B reads 225 pages from disk, A 0"), (0, "")):
        plan = {"class": "same", "changes": [], "a": sides[0], "b": sides[pages]}
        made = report(servers=Servers((difference,)), query_plans={"slow": plan})
        made.servers = with_causes(made)
        assert slower_because([reason_of(made, made.digests[0])]) == words
        assert reason_text(made.servers.differences[0]) == (
            "pool: 1 changed statement is a read (B reads more pages from disk than A)" if pages else "pool"
        )
    assert slower_because([reason_of(report(), report().digests[0])]) == ""


def test_changed_plan_of_write_precedes_write_counters() -> None:
    counted = {"a": {"binlog_cache_use": 0.0}, "b": {"binlog_cache_use": 1.0}}
    plan = {"class": "now a scan", "changes": ["o: ref by k -> a full scan"], "a": {}, "b": {}}
    made = report(write_counters=counted, query_plans={"slow": plan})
    made.digests[0] |= {"class": "write"}
    assert reason_of(made, made.digests[0]).works == []
    plan["class"], plan["changes"] = "same", []
    assert slower_because([reason_of(made, made.digests[0])]).startswith("for each write B writes 1")


def test_changed_routine_explains_its_callers() -> None:
    """A changed routine explains errors and changed results of statements that call it directly or through a view."""
    made = report(servers=Servers((ServerDifference("routine", "shop.Tax", "B lacks the function shop.tax"),)))
    made.routines = {"slow": frozenset({"tax"}), "same": frozenset({"other"})}
    made.answers["errors"] = rows_of(
        "errors", *({"digest": digest, "what": "new", "after": 1305} for digest in ("slow", "sorting"))
    )
    made.digests[0]["verdict"] = made.digests[1]["verdict"] = "errors changed"
    made.servers = with_causes(made)
    assert made.servers.differences[0].changed == ("slow",)
    cause = cause_of(1305, "select tax(?)", (), differences_of(made, "slow"))
    assert cause.text == "a function or procedure is missing: B lacks the function shop.tax"
    remedy = "SHOW CREATE PROCEDURE (or FUNCTION) shop.Tax on the side that has the routine, then create or drop the routine on B"
    assert cause.remedy == remedy


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("select a from t where id=? limit ?", True),
        ("select a from t where `t`.`id` = ? and b > ? limit ?", True),
        ("select a from t where k1=? and k2=? limit ?", True),
        ("update t set a=? where id=? limit ?", True),
        ("select a from t where k1=? limit ?", False),
        ("select a from t where id=? or a=? limit ?", False),
        ("select a from t where id>? limit ?", False),
        ("select a from t where id=b limit ?", False),
        ("select a from t where not id=? limit ?", False),
        ("select id=? from t limit ?", False),
        ("select a from t join p on p.x=t.a where t.id=? limit ?", False),
        ("select a from other where id=? limit ?", False),
    ],
)
def test_limit_does_not_excuse_single_row_lookup(text: str, is_one: bool) -> None:
    """A lookup by a complete unique index finds one row, so LIMIT cannot excuse different data."""
    made = report()
    made.digests[0]["text"], made.tables = text, {"slow": frozenset({"other" if "other" in text else "t"})}
    read_again(made)
    made.answers["results"] = rows_of(
        "results", {"digest": "slow", "kind": "data", "known": "limit_unsorted", "reason": "limit_unsorted"}
    )
    withdraw_excuses(made, {"t": {("id",), ("k1", "k2")}})
    assert [row["known"] for row in made.answers["results"]] == [None if is_one else "limit_unsorted"]


@pytest.mark.parametrize(
    ("kind", "name", "counts"), [("view", "v", True), ("routine", "shop.f", True), ("index", "v.k", False)]
)
def test_limit_does_not_excuse_different_definitions(kind: str, name: str, counts: bool) -> None:
    """A difference in the data counts if the statement uses a view or routine that differs between the servers."""
    difference = ServerDifference(kind, name, "differs", table=name.partition(".")[0] if kind != "routine" else "")
    made = report(servers=Servers((difference,)))
    made.tables, made.routines = {"slow": frozenset({"v"})}, {"slow": frozenset({"f"})}
    limited = {"digest": "slow", "known": "limit_unsorted", "reason": "limit_unsorted"}
    made.answers["results"] = rows_of("results", {**limited, "kind": "data"}, {**limited, "kind": "order"})
    withdraw_excuses(made, {})
    assert [row["known"] for row in made.answers["results"]] == [None if counts else "limit_unsorted", "limit_unsorted"]


def test_changed_trigger_explains_reads_of_written_tables() -> None:
    """If a changed routine writes tables, it explains reads of these tables, as a changed trigger does."""
    written = frozenset({"p"})
    rows = (
        ServerDifference("trigger", "t.log", "B lacks trigger log on t", table="t", writes=written),
        ServerDifference("routine", "shop.note", "B lacks the procedure shop.note", writes=written),
    )
    found = with_causes(report(servers=Servers(rows))).differences
    assert [each.changed for each in found] == [("sorting",)] * 2
    assert remedy_of(found[0]).startswith("SHOW CREATE TRIGGER log on the side")


@pytest.mark.parametrize(
    "text",
    [
        "select status from orders where id = ?",
        "select id, status, total from orders where user_id = ?",
        "select o.status as s, o.id from orders o where o.id in (?+) order by o.id",
        "select shop.o.status state, id from o",
        "select sql_calc_found_rows status, id from orders limit ?",
        "select `status` from orders",
        "select status from orders order by id desc limit ?, ?",
        "select ?, status",
        "select id from (select id, status from orders where id > ?) as d where id < ?",
        "select status from orders union all select status from old_orders",
        "update orders set status = ?, total = total + ? where id = ?",
        "update orders set total = ?, o.status = ? where id = ?",
        "select id as status from orders where id = ?",
        "select status(id) from orders",
        "select status.id from status",
        "select order_status from orders where order_status = ?",
    ],
)
def test_selected_or_assigned_column_is_not_compared(text: str) -> None:
    """A column that is only selected or assigned by SET is not compared. A name that belongs to another object is no
    compared column either.
    """
    assert not compares(text, "status")


@pytest.mark.parametrize(
    "text",
    [
        "select id from orders where status = ?",
        "select id from orders where `Status` = ?",
        "select status, count(*) from orders group by status",
        "select id, status from orders order by status limit ?",
        "select distinct status from orders",
        "select count(distinct status) from orders",
        "select max(status) from orders",
        "select status = ? from orders",
        "select status from orders union select status from old_orders",
        "select a.id from a join b on a.status = b.status",
        "select id from a join b using (status)",
        "select id, status from orders order by ? desc",
        "select status, count(*) from orders group by id, ? order by id",
        "select id, status from orders having status > ?",
        "select case when status = ? then ? end from orders",
        "select id from orders where id in (select id from old where status like ?)",
        "update orders set total = ? where status = ?",
        "update orders set total = status",
        "insert into orders(id, status) values (?+)",
        "delete from orders where orders.status = ?",
    ],
)
def test_columns_in_conditions_and_expressions_are_compared(text: str) -> None:
    """Conditions, joins, GROUP BY, ORDER BY, DISTINCT, UNION, functions and expressions compare values. An INSERT
    compares its values with unique keys.
    """
    assert compares(text, "status")


@pytest.mark.parametrize("text", ["", "select", ")", "((", "select status", "status", "select status as"])
def test_truncated_or_invalid_statements_raise_no_error(text: str) -> None:
    compares(text, "status")
