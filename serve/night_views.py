# SPDX-License-Identifier: Apache-2.0
"""The page of a nightly folder: what became slower since which night, drawn and in words; and every night."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..analyze.render.chart_library import Channel, Spec
from ..analyze.render.chart_specs import COLOURS, HEIGHT, WIDTH
from ..analyze.render.templating import script_json
from .history import History, PlainChange
from .orders import order_of
from .own_pages import shown, site_of
from .rows import url_of
from .shelf import NIGHTS
from .views import made_page

MAX_CHARTS = 12  # of digests
WHOLE = "whole"


async def nights_page(request: Request) -> Response:
    """Show the history of a folder of nights."""
    shelf = site_of(request).shelf
    entry = await run_in_threadpool(shelf.entry, request.path_params["name"])
    if entry.kind != NIGHTS:
        return RedirectResponse(url_of(entry.kind, entry.name))
    made = await made_page(request, await run_in_threadpool(order_of, shelf, entry), entry.name)
    if isinstance(made, Response):
        return made
    told = cast(History, json.loads(made))
    prefix = "" if entry.name == "." else f"{entry.name}/"
    urls = {night["name"]: url_of("comparison", prefix + night["name"]) for night in told["nights"]}
    charts = [(WHOLE, ratio_chart(whole_series(told), told["whole"]))] if told["known"] else []
    drawn: list[str] = []
    for change in told["digests"]:
        digest = change["digest"]
        if digest and digest not in drawn and len(drawn) < MAX_CHARTS:
            drawn.append(digest)
            mine = [each for each in told["digests"] if each["digest"] == digest]
            charts.append((digest, ratio_chart(told["series"][digest], mine)))
    specs = [{"name": name, "spec": spec} for name, spec in charts]
    still = [each for each in told["digests"] if each["slower"] and each["until"] is None]
    return shown(
        request,
        "nights.html.j2",
        still=still,
        name=shelf.root.name if entry.name == "." else entry.name,
        told=told,
        texts={change["digest"]: change["text"] for change in told["digests"]},
        drawn=drawn,
        urls=urls,
        data=script_json(json.dumps({"charts": specs})),
    )


def whole_series(told: History) -> list[tuple[str, float]]:
    """Return (night, B's time over A's) of the nights of which that is known."""
    return [(night["name"], night["whole"]) for night in told["nights"] if night["whole"] is not None]


def ratio_chart(series: Sequence[tuple[str, float]], changes: list[PlainChange]) -> Spec:
    """Return a chart of (night, ratio), its levels as steps and a rule at each change; times that double are as far
    apart as those that halve."""
    nights = [name for name, _ in series]
    starts = [0, *sorted(nights.index(change["at"]) for change in changes), len(nights)]
    levels = []
    for begin, end in pairwise(starts):
        middle = sorted(value for _, value in series[begin:end])[(end - begin) // 2] if end > begin else None
        levels += [{"x": moment(name), "y": middle, "part": begin} for name in nights[begin:end]]
    x: Channel = {
        "field": "x",
        "type": "temporal",
        "scale": {"type": "utc"},
        "title": None,
        "axis": {"format": "%b %d", "labelFlush": True},
    }
    y: Channel = {
        "field": "y",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "title": "B / A",
    }
    points = [{"x": moment(name), "y": value, "night": name} for name, value in series]
    rules = [{"x": moment(change["at"]), "night": change["at"], "slower": change["slower"]} for change in changes]
    tooltip: list[Channel] = [
        {"field": "night", "type": "nominal"},
        {"field": "y", "type": "quantitative", "title": "B / A", "format": ".3~g"},
    ]
    rule_colour: Channel = {"condition": {"test": "datum.slower", "value": "#b42318"}, "value": "#067647"}
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "padding": {"left": 5, "right": 20, "top": 5, "bottom": 5},
        "layer": [
            {
                "data": {"values": rules},
                "mark": {"type": "rule", "strokeDash": [5, 3], "strokeWidth": 1.5},
                "encoding": {"x": x, "color": rule_colour, "tooltip": [{"field": "night", "title": "since"}]},
            },
            {
                "data": {"values": levels},
                "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.7, "color": COLOURS[1]},
                "encoding": {"x": x, "y": y, "detail": {"field": "part"}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 40, "color": COLOURS[0], "opacity": 0.9},
                "encoding": {"x": x, "y": y, "tooltip": tooltip},
            },
        ],
    }


def moment(name: str) -> str:
    """Return the time of a night's name, 2026-11-22T0200: ISO 8601, UTC."""
    return f"{name[:10]}T{name[11:13]}:{name[13:15]}:00Z"
