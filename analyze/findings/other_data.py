# SPDX-License-Identifier: Apache-2.0
"""Say where a run may have left other data than its tape: what its exit code 4 stands for."""

from collections.abc import Iterator
from typing import Any

from ...common.units import count, plural


def other_data(name: str, info: dict[str, Any]) -> str | None:
    """Return a sentence on a run, by its run.json; None where its data is the tape's as far as anyone knows."""
    reasons = list(_reasons(info))
    return f"The data of run {name} may differ from the tape's: {'; '.join(reasons)}." if reasons else None


def _reasons(info: dict[str, Any]) -> Iterator[str]:
    plan, counts, prepared = (info.get(key) or {} for key in ("plan", "accounting", "prepared"))
    if ids := plan.get("ids_unknown"):
        are = "are" if ids > 1 else "is"
        yield f"the tape does not know the ids of {plural(ids, 'INSERT')}, which {are} the target's own"
    if failed := counts.get("overrides_failed"):
        yield f"the target refused {plural(failed, 'clock')} or ids of the tape"
    if broken := counts.get("order_broken"):
        waits = max(counts.get("order_waits") or 0, broken)
        yield f"{count(broken)} of {plural(waits, 'wait')} for the order of commits {_was(broken)} broken"
    if ended := prepared.get("rolled_back"):
        yield f"{plural(len(ended), 'XA transaction')} without an end {_was(len(ended))} rolled back"
    if left := prepared.get("left"):
        yield f"{plural(len(left), 'XA transaction')} without an end {_was(len(left))} left on the target"


def _was(n: int) -> str:
    return "was" if n == 1 else "were"
