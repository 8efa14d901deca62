# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/metrics.md from the declared names of metrics. `make docs` runs this module."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from querytape.metrics import names

PAGE = Path(__file__).resolve().parent / "metrics.md"


def table(listed: Iterable[names.Name]) -> str:
    """Return the table of these metrics."""
    rows = [
        f"| `{each.shown}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels) or '-'} | {each.help} |"
        for each in listed
    ]
    return "\n".join(["| metric | kind | labels | meaning |", "|---|---|---|---|", *rows])


def page() -> str:
    """Return the up-to-date page. Raises ValueError if a pair of marks is missing."""
    text = PAGE.read_text(encoding="utf-8")
    for mark in ("replay", "target", "capture"):
        begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ValueError(f"docs/metrics.md: expected the marks {begin} and {end} once")
        new = f"{begin}\n{table(getattr(names, mark.upper()))}\n{end}"
        text = text.replace(pattern.findall(text)[0], new)
    return text


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(page())
    else:
        PAGE.write_text(page(), encoding="utf-8")
