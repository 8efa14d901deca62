# SPDX-License-Identifier: Apache-2.0
"""Say whether the runs carry a claim about times at all."""

from collections.abc import Iterator

from ...schemas import Folder
from ..model import Report


def doubt(report: Report) -> str | None:
    """Return why the runs can't carry any claim about times, None where they can."""
    for name, run in named_runs(report):
        accounting = run.info.get("accounting") or {}
        if accounting and not accounting.get("balanced", True):
            return f"the accounting of run {name} does not balance"
        if run.info.get("measuring_point", "client") != "client":
            return "the runs were not measured in the same place"
    return None


def named_runs(report: Report) -> Iterator[tuple[str, Folder]]:
    """Yield each run with its name: A, B, or A1, A2, ... where there are several rounds."""
    for letter, rounds in report.sides.items():
        for number, run in enumerate(rounds, 1):
            yield f"{letter.upper()}{number}" if report.rounds > 1 else letter.upper(), run
