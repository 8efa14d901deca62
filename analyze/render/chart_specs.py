# SPDX-License-Identifier: Apache-2.0
"""Build the charts as Vega-Lite specifications, for pages and for SVG and PNG files."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import vl_convert

from ...common.errors import InputError
from ...common.files import publish
from ...common.units import duration
from ..model import Report
from ..sweep import SweepLevel
from . import dots_chart
from .chart_library import Channel, Encoding, Mark, Point, Spec

COLOURS = ("#2f6fdb", "#d9730d")
WIDTH, HEIGHT = 640, 170
Y_AXIS: dict[str, object] = {"minExtent": 34}  # aligns the left edges of charts below each other
FIRST = ("throughput", "p95", dots_chart.NAME)  # charts on the first screen of a report
MARKED = ("throughput", "p95")  # charts that show the stalls
MAX_STALLS = 200  # only the longest stalls are drawn
TimelineColumn = Literal["per_second", "p50_ns", "p95_ns", "p99_ns", "busy", "errors"]
TIMELINE: tuple[tuple[str, str, TimelineColumn, str, float], ...] = (
    ("throughput", "Throughput", "per_second", "statements/s", 1.0),
    ("median", "Service time, median", "p50_ns", "ms", 1e6),
    ("p95", "Service time, p95", "p95_ns", "ms", 1e6),
    ("p99", "Service time, p99", "p99_ns", "ms", 1e6),
    ("concurrency", "Statements in progress", "busy", "on average", 1.0),
    ("errors", "Errors", "errors", "per bin", 1.0),
)
SERIES_UNITS = {"cpu": ("%", 1.0), "disk": ("MB/s", 1e6), "net ": ("MB/s", 1e6), "thre": ("threads", 1.0)}


class Chart(NamedTuple):
    """One chart. `name`: the name of its file and of its page element."""

    name: str
    title: str
    spec: Spec


def report_charts(report: Report) -> list[Chart]:
    """Return the charts of a report: digests, timeline, heat maps, and counters of the servers and machines."""
    return [*_digests(report), *_timeline(report), *_heat_maps(report), *_counters(report)]


def _digests(report: Report) -> Iterator[Chart]:
    spec = dots_chart.dots_spec(report)
    if spec is not None:
        yield Chart(dots_chart.NAME, dots_chart.TITLE, spec)


def _timeline(report: Report) -> Iterator[Chart]:
    seconds = report.bin_ns / 1e9
    for name, title, column, unit, size in TIMELINE:
        rows = [
            {"x": row["bin"] * seconds, "y": value / size, **_who(report, row["run"], row["round"])}
            for row in report.answers["timeline"]
            if (value := row[column]) is not None and row["bin"] >= 0
        ]
        if rows and (name != "errors" or any(row["y"] for row in rows)):
            spec = _over_time(report, rows, unit)
            stalls = _stalls(report) if name in MARKED else []
            said = f"{title}, {unit}; shaded: stalls" if stalls else f"{title}, {unit}"
            yield Chart(name, said, _with_stalls(spec, stalls) if stalls else spec)


def _stalls(report: Report) -> list[Point]:
    """Return the longest stalls as rows {x, x2 (s), line, run, long}, ordered by time."""
    longest = sorted(report.answers["stalls"], key=lambda row: -row["long_ns"])[:MAX_STALLS]
    return [
        {
            "x": row["at_ns"] / 1e9,
            "x2": (row["at_ns"] + row["long_ns"]) / 1e9,
            "long": duration(row["long_ns"]),
            **_who(report, row["run"], row["round"]),
        }
        for row in sorted(longest, key=lambda row: (row["at_ns"], row["run"], row["round"]))
    ]


def _with_stalls(spec: Spec, stalls: list[Point]) -> Spec:
    """Return a chart over time with marked stalls: a band in the colour of the side, and a symbol at the top."""
    encoding = spec["encoding"]
    side: Encoding = {"x": {**encoding["x"]}, "color": encoding["color"]}
    tooltip: list[Channel] = [
        {"field": "run", "type": "nominal", "title": "stall of"},
        {"field": "x", "type": "quantitative", "title": "at, s", "format": ",.4~g"},
        {"field": "long", "type": "nominal", "title": "length"},
    ]
    data: dict[str, object] = {"values": stalls}
    band: Mark = {"type": "rect", "opacity": 0.2, "strokeWidth": 1, "strokeOpacity": 0.35}
    bands: Spec = {
        "data": data,
        "mark": band,
        "encoding": {**side, "x2": {"field": "x2"}, "stroke": encoding["color"], "tooltip": tooltip},
    }
    mark: Mark = {"type": "point", "shape": "triangle-down", "filled": True, "size": 45, "opacity": 1, "yOffset": 4}
    marks: Spec = {"data": data, "mark": mark, "encoding": {**side, "y": {"value": 0}, "tooltip": tooltip}}
    lines: Spec = {**spec}
    return {"width": lines.pop("width"), "height": lines.pop("height"), "layer": [bands, lines, marks]}


def _counters(report: Report) -> Iterator[Chart]:
    seconds = report.bin_ns / 1e9
    for name in dict.fromkeys(row["name"] for row in report.answers["series"]):
        unit, size = next((value for key, value in SERIES_UNITS.items() if name.startswith(key)), ("/s", 1.0))
        rows = [
            {"x": row["bin"] * seconds, "y": row["value"] / size, **_who(report, row["run"], 1)}
            for row in report.answers["series"]
            if row["name"] == name and row["value"] is not None
        ]
        if rows:
            shown = name.replace("cpu", "CPU") if name.startswith("cpu") else name.capitalize()
            yield Chart(name.replace(" ", "-"), f"{shown}, {unit}", _over_time(report, rows, unit))


def _who(report: Report, run: str, number: int) -> Point:
    letter = run.upper()
    return {"line": letter, "run": f"{letter}{number}" if report.rounds > 1 else letter}


def _over_time(report: Report, rows: list[Point], unit: str) -> Spec:
    """Return a chart of rows {x (s), y, line, run}, with one line per run in the colour of its side."""
    spec = line_chart(rows, ("seconds from the start", "s"), unit, [letter.upper() for letter in report.sides])
    spec["mark"]["strokeWidth"] = 1 if report.rounds > 1 else 1.6
    spec["params"] = [{"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}]
    spec["encoding"]["detail"] = {"field": "run"}
    spec["encoding"]["tooltip"].insert(0, {"field": "run", "type": "nominal"})
    return spec


def line_chart(rows: list[Point], axis: tuple[str, str], unit: str, lines: Sequence[str]) -> Spec:
    """Return a chart of rows {x, y, line}. `axis`: the title of x and its name in a tooltip."""
    title, name = axis
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.6, "point": {"size": 14, "filled": True, "opacity": 0.7}},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": title},
            "y": {"field": "y", "type": "quantitative", "title": unit, "scale": {"zero": True}, "axis": Y_AXIS},
            "color": {
                "field": "line",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(lines), "range": list(COLOURS[: len(lines)])},
                "legend": {"orient": "top", "symbolType": "stroke", "symbolOpacity": 1} if len(lines) > 1 else None,
            },
            "tooltip": [
                {"field": "x", "type": "quantitative", "title": name, "format": ",.4~g"},
                {"field": "y", "type": "quantitative", "title": unit, "format": ",.4~g"},
            ],
        },
    }


def _heat_maps(report: Report) -> Iterator[Chart]:
    """Yield a heat map of latency over time for each side.

    The y axis is logarithmic. Darker cells contain more statements.
    """
    columns = max((row["bin"] for row in report.details["heat"]), default=0) + 1
    end_s = max((row["bin"] for row in report.answers["timeline"]), default=0) * report.bin_ns / 1e9
    for letter in report.sides:
        rows = [
            {
                "x": row["bin"] * end_s / columns,
                "x2": (row["bin"] + 1) * end_s / columns,
                "y": 2 ** (row["height"] / 2) / 1e6,
                "y2": 2 ** ((row["height"] + 1) / 2) / 1e6,
                "n": row["n"],
            }
            for row in report.details["heat"]
            if row["run"] == letter
        ]
        if rows:
            yield Chart(f"heat-{letter}", f"Service times of {letter.upper()} over time, ms", heat_map(rows))


def heat_map(rows: list[Point]) -> Spec:
    """Return a chart of rows {x, x2 (s), y, y2 (ms), n}, one rectangle per row."""
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "rect"},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": "seconds from the start"},
            "x2": {"field": "x2"},
            "y": {"field": "y", "type": "quantitative", "scale": {"type": "log"}, "title": "ms"},
            "y2": {"field": "y2"},
            "color": {
                "field": "n",
                "type": "quantitative",
                "scale": {"type": "log", "scheme": "blues"},
                "title": "n",
            },
            "tooltip": [
                {"field": "x", "type": "quantitative", "title": "s", "format": ",.1f"},
                {"field": "y", "type": "quantitative", "title": "ms from", "format": ",.3~g"},
                {"field": "n", "type": "quantitative", "title": "statements", "format": ","},
            ],
        },
    }


def sweep_charts(levels: list[SweepLevel]) -> list[Chart]:
    """Return charts of the throughput and latency of a sweep against the number of sessions."""
    axis = ("sessions at once", "sessions")
    doubling: Channel = {"scale": {"type": "log", "base": 2}, "axis": {"values": [level.sessions for level in levels]}}
    throughput = [{"x": level.sessions, "y": level.per_second, "line": "all"} for level in levels]
    latency = [
        {"x": level.sessions, "y": ns / 1e6, "line": name}
        for level in levels
        for name, ns in (("p50", level.p50_ns), ("p99", level.p99_ns))
        if ns is not None
    ]
    charts = [
        Chart(
            "throughput", "Throughput, statements/s", line_chart(throughput, axis, "statements/s", ("statements/s",))
        ),
        Chart("latency", "Service time, ms", line_chart(latency, axis, "ms", ("p50", "p99"))),
    ]
    for chart in charts:
        chart.spec["encoding"]["x"].update(doubling)
    return charts


def write_charts(report: Report, folder: Path) -> None:
    """Write each chart as SVG and PNG into a new private folder. Raises InputError if writing fails.

    Each file is readable only by its owner from the first byte, and appears only when it is complete.
    """
    try:
        folder.mkdir(mode=0o700)
        for name, title, spec in report_charts(report):
            lines = title.replace("; ", ";\n").splitlines()  # Vega cuts a title that is wider than its chart
            whole = json.dumps({**spec, "title": lines, "background": "white"})
            with publish(folder / f"{file_name(name)}.svg") as temporary:
                temporary.write_text(vl_convert.vegalite_to_svg(whole), encoding="utf-8")
            with publish(folder / f"{file_name(name)}.png") as temporary:
                temporary.write_bytes(vl_convert.vegalite_to_png(whole, scale=2))
    except OSError as error:
        raise InputError(f"--charts {folder}: can't be written: {error.strerror}") from error


def file_name(name: str) -> str:
    """Return a chart's name as a safe file name, because the names of counters come from a run and are untrusted."""
    return re.sub(r"[^A-Za-z0-9-]+", "_", name)[:80]
