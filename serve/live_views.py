# SPDX-License-Identifier: Apache-2.0
"""The page of a running replay: its content, its data request every second, and the requests to the run."""

import json
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from ..analyze.render.chart_library import Spec
from ..analyze.render.chart_specs import line_chart
from ..analyze.render.templating import script_json
from ..common.errors import InputError
from ..common.units import clock, count, duration
from .live import State, figures, lines, state_of
from .own_pages import Site, shown, site_of
from .rows import line_of, url_of
from .shelf import RUN, Entry
from .viewed_runs import ask_of

TIME = ("seconds from the start", "s")
# Name, title, unit and lines of each chart. The first four charts are also in the report.
CHARTS = (
    ("throughput", "Throughput, statements/s", "statements/s", ("all",)),
    ("p95", "Service time, p95, ms", "ms", ("p95",)),
    ("errors", "Errors per second", "errors/s", ("errors",)),
    ("late", "Lateness, p99, ms (all causes)", "ms", ("late",)),
    ("sessions", "Open sessions", "sessions", ("open",)),
    ("queue", "Memory of waiting events, MB", "MB", ("queue",)),
)


async def live_page(request: Request) -> Response:
    """Show the live page of a run, or the report if the run has ended."""
    site = site_of(request)
    entry, info = await run_in_threadpool(run_of, site, request.path_params["name"])
    if info.get("finished"):
        return RedirectResponse(url_of(entry.kind, entry.name))
    line = await run_in_threadpool(line_of, site.shelf, entry)
    specs = {name: chart_spec(unit, names) for name, _, unit, names in CHARTS}
    url = url_of("live", entry.name)
    data = {"charts": specs, "ticks": f"{url}/ticks", "control": f"{url}/control"}
    return shown(
        request,
        "live.html.j2",
        name=entry.name,
        what=line.what,
        charts=[(name, title) for name, title, _, _ in CHARTS],
        paced=state_of(entry.path, info, site.watched.reader(entry.path).read()).paced,
        data=script_json(json.dumps(data)),
    )


def chart_spec(unit: str, names: tuple[str, ...]) -> Spec:
    """Return a chart whose points are added later under the name `rows`."""
    spec = line_chart([], TIME, unit, names)
    spec["data"] = {"name": "rows", "values": []}
    spec["mark"]["point"]["size"] = 6
    return spec


def run_of(site: Site, name: str) -> tuple[Entry, dict[str, Any]]:
    """Return a run and its run.json. Raises FolderError if the name is not a run."""
    entry = site.shelf.entry(name)
    if entry.kind != RUN:
        raise InputError(f"{name}: not a run")
    return entry, site.shelf.info(entry)


async def ticks(request: Request) -> Response:
    """Send the current state of the run. The points are included if the number of ticks is not `seen`."""
    site = site_of(request)
    seen = request.query_params.get("seen", "")

    def look() -> dict[str, Any]:
        entry, info = run_of(site, request.path_params["name"])
        found = site.watched.reader(entry.path).read()
        state = state_of(entry.path, info, found)
        now = shown_figures(figures(found, state.planned), state)
        answer: dict[str, Any] = {"state": asdict(state), "figures": now, "n": len(found)}
        if str(len(found)) != seen:
            answer["width_s"], answer["lines"] = lines(found)
        return answer

    return JSONResponse(await run_in_threadpool(look))


def shown_figures(values: dict[str, float | None], state: State) -> dict[str, Any]:
    """Return measured values formatted for the page."""

    def known(name: str) -> float | None:
        return values.get(name)

    left_s, at_ns, done = known("left_s"), known("at_ns"), known("done")
    return {
        "per_second": count(known("per_second")),
        "errors_per_second": count(known("errors_per_second")),
        "errors": count(known("errors")),
        "p95": _time(known("p95_ns")),
        "late": _time(known("late_ns")),
        "open": count(known("open")),
        "at": "-" if at_ns is None else clock(int(at_ns)),
        "left": "-" if left_s is None or state.word != "running" else clock(int(left_s * 1e9)),
        "done": count(done),
        "planned": count(state.planned),
        "share": values.get("share"),
    }


def _time(ns: float | None) -> str:
    return duration(None if ns is None else int(ns))


async def control(request: Request) -> Response:
    """Pause, resume or stop the run, or change its speed. Requires the token or a session."""
    site = site_of(request)
    if not site.access.may_change(request):
        return JSONResponse({"error": "the token is required"}, 403)
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return JSONResponse({"error": "expected application/json"}, 415)
    try:
        asked = json.loads(await request.body())
        act, factor = (asked["do"], str(asked.get("factor", ""))) if isinstance(asked, dict) else ("", "")
    except (ValueError, KeyError, RecursionError):
        return JSONResponse({"error": "expected a JSON object with the key `do`"}, 400)

    def ask() -> str:
        entry, info = run_of(site, request.path_params["name"])
        return ask_of(site.watched, entry.path, info, act, factor)

    return JSONResponse({"said": await run_in_threadpool(ask)})
