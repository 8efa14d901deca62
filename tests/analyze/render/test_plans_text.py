# SPDX-License-Identifier: Apache-2.0
"""A plans folder on terminal, as Markdown and JSON: hostile texts. What they say of servers: tests/experiments/test_plans.py."""

import io
from pathlib import Path

from querytape.analyze.model import Servers
from querytape.analyze.plans_report import PlansReport
from querytape.analyze.render.plans_text import headline_of, plans_json, plans_markdown, show_plans
from querytape.schemas import Folder
from rich.console import Console

HOSTILE = "select '<script>\x1b[2J' [red] | `x`"


def report(word: str = "now a scan") -> PlansReport:
    """Return a report of one digest."""
    entry = {
        "digest": "d",
        "text": HOSTILE,
        "class": word,
        "share": 0.5,
        "changes": [HOSTILE],
        "a": {"json": "{}"},
        "b": {"json": "secret"},
        "server_digest": {},
    }
    folder = Folder("plans", Path("p"), {"a": {"name": HOSTILE}, "b": {}})
    return PlansReport(folder, Folder("tape", Path("t"), {}), Servers(), [entry], [HOSTILE])


def test_hostile_texts_are_texts() -> None:
    """No control character reaches the terminal, no markup Markdown; whole plans are in the JSON only when asked."""
    file = io.StringIO()
    show_plans(report(), Console(file=file, width=80))
    assert "\x1b[2J" not in file.getvalue()
    assert "[red]" in file.getvalue()
    assert "<script>" not in plans_markdown(report()).replace("`select '<script>", "")
    assert "secret" not in plans_json(report())
    assert "secret" in plans_json(report(), samples=True)


def test_nothing_known_is_not_the_same() -> None:
    """Statements that could not be explained are not called the same."""
    assert headline_of(report("cannot tell")).startswith("Cannot tell")
    assert headline_of(report("same")) == "The plans of 1 digests are the same."
