# SPDX-License-Identifier: Apache-2.0
"""Lint rules on tapes: each rule finds its own example, and quoted names, strings and failed statements do not match."""

from pathlib import Path

import pytest
from querytape.analyze import lint_tape
from querytape.analyze.lint.check import LintResult
from querytape.analyze.lint.rules import all_rules, parse_version
from querytape.native.bindings.statements import Normalizer

from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow

RULES = list(all_rules())


def tape_of(folder: Path, statements: list[dict[str, object]]) -> Path:
    """Write a tape of statements. The digest of each event is computed from its statement text."""
    normalizer = Normalizer()
    rows = [{"digest": f"{normalizer.normalize(str(row['statement']).encode()).digest}", **row} for row in statements]
    return make_tape(folder / "l.tape", rows)


def found(result: LintResult) -> dict[str, int]:
    """Return the number of matching events for each rule with findings."""
    return {finding.rule.name: finding.events for finding in result.findings}


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["mysql-5.7 mysql-9.x", "mysql-8.0 mariadb-10.11", "mariadb-11.8 mysql-9.x"])
def test_each_example_is_found_by_its_own_rule(tmp_path: Path, way: str) -> None:
    source, target = map(parse_version, way.split())
    mine = [rule for rule in RULES if rule.to == target.family and rule.source in ("any", source.family)]
    rows: list[dict[str, object]] = [
        {
            "statement": rule.example,
            "command": "prepare" if rule.where == "prepared" else "query",
            "digest": f"{number:016x}",
        }
        for number, rule in enumerate(mine)
    ]
    result = lint_tape(make_tape(tmp_path / "l.tape", rows), target, source)
    places = {finding.rule.name: {row["digest"] for row in finding.digests} for finding in result.findings}
    missed = [
        rule.name
        for number, rule in enumerate(mine)
        if rule.name in {r.name for r in mine if source.family != target.family or source.numbers < r.since}
        and f"{number:016x}" not in places.get(rule.name, set())
    ]
    assert missed == []


def test_quoted_reserved_words_are_no_finding(tmp_path: Path) -> None:
    fine = (
        "SELECT `rank` FROM t",
        "SELECT 'rank', \"rank\", t.rank, @rank FROM t",
        "SELECT a /* rank */ FROM t -- rank\n",
        "SELECT a FROM t # rank",
        "SELECT 'it''s rank', 'a\\'rank' FROM t",
        "SELECT a_rank, rank_b, ranks FROM t",
    )
    tape = tape_of(tmp_path, [{"statement": text, "digest": f"{n:016x}"} for n, text in enumerate(fine)])
    assert found(lint_tape(tape, parse_version("mysql-8.0"), parse_version("mysql-5.7"))) == {}


def test_syntax_shared_by_both_families_is_no_finding(tmp_path: Path) -> None:
    fine = (
        "SELECT a FROM t LIMIT 5 OFFSET 10",
        "SELECT RANK() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
        "WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x",
        "SELECT DATABASE(), SCHEMA()",
        "SELECT a FROM t EXCEPT SELECT b FROM t",
    )
    rows: list[dict[str, object]] = [{"statement": text, "digest": f"{n:016x}"} for n, text in enumerate(fine)]
    for source, target in (("mariadb-11.8", "mysql-8.4"), ("mysql-5.7", "mariadb-11.8")):
        result = lint_tape(make_tape(tmp_path / f"{target}.tape", rows), parse_version(target), parse_version(source))
        assert found(result) == {}


def test_only_statements_that_succeeded_count(tmp_path: Path) -> None:
    text = "SELECT PASSWORD('x')"
    rows: list[dict[str, object]] = [
        {"statement": text, "errno": 1305, "duration_ns": 9},
        {"statement": text, "errno": 0, "duration_ns": 5},
        {"statement": text, "errno": None, "duration_ns": 6},
        {"statement": "SELECT ENCRYPT('a')", "errno": 1305},
    ]
    result = lint_tape(tape_of(tmp_path, rows), parse_version("mysql-8.0"), parse_version("mysql-5.7"))
    assert found(result) == {"function-password": 2}
    assert result.findings[0].duration_ns == 11
    assert result.count("fails") == 1


def test_zero_date_is_found_outside_the_sample_of_its_digest(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"statement": "INSERT INTO t (d) VALUES ('2020-01-01')"},
        {"statement": "INSERT INTO t (d) VALUES ('0000-00-00')"},
        {"statement": "INSERT INTO t (d) VALUES (_binary'\udcff', '0000-00-00')".encode("utf-8", "surrogateescape")},
    ]
    rows = [{**row, "digest": "00000000000000aa"} for row in rows]
    result = lint_tape(make_tape(tmp_path / "l.tape", rows), parse_version("mysql-8.0"), parse_version("mariadb-10.6"))
    assert found(result) == {"zero-date": 2}


def test_version_of_the_tape_is_the_source(tmp_path: Path) -> None:
    tape = tape_of(tmp_path, [{"statement": "SELECT rank FROM t"}])
    assert "reserved-word-rank" in found(lint_tape(tape, parse_version("mysql-8.0")))
    assert "reserved-word-rank" not in found(lint_tape(tape, parse_version("mysql-8.0"), parse_version("mysql-8.0")))


@pytest.mark.long
def test_new_reserved_words_of_mariadb_12_are_found_only_as_names(tmp_path: Path) -> None:
    for number, (text, expected) in enumerate(
        [
            ("SELECT to_date FROM t", {"reserved-word-to-date"}),
            ("SELECT TO_DATE('2026', 'YYYY')", set()),
            ("SELECT conversion FROM t", {"reserved-word-conversion"}),
            ("SELECT CAST(a AS INT DEFAULT 1 ON CONVERSION ERROR) FROM t", set()),
            ("SELECT st_collect FROM t", {"reserved-word-st-collect"}),
            ("SELECT ST_COLLECT(g) FROM t", set()),
        ]
    ):
        tape = tape_of(tmp_path / str(number), [{"statement": text}])
        for target in ("mariadb-11.8", "mariadb-12.3"):
            words = {name for name in found(lint_tape(tape, parse_version(target))) if name.startswith("reserved-word")}
            assert words == (expected if target == "mariadb-12.3" else set()), (text, target)
