# SPDX-License-Identifier: Apache-2.0
"""Write a sweep as one HTML file that opens from disk: throughput and latency against concurrency."""

import json

from markupsafe import Markup

from ...common.version import __version__
from ..sweep import SweepLevel
from .chart_library import chart_library
from .chart_specs import sweep_charts
from .templating import asset, page_template, script_json


def sweep_page(title: str, levels: list[SweepLevel]) -> str:
    """Return the whole page."""
    charts = sweep_charts(levels)
    return page_template("sweep.html.j2").render(
        title=title,
        levels=levels,
        charts=charts,
        version=__version__,
        style=asset("report.css"),
        draw=asset("charts.js"),
        library=Markup(chart_library()),
        data=script_json(json.dumps({"charts": [chart._asdict() for chart in charts]})),
    )
