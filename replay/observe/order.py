# SPDX-License-Identifier: Apache-2.0
"""Warns where a run under the order of commits was not in that order, or where the tape does not know the order."""

from typing import Any

BROKEN_SHARE = 0.01  # more broken waits than this: the order was not kept


def order_warnings(info: dict[str, Any]) -> list[str]:
    """Return warnings about a finished run's order of commits; `info` is its run.json."""
    counts, plan = info["accounting"], info["plan"]
    notes = [f"--order commit: {note}" for note in plan.get("order_notes") or ()]
    broken = counts.get("order_broken", 0)
    if not broken:
        return notes
    waits = max(counts["order_waits"], broken)
    much = ": the order of the tape was not kept" if broken > BROKEN_SHARE * waits else ""
    text = (
        f"--order commit: {broken:,} of {waits:,} waits for another session's commit were broken after --order-bound,"
        f" and the statement was sent before its turn{much}. Data may differ from the original's"
    )
    return [text, *notes]
