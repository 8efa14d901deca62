# SPDX-License-Identifier: Apache-2.0
"""Write a tape's summary, or what differs between two tapes, as JSON."""

import json
from typing import Any, cast

from ..database import Row
from ..tape_summary import TapeDifference, TapeSummary
from .workload_sections import without_values

CUT = ("digests", "accounts")  # the longest lists


def tape_summary_json(summary: TapeSummary, top: int, samples: bool = False) -> str:
    """Return tape.json's keys and the rows of each analysis; the longest lists are cut to `top` rows.

    `samples`: with the literal values of hot rows.
    """
    answers = cast(dict[str, list[Row]], summary.answers)
    rows = {name: rows[:top] if name in CUT else rows for name, rows in answers.items()}
    workload = summary.workload if samples else without_values(summary.workload)
    indexes = {} if summary.indexes is None else {"indexes": summary.indexes}
    return _text({"path": str(summary.tape.path), **summary.tape.info, **rows, "workload": workload, **indexes})


def tape_difference_json(changed: TapeDifference, top: int) -> str:
    """Return both tapes' totals and the digests, cut to `top` rows."""
    tapes = [str(tape.path) for tape in changed.tapes]
    return _text({"tapes": tapes, "totals": changed.totals, "digests": changed.digests[:top]})


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
