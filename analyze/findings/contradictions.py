# SPDX-License-Identifier: Apache-2.0
"""Give the reason where the ratio of a digest's times and the time lost point in different directions."""

from ...common.units import duration, plural
from ..database import Row
from ..model import Report
from ..verdicts.verdict import FASTER, SLOWER
from .query_cache import cache_use

MIN_CACHE_SHARE = 0.05


def contradiction(report: Report, entry: Row) -> str | None:
    """Return why most events of a digest went one way and its total the other; None where they agree.

    A ratio is that of the middle event, or of the mean logarithm: a few events that took very long weigh little in it,
    and nearly all in the sum.
    """
    pair, ratio = entry["pair"], _ratio(entry)
    if not pair or ratio is None or abs(pair["lost_ns"]) < report.settings.margin.ns:
        return None
    slower = entry["verdict"] == SLOWER or (entry["verdict"] != FASTER and ratio > 1 + report.settings.margin.ratio)
    faster = entry["verdict"] == FASTER or (
        entry["verdict"] != SLOWER and ratio < 1 / (1 + report.settings.margin.ratio)
    )
    if not (slower and pair["lost_ns"] < 0) and not (faster and pair["lost_ns"] > 0):
        return None
    longer = f"{plural(pair['longer'], 'event')} took longer in B ({duration(pair['longer_ns'])} in all)"
    shorter = f"{plural(pair['shorter'], 'event')} took less ({duration(pair['shorter_ns'])})"
    total = f"{duration(abs(pair['lost_ns']))} {'less' if slower else 'more'} in sum"
    return f"yet {total}: {longer}, {shorter}{_cache(report)}"


def _ratio(entry: Row) -> float | None:
    shift, pair = entry["shift"] or {}, entry["pair"] or {}
    ratio = shift.get("ratio") or pair.get("ratio")
    return None if ratio is None else float(ratio)


def _cache(report: Report) -> str:
    """Return that a query cache may be the reason, where one answered a good part."""
    sides = [letter.upper() for letter, use in cache_use(report).items() if use.share >= MIN_CACHE_SHARE]
    return f"; the query cache of {' and '.join(sides)} answered some at once, which queries can't do" if sides else ""
