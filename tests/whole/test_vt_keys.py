# SPDX-License-Identifier: Apache-2.0
"""The results of `inspect` for a log equal the results of vitessio/vt for the same log, except for these known
differences:

- vt splits BETWEEN into two comparisons. inspect reports one range.
- vt omits IS NULL from its filters. inspect includes it, because an index can serve it.
- vt omits GROUP BY expressions. inspect reports their column with plain = false, because no index helps.
- vt keeps the case of table names. inspect uses lower case, as the tape does.
- vt fails on the log's own header and on SET timestamp. capture parses both.
- vt lists statements without tables (FLUSH, COMMIT). inspect counts them as `other`.
- vt separates SELECT and COMMIT of one log event. inspect treats them as one multi-statement.
- vt numbers the values of a transaction to show equal literals. inspect reports columns, and hot rows for values.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import summarise_tape
from querytape.analyze.tape_rows import Workload, WorkloadUsageRow
from querytape.native.bindings.statements import Normalizer

from tests.helpers.command_line import run_here

OPS = {"=": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "in": "in", "like": "like", "ne": "<>"}


def inspected(log: Path, folder: Path) -> Workload:
    """Capture a log, and return the workload that inspect finds."""
    tape = folder / "vt.tape"
    done = run_here("capture", "slowlog", str(log), "-o", str(tape))
    assert done.code == 0, done
    return summarise_tape(tape).workload


def usage_in_vt_format(usage: WorkloadUsageRow) -> dict[str, list[str]]:
    """Return the tables, joins, groups and filters of a digest in vt's format, according to the list above."""
    filters = []
    for column in usage["columns"]:
        name = f"{column['table']}.{column['column']}"
        if column["role"] not in ("filter", "range") or column["op"] == "is null" or not column["plain"]:
            continue
        filters += [f"{name} {op}" for op in ((">=", "<=") if column["op"] == "between" else (column["op"],))]
    groups = [f"{c['table']}.{c['column']}" for c in usage["columns"] if c["role"] == "group" and c["plain"]]
    tables = [table["name"] for table in usage["tables"]]
    return {name: sorted(found) for name, found in zip(KEYS, (tables, usage["joins"], groups, filters), strict=True)}


KEYS = ("tableNames", "joinPredicates", "groupingColumns", "filterColumns")


def usage_of_vt(query: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables, joins, groups and filters of a query in the result of vt."""
    found = {name: sorted(query.get(name, [])) for name in KEYS}
    filters = (text.rsplit(" ", 1) for text in found["filterColumns"])
    return {**found, "filterColumns": sorted(f"{name} {OPS[op]}" for name, op in filters)}


def digest_at(lines: list[str], number: int) -> str:
    """Return the digest of the statement that begins at a line number. The first line has the number 1."""
    text = ""
    for line in lines[number - 1 :]:
        text += line + "\n"
        if line.rstrip().endswith(";"):
            break
    return Normalizer().normalize(text.strip().rstrip(";").encode()).digest


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("log", "keys"),
    [("bigger_slow_query_log.log", "bigger_slow_query_log.json"), ("slow_query_log", "slow-query-log.json")],
)
def test_inspected_keys_equal_those_of_vt(log: str, keys: str, samples: Path, tmp_path: Path) -> None:
    """The test compares the tables, joins, groups and filters of every statement that vt parsed."""
    file = samples / "vt" / log
    workload = inspected(file, tmp_path)
    usage = {row["digest"]: row for row in workload["usage"]}
    lines = file.read_text().splitlines()
    queries = json.loads((samples / "vt" / keys).read_text())["queries"]
    with_tables = [query for query in queries if query.get("tableNames")]
    assert with_tables
    for query in with_tables:
        for number in query["lineNumbers"]:
            assert usage_in_vt_format(usage[digest_at(lines, number)]) == usage_of_vt(query), query["queryStructure"]
    assert workload["not_parsed"] == []
    known = {digest_at(lines, n) for query in with_tables for n in query["lineNumbers"]}
    assert len(usage) == len(known) + file.read_text().count(";\ncommit;")


def test_transaction_signatures_equal_those_of_vt(samples: Path, tmp_path: Path) -> None:
    """The test compares counts, the order of statements, written tables, columns and predicates."""
    workload = inspected(samples / "vt" / "small-slow-query-log", tmp_path)
    usage = {row["digest"]: row for row in workload["usage"]}
    wanted = json.loads((samples / "vt" / "small-slow-query-transactions.json").read_text())["signatures"]
    assert [row["transactions"] for row in workload["signatures"]] == [row["count"] for row in wanted]
    for found, signature in zip(workload["signatures"], wanted, strict=True):
        assert found["locks"] == [query["affected_table"].lower() for query in signature["queries"]]
        for step, query in zip(found["statements"], signature["queries"], strict=True):
            row = usage[step["digest"]]
            assert step["statement"].split()[0] == query["op"]
            assert row["tables"] == [{"name": query["affected_table"].lower(), "alias": None, "access": "write"}]
            columns = {
                role: sorted(c["column"] for c in row["columns"] if c["role"] == role) for role in ("set", "filter")
            }
            assert columns["set"] == sorted(query["updated_columns"])
            assert columns["filter"] == sorted(predicate["col"] for predicate in query["predicates"])
