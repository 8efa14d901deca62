# SPDX-License-Identifier: Apache-2.0
"""Explanations of differences, printed on an 80-column terminal."""

from dataclasses import replace

from querytape.analyze import Report
from querytape.analyze.cause_table import TOPICS, rank_variables
from querytape.analyze.model import Variable
from querytape.analyze.render.explanations_text import counter_lines, plan_lines, variable_lines

from tests.helpers.reports import terminal_text
from tests.helpers.shapes import answers_of, entry_of, plan_of

SWITCHES = [f"switch_{number}=on" for number in range(30)]


def variables(report: Report, **values: tuple[str | None, str | None]) -> str:
    rows: list[Variable] = [{"name": name, "a": a, "b": b} for name, (a, b) in values.items()]
    lines = list(variable_lines(replace(report, variables=rank_variables(rows, list(TOPICS)))))
    assert max(map(len, lines)) <= 80
    return "\n".join(lines)


def test_long_variable_lists_are_shortened_and_wrapped(report: Report) -> None:
    """Important variables come first. Only the changed parts of a long value are shown. Further variables are counted."""
    others = {f"a_{number}": ("1", "2") for number in range(180)}
    other_switches = ",".join([*SWITCHES[:-1], "switch_29=off"])
    text = variables(
        report,
        **others,
        optimizer_switch=(",".join(SWITCHES), other_switches),
        init_file=("x" * 300, ""),
        ssl_cipher=("y" * 300, ""),
        query_cache_type=("ON", None),
    )
    lines = text.split("\n")
    assert lines[1] == "    optimizer_switch: switch_29=on in A, switch_29=off (and 29 values that A"
    assert lines[2].strip() == "also has) in B"
    assert lines[3] == "    query_cache_type: ON in A, no such variable in B"
    assert lines[4].startswith("    ssl_cipher: ")
    assert lines[-1] == "    and 181 more (use --html or --json)"


def test_changed_plan_is_shown_under_its_statement_without_the_digest(report: Report) -> None:
    digest = report.digests[0]["digest"]
    plans = {digest: plan_of({"changes": ["orders: now a scan " + "of everything " * 12]})}
    lines = list(plan_lines(replace(report, query_plans=plans)))
    assert lines[1] == f"    {report.digests[0]['text']}"
    assert digest[:8] not in "".join(lines)
    assert max(map(len, lines)) <= 80


def test_counters_of_both_sides_fit_80_columns(report: Report) -> None:
    """Counters that differ little are omitted. The last line shows the number of counters that are omitted because of
    the limit.
    """
    rows = [{"name": f"Innodb_buffer_pool_read_ahead_{n}", "a": 1e6, "b": 2e9, "weight": 7.0} for n in range(9)]
    sort = {"name": "Sort_scan", "a": 1, "b": 1, "weight": 0.0}
    answers = answers_of(report.answers, counters=[*rows, sort])
    lines = list(counter_lines(replace(report, answers=answers)))
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "    and 3 more (use --html or --json)"
    assert "Sort_scan" not in "".join(lines)


def test_long_reason_is_shown_completely_on_a_terminal(report: Report) -> None:
    why = "other programs used 3.6 of 4 cores during B (A: 0.1); about 12 rounds in total are needed"
    digests = [entry_of(report.digests[0], {"verdict": "inconclusive", "why": why})]
    text = terminal_text(replace(report, digests=digests))
    assert " ".join(text.split()).count(why) >= 1
