# SPDX-License-Identifier: Apache-2.0
"""Tapes and runs to answers. Never connects to a server.

One question is one `.sql` file here and one word in questions.py.
"""

from .as_json import as_json
from .html import render
from .inspect import Portrait, portrait, portrait_json, show_portrait
from .report import Report, Settings, build
from .terminal import show

__all__ = [
    "Portrait",
    "Report",
    "Settings",
    "as_json",
    "build",
    "portrait",
    "portrait_json",
    "render",
    "show",
    "show_portrait",
]
