# SPDX-License-Identifier: Apache-2.0
"""Answers requests for the folder list, generated pages, sessions, scripts and style sheets."""

import asyncio
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from .access import COOKIE, is_same_origin
from .headers import POLICY, made_policy
from .orders import Order, order_of, pair_of
from .own_pages import ASSETS, said, shown, site_of, static_text
from .rows import groups, sentences, url_of
from .shelf import RUN, Entry

WAIT_S = 3.0  # seconds to wait for a page before the browser must ask again
WRONG_TOKEN_S = 0.5
FOREVER = "private, max-age=31536000, immutable"
TYPES = {"css": "text/css", "js": "text/javascript"}
BACK = '<nav class="sub" style="margin-bottom:.8rem"><a href="/">← All tapes, runs and comparisons</a></nav>'


async def index(request: Request) -> Response:
    """Show the list of the folder."""
    site = site_of(request)

    def look() -> dict[str, Any]:
        found = site.shelf.find()
        return {"groups": groups(site.shelf, found), "notes": list(sentences(found))}

    return shown(request, "index.html.j2", **await run_in_threadpool(look))


async def page(request: Request) -> Response:
    """Show the page of a tape, run, comparison or sweep.

    Until the page is finished, show a page that reloads itself.
    """
    site = site_of(request)
    kind, name = request.path_params["kind"], request.path_params["name"]
    entry: Entry = await run_in_threadpool(site.shelf.entry, name)
    if entry.kind != kind:
        return RedirectResponse(url_of(entry.kind, name))
    if kind == RUN and entry.under_way:
        return RedirectResponse(url_of("live", name))
    order = await run_in_threadpool(order_of, site.shelf, entry)
    return await framed(request, await made_page(request, order, name))


async def pair(request: Request) -> Response:
    """Show the report on two runs. `a` is the reference, `b` is judged."""
    site = site_of(request)
    names = [request.query_params.get(side, "") for side in ("a", "b")]
    if not all(names):
        return said(request, "expected two runs, A and B", 400)

    def look() -> Order:
        return pair_of(site.shelf, *(site.shelf.entry(name) for name in names))

    return await framed(request, await made_page(request, await run_in_threadpool(look), " and ".join(names)))


async def framed(request: Request, made: bytes | Response) -> Response:
    """Return a page of the maker with a link back, and with the policy for its scripts."""
    if isinstance(made, Response):
        return made
    policy = await run_in_threadpool(made_policy)
    body = made.replace(b"<body>", b"<body>" + BACK.encode(), 1)
    return HTMLResponse(body, headers={POLICY: policy})


async def made_page(request: Request, order: Order, name: str) -> bytes | Response:
    """Return the finished page, or a response with an error or with the progress of the page."""
    made = await site_of(request).cache.get(order, WAIT_S)
    if isinstance(made, float):
        return shown(request, "waiting.html.j2", 202, name=name, since=f"{made:,.0f}")
    return made.page if made.problem is None else said(request, made.problem, 422)


async def begin_session(request: Request) -> Response:
    """Start a session for a browser that has the token: POST with the token in the Authorization header."""
    access = site_of(request).access
    if not is_same_origin(request) or not access.has_token(request):
        await asyncio.sleep(WRONG_TOKEN_S)
        return JSONResponse({"error": "wrong token"}, 403)
    value, session = access.begin()
    answer = JSONResponse({"word": session.word})
    answer.set_cookie(COOKIE, value, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/")
    return answer


async def end_session(request: Request) -> Response:
    """End the session of the browser."""
    access = site_of(request).access
    if not access.may_change(request):
        return JSONResponse({"error": "the request is not from a page of this session"}, 403)
    access.end(request)
    answer = JSONResponse({})
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
    return answer


async def static(request: Request) -> Response:
    """Send a script or a style sheet."""
    name = request.path_params["name"]
    if name not in ASSETS:
        return Response(status_code=404)
    text = await run_in_threadpool(static_text, name)
    kind = TYPES[name.rpartition(".")[2]]
    return Response(text, media_type=kind, headers={"Cache-Control": FOREVER if request.url.query else "no-cache"})
