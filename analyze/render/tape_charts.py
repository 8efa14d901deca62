# SPDX-License-Identifier: Apache-2.0
"""Build the charts of a tape's page as Vega-Lite specifications: arrivals, concurrency, durations and think times."""

from typing import Literal

from ...common.units import NS_PER_SECOND
from ..tape_summary import TapeSummary
from .chart_library import Spec
from .chart_specs import COLOURS, HEIGHT, WIDTH, Chart, heat_map, line_chart

NS_PER_MS = 1e6
Column = Literal["reads", "writes", "sessions", "running", "connects", "errors"]
TIME = ("seconds from the start", "s")


def tape_charts(summary: TapeSummary) -> list[Chart]:
    """Return the charts that the tape has data for, in the order of the page."""
    seconds = summary.bin_ns / NS_PER_SECOND
    over_time = summary.pictures["over_time"]
    charts = [
        Chart("arrivals", "Statements per second", _lines(summary, ("reads", "writes"), seconds)),
        Chart("sessions", "Open sessions, average", _lines(summary, ("sessions",))),
    ]
    if any(row["running"] for row in over_time):
        charts.append(Chart("running", "Running statements, average", _lines(summary, ("running",))))
    if summary.pictures["heat"]:
        charts.append(Chart("heat", "Durations over time, ms", _heat(summary, seconds)))
    if summary.pictures["think_times"]:
        charts.append(Chart("think", "Think times between statements, ms", _think_times(summary)))
    if any(row["connects"] for row in over_time):
        charts.append(Chart("connects", "Connects per second", _lines(summary, ("connects",), seconds)))
    if any(row["errors"] for row in over_time):
        charts.append(Chart("errors", "Failed statements per second", _lines(summary, ("errors",), seconds)))
    return charts


def _lines(summary: TapeSummary, columns: tuple[Column, ...], divisor: float = 1.0) -> Spec:
    """Return a chart of columns of over_time. Each value is divided by `divisor`."""
    seconds = summary.bin_ns / NS_PER_SECOND
    rows = [
        {"x": row["bin"] * seconds, "y": (row[column] or 0) / divisor, "line": column}
        for column in columns
        for row in summary.pictures["over_time"]
    ]
    return line_chart(rows, TIME, ", ".join(columns), columns)


def _heat(summary: TapeSummary, seconds: float) -> Spec:
    return heat_map(
        [
            {
                "x": row["bin"] * seconds,
                "x2": (row["bin"] + 1) * seconds,
                "y": 2 ** (row["height"] / 2) / NS_PER_MS,
                "y2": 2 ** ((row["height"] + 1) / 2) / NS_PER_MS,
                "n": row["n"],
            }
            for row in summary.pictures["heat"]
        ]
    )


def _think_times(summary: TapeSummary) -> Spec:
    """Return a histogram with a logarithmic time scale in steps of half powers of two."""
    rows = [
        {"x": 2 ** (row["height"] / 2) / NS_PER_MS, "x2": 2 ** ((row["height"] + 1) / 2) / NS_PER_MS, "y": row["n"]}
        for row in summary.pictures["think_times"]
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "bar", "color": COLOURS[0], "opacity": 0.8},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "scale": {"type": "log"}, "title": "ms"},
            "x2": {"field": "x2"},
            "y": {"field": "y", "type": "quantitative", "title": "times"},
            "y2": {"datum": 0},
            "tooltip": [
                {"field": "x", "type": "quantitative", "title": "ms from", "format": ",.3~g"},
                {"field": "x2", "type": "quantitative", "title": "to", "format": ",.3~g"},
                {"field": "y", "type": "quantitative", "title": "times", "format": ","},
            ],
        },
    }
