# SPDX-License-Identifier: Apache-2.0
"""The web application: its routes and middleware. Every error becomes a page with a message."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..common.errors import QuerytapeError
from .headers import ALWAYS, Headers
from .live_views import control, live_page, ticks
from .night_views import nights_page
from .own_pages import Site, said, shown
from .shelf import NotThere
from .views import begin_session, end_session, index, page, pair, static

MAX_BODY = 4096


class Readers:
    """Middleware that shows only the login page if pages require the token and the request has no token."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app, self._site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or ask for the token."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        path = request.url.path
        if path == "/session" or path.startswith("/static/") or self._site.access.may_read(request):
            await self._app(scope, receive, send)
        elif path.endswith("/ticks"):
            await JSONResponse({"error": "the token is required"}, 401)(scope, receive, send)
        else:
            await shown(request, "login.html.j2", 401)(scope, receive, send)


def application(site: Site, hosts: Sequence[str]) -> Starlette:
    """Return the application.

    `hosts`: the accepted host names. Requests with other names are refused, as a protection against DNS rebinding.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await site.cache.close()

    routes = [
        Route("/", index),
        Route("/pair", pair),
        Route("/static/{name}", static),
        Route("/session", begin_session, methods=["POST"]),
        Route("/session", end_session, methods=["DELETE"]),
        Route("/live/{name:path}/ticks", ticks),
        Route("/live/{name:path}/control", control, methods=["POST"]),
        Route("/live/{name:path}", live_page),
        Route("/nights/{name:path}", nights_page),
        Route("/{kind}/{name:path}", page),
    ]
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(Headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
            Middleware(Readers, site=site),
        ],
        exception_handlers={QuerytapeError: refused, HTTPException: refused, Exception: broken},
        lifespan=lifespan,
        max_body_size=MAX_BODY,
    )
    app.state.site = site
    app.router.redirect_slashes = False
    return app


async def refused(request: Request, error: Exception) -> Response:
    """Show the reason why a request is refused."""
    if isinstance(error, HTTPException):
        status, sentence = error.status_code, f"{error.detail}."
    else:
        status, sentence = 404 if isinstance(error, NotThere) else 422, str(error)
    if request.method not in ("GET", "HEAD"):
        return JSONResponse({"error": sentence}, status)
    return said(request, sentence, status)


async def broken(request: Request, error: Exception) -> Response:
    """Show that querytape has an internal error. uvicorn writes the details to standard error."""
    answer = said(
        request, "Internal error of querytape serve. The standard error of this process contains the details.", 500
    )
    answer.headers.update(ALWAYS)  # this answer bypasses the middleware
    return answer
