# SPDX-License-Identifier: Apache-2.0
"""Draw every digest as a dot: x is its median in A, y its median in B. Dots above the diagonal are slower in B.

The colours are distinct for colour-blind readers, and each verdict also has its own shape. A digest without a time on a
side is drawn on that side's rim (all its events failed there, or none was sent).
"""

from math import ceil, floor, log10
from typing import NamedTuple, TypedDict

from ...common.text import printable
from ...common.units import count, duration, ratio
from ..model import DigestEntry, Report, ratio_of, sides_of
from ..rows import DigestsRow
from ..verdicts.verdict import ERRORS, FASTER, INCONCLUSIVE, SAME, SLOWER, UNSTABLE, WORDS
from .chart_library import Channel, Encoding, Mark, Spec

MARKS = {
    SLOWER: ("#c8102e", "triangle-up"),
    ERRORS: ("#8f3fa0", "cross"),
    FASTER: ("#009e73", "triangle-down"),
    SAME: ("#a0a8b4", "circle"),
    UNSTABLE: ("#e6b800", "diamond"),
    INCONCLUSIVE: ("#56b4e9", "square"),
}
WIDTH, HEIGHT = 420, 420
NAME = "digests"
TITLE = "Medians, ms (above the line: B is slower)"
MAX_TEXT = 90
LEAST_NS = 1_000  # a log axis has no zero
FEW_DECADES = 4
DOTS_AREA = 20_000  # total area if all dots had the largest size
AROUND, RIM = 1.4, 2.2  # factors: margin of the axes around the times, distance of the rim below the smallest time


class Span(NamedTuple):
    """The range of both axes in ms: times from `low` to `high`. Digests without a time are at `rim`, below `low`."""

    low: float
    high: float
    rim: float
    axis_low: float


class Dot(TypedDict):
    """A digest as a dot: its position in ms, and the texts of its tooltip."""

    digest: str
    x: float
    y: float
    n: int
    verdict: str
    statement: str
    ratio: str
    A: str
    B: str
    events: str


def dots_spec(report: Report) -> Spec | None:
    """Return the chart, or None if nothing is compared or no digest has a time."""
    times = [ns for entry in report.digests for ns in (_median(entry["a"]), _median(entry["b"])) if ns is not None]
    if not report.compares or not times:
        return None
    lacks = any(_median(entry[side]) is None for entry in report.digests for side in ("a", "b"))
    span = _span(min(times), max(times), lacks)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [_equality(span), *(_rims(span) if lacks else []), _dots(dots(report, span), span)],
    }


def dots(report: Report, span: Span) -> list[Dot]:
    """Return a row per digest in drawing order.

    The worst verdicts and, within a verdict, the smallest dots are drawn last.
    """
    rows = [_dot(entry, span) for entry in report.digests]
    return sorted(rows, key=lambda row: (-WORDS.index(row["verdict"]), -row["n"]))


def _dot(entry: DigestEntry, span: Span) -> Dot:
    a, b = _median(entry["a"]), _median(entry["b"])
    side_a, side_b = sides_of(entry)
    events = (side_b or side_a).get("n") or 0
    return {
        "digest": entry["digest"],
        "x": span.rim if a is None else a / 1e6,
        "y": span.rim if b is None else b / 1e6,
        "n": events,
        "verdict": entry["verdict"],
        "statement": printable(entry["text"], MAX_TEXT),
        "ratio": ratio(ratio_of(entry)),
        "A": duration(side_a.get("p50_ns")),
        "B": duration(side_b.get("p50_ns")),
        "events": count(events),
    }


def _median(side: DigestsRow | None) -> int | None:
    """Return a side's median in ns, at least LEAST_NS, or None if the side has no median."""
    median = side["p50_ns"] if side else None
    return None if median is None else max(median, LEAST_NS)


def _span(least_ns: int, most_ns: int, lacks: bool) -> Span:
    low, high = least_ns / 1e6 / AROUND, most_ns / 1e6 * AROUND
    rim = low / RIM
    return Span(low, high, rim, rim / AROUND if lacks else low)


def _equality(span: Span) -> Spec:
    """Return the line of equal times on both sides."""
    return {
        "data": {"values": [{"x": at, "y": at} for at in (span.low, span.high)]},
        "mark": {"type": "line", "color": "#8a94a3", "strokeWidth": 1.2},
        "encoding": _place(span),
    }


def _rims(span: Span) -> list[Spec]:
    """Return a dashed line and its label for each rim."""
    line: Mark = {"type": "rule", "color": "#8a94a3", "strokeDash": [3, 3]}
    text: Mark = {"type": "text", "color": "#8a94a3", "fontSize": 10}
    place = _place(span)
    right, up = [{"y": span.low, "rim": span.rim}], [{"x": span.low, "rim": span.rim}]
    end = span.high / AROUND
    below: Encoding = {**place, "x": {**place["x"], "datum": end}, "y": {**place["y"], "field": "rim"}}
    beside: Encoding = {**place, "y": {**place["y"], "datum": end}, "x": {**place["x"], "field": "rim"}}
    del below["x"]["field"], beside["y"]["field"]
    return [
        {"data": {"values": right}, "mark": line, "encoding": {"y": place["y"]}},
        {"data": {"values": up}, "mark": line, "encoding": {"x": place["x"]}},
        {"data": {"values": right}, "mark": {**text, "align": "right", "text": "no time in B"}, "encoding": below},
        {
            "data": {"values": up},
            "mark": {**text, "angle": 270, "align": "right", "text": "no time in A"},
            "encoding": beside,
        },
    ]


def _place(span: Span) -> Encoding:
    """Return both axes with the same logarithmic scale."""
    scale: dict[str, object] = {"type": "log", "domain": [span.axis_low, span.high], "nice": False}
    axis: dict[str, object] = {"values": _ticks(span), "format": "~g"}
    return {
        "x": {"field": "x", "type": "quantitative", "title": "median in A, ms", "scale": scale, "axis": axis},
        "y": {"field": "y", "type": "quantitative", "title": "median in B, ms", "scale": scale, "axis": axis},
    }


def _ticks(span: Span) -> list[float]:
    """Return the labelled values of the axes: powers of ten, plus 2 and 5 times each power if there are few decades."""
    decades = range(floor(log10(span.low)), ceil(log10(span.high)) + 1)
    steps = (1, 2, 5) if len(decades) <= FEW_DECADES else (1,)
    ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
    return [tick for tick in ticks if span.low <= tick <= span.high]


def _dots(rows: list[Dot], span: Span) -> Spec:
    words = [word for word in WORDS if any(row["verdict"] == word for row in rows)]
    largest = min(max(DOTS_AREA / len(rows), 40), 500)
    legend: dict[str, object] = {"orient": "top", "columns": 3, "symbolStrokeWidth": 1.5}
    said: Channel = {"field": "verdict", "type": "nominal", "title": None, "legend": legend}
    return {
        "data": {"values": rows},
        "mark": {
            "type": "point",
            "filled": True,
            "opacity": 0.75,
            "stroke": "#fff",
            "strokeWidth": 0.5,
            "cursor": "pointer",
        },
        "encoding": {
            **_place(span),
            "color": {**said, "scale": {"domain": words, "range": [MARKS[word][0] for word in words]}},
            "shape": {**said, "scale": {"domain": words, "range": [MARKS[word][1] for word in words]}},
            "size": {
                "field": "n",
                "type": "quantitative",
                "scale": {
                    "type": "sqrt",
                    "domain": [0, max(row["n"] for row in rows) or 1],
                    "range": [largest / 15, largest],
                },
                "legend": None,
            },
            "tooltip": [
                {"field": name, "type": "nominal"} for name in ("statement", "verdict", "ratio", "A", "B", "events")
            ],
        },
    }
