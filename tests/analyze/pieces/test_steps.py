# SPDX-License-Identifier: Apache-2.0
"""Splitting an analysis into steps with keys, aggregates and conditions. Each analysis of a report can be split."""

import pytest
from querytape.analyze.database import analysis_texts
from querytape.analyze.pieces.steps import IN_PIECES, Aggregate, parse, statements

TEXT = """-- What isn't read; not even this
CREATE OR REPLACE TEMP VIEW late AS SELECT * FROM outcome WHERE errno <> 0;
CREATE OR REPLACE TEMP TABLE x AS
SELECT run, least(1, round) AS turn, -- which
    count(*) FILTER (text = 'a; b, (c') AS n,
    sum(a)::BIGINT AS s,
    quantile_disc(b, [0.5, 0.9]) AS p
FROM (
    SELECT *
    FROM late
    WHERE true
) AS late
WHERE a IN (1, 2)
    AND b > 0
GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE rows AS
SELECT digest FROM late WHERE n < 30;
SELECT n FROM x ORDER BY n
"""


def test_steps_of_an_analysis_are_parsed() -> None:
    """Keys and aggregates have names. FROM and WHERE inside parentheses belong to a subquery, not to the step."""
    analysis = parse("x", TEXT)
    view, table, rows = analysis.steps
    assert (view.is_table, view.reads(IN_PIECES), rows.grouped) == (False, {"outcome"}, False)
    assert table.keys == (("run", "run"), ("least(1, round)", "turn"))
    assert table.aggregates == (
        Aggregate("n", "count", "*", "text = 'a; b, (c'", ""),
        Aggregate("s", "sum", "a", "", "::BIGINT"),
        Aggregate("p", "quantile_disc", "b, [0.5, 0.9]", "", ""),
    )
    assert table.aggregates[0].sql == "count(*) FILTER (text = 'a; b, (c') AS n"
    assert table.rows.endswith(") AS late")
    assert table.where == "a IN (1, 2)\n    AND b > 0"
    assert rows.reads(["late", "x"]) == {"late"}
    assert analysis.select == "SELECT n FROM x ORDER BY n"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("CREATE TABLE x AS SELECT 1", "expected CREATE OR REPLACE"),
        (
            "CREATE OR REPLACE TEMP TABLE x AS\nSELECT run, count(*) AS n, avg(a) AS m\nFROM outcome\nGROUP BY ALL",
            "one of",
        ),
        (
            "CREATE OR REPLACE TEMP TABLE x AS\nSELECT sum(a) / 2 AS m\nFROM outcome\nGROUP BY ALL",
            "after the aggregate",
        ),
    ],
)
def test_analysis_that_cannot_be_split_into_partitions_is_refused(step: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse("x", f"{step};\nSELECT 1")


@pytest.mark.parametrize(("name", "text"), analysis_texts(), ids=[name for name, _ in analysis_texts()])
def test_every_analysis_has_steps(name: str, text: str) -> None:
    """Only the steps of an analysis read events. Each step creates a table with the name of the analysis."""
    analysis = parse(name, text)
    views = [step for step in analysis.steps if not step.is_table]
    assert not any(
        f" {each} " in f"{analysis.select} " for each in ("joined", "outcome", "matched_events", "paired_times")
    )
    for step in analysis.steps:
        assert step in views or step.name.startswith(name.removeprefix("report/"))


def test_semicolon_in_quotes_or_comment_ends_no_statement() -> None:
    assert statements("SELECT ';' -- a; b\n; SELECT 2;") == ["SELECT ';'", "SELECT 2"]
