# SPDX-License-Identifier: Apache-2.0
"""Tapes and runs to answers. Never connects to a server.

One question is one `.sql` file here and one word in questions.py.
"""

from .as_json import as_json
from .html import render
from .inspect import Portrait, difference, difference_json, portrait, portrait_json, show_difference, show_portrait
from .markdown import as_markdown
from .report import Report, Settings, build
from .specs import write_charts
from .tables import write_tables
from .terminal import show
from .verdict import Margin

__all__ = [
    "Margin",
    "Portrait",
    "Report",
    "Settings",
    "as_json",
    "as_markdown",
    "build",
    "difference",
    "difference_json",
    "portrait",
    "portrait_json",
    "render",
    "show",
    "show_difference",
    "show_portrait",
    "write_charts",
    "write_tables",
]
