# SPDX-License-Identifier: Apache-2.0
"""Turn tapes and runs into reports. This package never connects to a server.

Each analysis is one `.sql` file that database.py registers by name. findings/ interprets the rows of the analyses.
render/ formats the report.
"""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_names

if TYPE_CHECKING:
    from .build_report import build as build
    from .build_report import join_plans as join_plans
    from .findings.causes import may_be_slower as may_be_slower
    from .gates import check_gate as check_gate
    from .gates import failed as failed
    from .gates import gate_help as gate_help
    from .gates import gate_values as gate_values
    from .lint.check import LintResult as LintResult
    from .lint.check import lint_tape as lint_tape
    from .model import Report as Report
    from .model import Settings as Settings
    from .plans_report import PlansReport as PlansReport
    from .plans_report import build_plans as build_plans
    from .render.chart_specs import write_charts as write_charts
    from .render.json_report import as_json as as_json
    from .render.json_report import tape_difference_json as tape_difference_json
    from .render.json_report import tape_summary_json as tape_summary_json
    from .render.junit import as_junit as as_junit
    from .render.lint_report import lint_json as lint_json
    from .render.lint_report import show_lint as show_lint
    from .render.markdown import as_markdown as as_markdown
    from .render.pages import as_html as as_html
    from .render.pages import plans_page as plans_page
    from .render.pages import sweep_page as sweep_page
    from .render.pages import tape_page as tape_page
    from .render.plans_text import plans_json as plans_json
    from .render.plans_text import plans_markdown as plans_markdown
    from .render.plans_text import show_plans as show_plans
    from .render.tables import write_tables as write_tables
    from .render.tape_terminal import show_tape_difference as show_tape_difference
    from .render.tape_terminal import show_tape_summary as show_tape_summary
    from .render.terminal import show_report as show_report
    from .sweep import SweepLevel as SweepLevel
    from .sweep import measure_level as measure_level
    from .tape_facts import tape_facts as tape_facts
    from .tape_summary import TapeDifference as TapeDifference
    from .tape_summary import TapeSummary as TapeSummary
    from .tape_summary import compare_tapes as compare_tapes
    from .tape_summary import summarise_tape as summarise_tape
    from .verdicts.verdict import Margin as Margin
else:
    __getattr__, __all__ = lazy_names(__name__)
