# SPDX-License-Identifier: Apache-2.0
"""Write the report of a plans folder as one HTML file: no script, no network; every text is escaped."""

from ...common.text import printable_lines
from ...common.version import __version__
from ..findings.plans import accesses
from ..model import PlanSide
from ..plans_report import PlansReport
from .plans_text import headline_of, numbers_of
from .templating import asset, page_template

MAX_SHOWN = 2_000
MAX_PLAN = 20_000


def plans_page(report: PlansReport, samples: bool = False) -> str:
    """Return the whole page; `samples`: with whole plans, which hold literal values."""
    rows = [
        {
            **entry,
            "numbers": numbers_of(entry),
            "sides": [
                {
                    "letter": letter,
                    "tables": [f"{access.table}: {access}" for access in accesses(side.get("json", ""))],
                    "tree": _whole(side) if samples else None,
                }
                for letter, side in (("A", entry["a"]), ("B", entry["b"]))
            ],
        }
        for entry in report.changed[:MAX_SHOWN]
    ]
    return page_template("plans.html.j2").render(
        report=report,
        rows=rows,
        hidden=max(len(report.changed) - MAX_SHOWN, 0),
        headline=headline_of(report),
        version=__version__,
        style=asset("report.css"),
    )


def _whole(plan: PlanSide) -> str:
    return printable_lines((plan.get("analyze") or plan.get("tree") or plan.get("json") or "")[:MAX_PLAN])
