# SPDX-License-Identifier: Apache-2.0
"""A plans folder as terminal output, Markdown and JSON, with hostile texts. tests/experiments/test_plans.py tests the
results of servers.
"""

import json
from pathlib import Path

from querytape.analyze.model import Servers
from querytape.analyze.plans_report import PlansReport
from querytape.analyze.render.pages import plans_page
from querytape.analyze.render.plans_text import headline_of, plans_json, plans_markdown, show_plans
from querytape.schemas import Folder

from tests.helpers.reports import printed
from tests.helpers.shapes import plan_of

HOSTILE = "select '<script>\x1b[2J' [red] | `x`"


def report(word: str = "now a scan") -> PlansReport:
    entry = plan_of(
        {"digest": "d", "text": HOSTILE, "class": word, "share": 0.5, "changes": [HOSTILE]},
        {"a": {"json": "{}"}, "b": {"json": "secret"}},
    )
    folder = Folder("plans", Path("p"), {"a": {"name": HOSTILE}, "b": {}})
    return PlansReport(folder, Folder("tape", Path("t"), {}), Servers(), [entry], [HOSTILE])


def test_hostile_texts_are_escaped() -> None:
    """The terminal shows no control characters, and Markdown no markup. The JSON contains complete plans only on
    request.
    """
    text = printed(show_plans, report())
    assert "\x1b[2J" not in text
    assert "[red]" in text
    assert "<script>" not in plans_markdown(report()).replace("`select '<script>", "")
    assert "secret" not in plans_json(report())
    assert "secret" in plans_json(report(), samples=True)


def test_measured_costs_times_and_rows_are_shown() -> None:
    """Costs come from the optimizers of both servers. Times and rows come from ANALYZE. A side without ANALYZE shows no
    times and rows.
    """
    made = report()
    plans = made.digests[0]
    for side, cost, took, rows in ((plans["a"], 1.5, 0.25, 10), (plans["b"], 300, 120, 30_000)):
        table = {"table_name": "t", "access_type": "ALL"}
        side["json"] = json.dumps({"query_block": {"cost": cost, "table": table}})
        run = {"query_block": {"r_total_time_ms": took, "table": {**table, "r_rows": rows}}}
        side["analyze"] = json.dumps(run)
    said = "50.0% of the time, cost 1.5 -> 300, took 250µs -> 120ms, 10 -> 30,000 rows read"
    assert said in printed(show_plans, made, width=200)
    assert "took 250µs -&gt; 120ms" in plans_page(made)
    assert json.loads(plans_json(made))["digests"][0]["measured_ms"] == {"a": 0.25, "b": 120.0}
    del made.digests[0]["b"]["analyze"]
    assert "took" not in plans_page(made)


def test_statements_without_a_plan_are_not_reported_as_equal() -> None:
    assert headline_of(report("inconclusive")).startswith("Inconclusive")
    assert headline_of(report("same")) == "The plan of 1 digest is the same."


def test_page_escapes_texts_and_loads_nothing() -> None:
    """The page contains no script, and its policy forbids scripts."""
    page = plans_page(report(), samples=True)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "secret" in page
    assert "secret" not in plans_page(report())
