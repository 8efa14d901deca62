# SPDX-License-Identifier: Apache-2.0
"""The report's charts as Vega-Lite specifications: the HTML draws them, and they become SVG and PNG files."""

import json
from pathlib import Path
from typing import Any

import vl_convert

from ..errors import InputError
from .report import Report

Spec = dict[str, Any]

COLOURS = {"A": "#2f6fdb", "B": "#d9730d"}
WIDTH, HEIGHT = 640, 170
CHARTS = (
    ("throughput", "Throughput", "per_second", "statements/s", 1.0),
    ("median", "Service time, median", "p50_ns", "ms", 1e6),
    ("p95", "Service time, p95", "p95_ns", "ms", 1e6),
    ("p99", "Service time, p99", "p99_ns", "ms", 1e6),
    ("concurrency", "Statements in the server", "busy", "on average", 1.0),
    ("errors", "Errors", "errors", "per bin", 1.0),
)
SERIES_UNITS = {"cpu": ("%", 1.0), "disk": ("MB/s", 1e6), "net ": ("MB/s", 1e6), "thre": ("running", 1.0)}


def charts(report: Report) -> list[tuple[str, str, Spec]]:
    """Return (file name, title, specification) of each chart of a report."""
    seconds = report.bin_ns / 1e9
    found = []
    for name, title, column, unit, size in CHARTS:
        rows = [
            {"t": row["bin"] * seconds, "v": row[column] / size, **_who(report, row["run"], row["round"])}
            for row in report.answers["timeline"]
            if row[column] is not None and row["bin"] >= 0
        ]
        if rows and (name != "errors" or any(row["v"] for row in rows)):
            found.append((name, f"{title}, {unit}", line(rows, unit, report.rounds > 1)))
    found += _heats(report)
    for name in dict.fromkeys(row["name"] for row in report.answers["series"]):
        unit, size = next((value for key, value in SERIES_UNITS.items() if name.startswith(key)), ("/s", 1.0))
        rows = [
            {"t": row["bin"] * seconds, "v": row["value"] / size, **_who(report, row["run"], 1)}
            for row in report.answers["series"]
            if row["name"] == name and row["value"] is not None
        ]
        if rows:
            found.append((name.replace(" ", "-"), f"{name[0].upper()}{name[1:]}, {unit}", line(rows, unit, False)))
    return found


def _who(report: Report, run: str, number: int) -> Spec:
    return {"side": run.upper(), "run": f"{run.upper()}{number}" if report.rounds > 1 else run.upper()}


def line(rows: list[Spec], unit: str, rounds: bool) -> Spec:
    """Return a chart of rows {t, v, side, run}: a line for each run, the sides in their colours."""
    tips = [
        {"field": "run", "type": "nominal"},
        {"field": "t", "type": "quantitative", "title": "s", "format": ",.1f"},
        {"field": "v", "type": "quantitative", "title": unit, "format": ",.4~g"},
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "params": [{"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
        "mark": {
            "type": "line",
            "strokeWidth": 1 if rounds else 1.6,
            "point": {"size": 14, "filled": True, "opacity": 0.7},
        },
        "encoding": {
            "x": {"field": "t", "type": "quantitative", "title": "s from the start"},
            "y": {"field": "v", "type": "quantitative", "title": unit, "scale": {"zero": True}},
            "color": _colour(),
            "detail": {"field": "run"},
            "tooltip": tips,
        },
    }


def _colour() -> Spec:
    return {
        "field": "side",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(COLOURS), "range": list(COLOURS.values())},
        "legend": {"orient": "top", "symbolType": "stroke"},
    }


def _heats(report: Report) -> list[tuple[str, str, Spec]]:
    """Return a heat map of latency over time for each side: log scale upwards, darker = more statements."""
    found = []
    longest = max((row["bin"] for row in report.pages["heat"]), default=0) + 1
    end_s = max((row["bin"] for row in report.answers["timeline"]), default=0) * report.bin_ns / 1e9
    for letter in "ab"[: len(report.runs)]:
        rows = [
            {
                "t": row["bin"] * end_s / longest,
                "t2": (row["bin"] + 1) * end_s / longest,
                "v": 2 ** (row["height"] / 2) / 1e6,
                "v2": 2 ** ((row["height"] + 1) / 2) / 1e6,
                "n": row["n"],
            }
            for row in report.pages["heat"]
            if row["run"] == letter
        ]
        if not rows:
            continue
        spec = {
            "width": WIDTH,
            "height": HEIGHT,
            "data": {"values": rows},
            "mark": {"type": "rect"},
            "encoding": {
                "x": {"field": "t", "type": "quantitative", "title": "s from the start"},
                "x2": {"field": "t2"},
                "y": {"field": "v", "type": "quantitative", "scale": {"type": "log"}, "title": "ms"},
                "y2": {"field": "v2"},
                "color": {
                    "field": "n",
                    "type": "quantitative",
                    "scale": {"type": "log", "scheme": "blues"},
                    "title": "n",
                },
                "tooltip": [
                    {"field": "t", "type": "quantitative", "title": "s", "format": ",.1f"},
                    {"field": "v", "type": "quantitative", "title": "ms from", "format": ",.3~g"},
                    {"field": "n", "type": "quantitative", "title": "statements", "format": ","},
                ],
            },
        }
        found.append((f"heat-{letter}", f"Service times of {letter.upper()} over time, ms", spec))
    return found


def write_charts(report: Report, folder: Path) -> None:
    """Write each chart as SVG and PNG into a new folder. Raises InputError where that can't be done."""
    try:
        folder.mkdir(mode=0o700)
        for name, title, spec in charts(report):
            whole = json.dumps({**spec, "title": title, "background": "white"})
            (folder / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(whole), encoding="utf-8")
            (folder / f"{name}.png").write_bytes(vl_convert.vegalite_to_png(whole, scale=2))
    except OSError as fault:
        raise InputError(f"--charts {folder}: can't be written: {fault.strerror}") from fault
