# SPDX-License-Identifier: Apache-2.0
"""Turn tapes and runs into reports. Never connects to a server.

An analysis is one `.sql` file and one word in database.py; what it means is said in findings/, how it looks in render/.
"""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_attributes

if TYPE_CHECKING:
    from .findings.causes import may_be_slower
    from .gates import FAILED_GATE, check_gate, failed, gate_help, gate_values
    from .lint.check import LintResult, lint_tape
    from .model import Report, Settings
    from .pipeline import build, join_plans
    from .plans_report import PlansReport, build_plans
    from .render.chart_specs import write_charts
    from .render.html_page import as_html
    from .render.json_report import as_json
    from .render.junit import as_junit
    from .render.lint_report import lint_json, show_lint
    from .render.markdown import as_markdown
    from .render.plans_page import plans_page
    from .render.plans_text import plans_json, plans_markdown, show_plans
    from .render.sweep_page import sweep_page
    from .render.tables import write_tables
    from .render.tape_json import tape_difference_json, tape_summary_json
    from .render.tape_page import tape_page
    from .render.tape_terminal import show_tape_difference, show_tape_summary
    from .render.terminal import show_report
    from .sweep import SweepLevel, measure_level
    from .tape_facts import tape_facts
    from .tape_summary import TapeDifference, TapeSummary, compare_tapes, summarise_tape
    from .verdicts.verdict import Margin
else:
    __getattr__ = lazy_attributes(
        __name__,
        {
            "FAILED_GATE": ".gates:FAILED_GATE",
            "LintResult": ".lint.check:LintResult",
            "Margin": ".verdicts.verdict:Margin",
            "Report": ".model:Report",
            "Settings": ".model:Settings",
            "SweepLevel": ".sweep:SweepLevel",
            "TapeDifference": ".tape_summary:TapeDifference",
            "TapeSummary": ".tape_summary:TapeSummary",
            "PlansReport": ".plans_report:PlansReport",
            "build_plans": ".plans_report:build_plans",
            "plans_json": ".render.plans_text:plans_json",
            "plans_markdown": ".render.plans_text:plans_markdown",
            "plans_page": ".render.plans_page:plans_page",
            "show_plans": ".render.plans_text:show_plans",
            "join_plans": ".pipeline:join_plans",
            "as_html": ".render.html_page:as_html",
            "as_json": ".render.json_report:as_json",
            "as_junit": ".render.junit:as_junit",
            "as_markdown": ".render.markdown:as_markdown",
            "build": ".pipeline:build",
            "check_gate": ".gates:check_gate",
            "compare_tapes": ".tape_summary:compare_tapes",
            "failed": ".gates:failed",
            "gate_help": ".gates:gate_help",
            "gate_values": ".gates:gate_values",
            "lint_json": ".render.lint_report:lint_json",
            "lint_tape": ".lint.check:lint_tape",
            "may_be_slower": ".findings.causes:may_be_slower",
            "measure_level": ".sweep:measure_level",
            "show_lint": ".render.lint_report:show_lint",
            "show_report": ".render.terminal:show_report",
            "show_tape_difference": ".render.tape_terminal:show_tape_difference",
            "show_tape_summary": ".render.tape_terminal:show_tape_summary",
            "tape_facts": ".tape_facts:tape_facts",
            "summarise_tape": ".tape_summary:summarise_tape",
            "sweep_page": ".render.sweep_page:sweep_page",
            "tape_difference_json": ".render.tape_json:tape_difference_json",
            "tape_page": ".render.tape_page:tape_page",
            "tape_summary_json": ".render.tape_json:tape_summary_json",
            "write_charts": ".render.chart_specs:write_charts",
            "write_tables": ".render.tables:write_tables",
        },
    )

__all__ = [
    "FAILED_GATE",
    "LintResult",
    "Margin",
    "PlansReport",
    "Report",
    "Settings",
    "SweepLevel",
    "TapeDifference",
    "TapeSummary",
    "as_html",
    "as_json",
    "as_junit",
    "as_markdown",
    "build",
    "build_plans",
    "check_gate",
    "compare_tapes",
    "failed",
    "gate_help",
    "gate_values",
    "join_plans",
    "lint_json",
    "lint_tape",
    "may_be_slower",
    "measure_level",
    "plans_json",
    "plans_markdown",
    "plans_page",
    "show_lint",
    "show_plans",
    "show_report",
    "show_tape_difference",
    "show_tape_summary",
    "summarise_tape",
    "sweep_page",
    "tape_difference_json",
    "tape_facts",
    "tape_page",
    "tape_summary_json",
    "write_charts",
    "write_tables",
]
