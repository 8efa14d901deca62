# SPDX-License-Identifier: Apache-2.0
"""Makes the server's own pages from its templates, scripts and style sheets."""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from ..analyze.render.templating import asset, page_template
from ..common.version import __version__
from .access import Access
from .page_cache import PageCache
from .rows import plain, url_of
from .shelf import Shelf
from .viewed_runs import Watched


@dataclass
class Site:
    """The common data of all pages."""

    shelf: Shelf
    access: Access
    cache: PageCache
    watched: Watched


def site_of(request: Request) -> Site:
    """Return the site of the request."""
    site = request.app.state.site
    assert isinstance(site, Site)
    return site


def shown(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page from one of the server's templates."""
    site = site_of(request)
    session = site.access.session(request)
    text = page_template(template, __package__).render(
        version=__version__,
        root=site.shelf.root.name or "/",
        static=static_url,
        url_of=url_of,
        word=session.word if session else None,
        **values,
    )
    return HTMLResponse(text, status)


def said(request: Request, sentence: str, status: int = 200, title: str = "This page cannot be built") -> HTMLResponse:
    """Return a page with a single message."""
    return shown(request, "sentence.html.j2", status, title=title, sentence=plain(site_of(request).shelf, sentence))


ASSETS = {
    "style.css": (("report.css", "querytape.analyze.render"), ("serve.css", __package__)),
    "charts.js": (("charts.js", "querytape.analyze.render"),),
    "session.js": (("session.js", __package__),),
    "live.js": (("live.js", __package__),),
    "nights.js": (("nights.js", __package__),),
    "vega.js": (),
}


@cache
def static_text(name: str) -> str:
    """Return the text of a script or style sheet."""
    if name == "vega.js":
        from ..analyze.render.chart_library import chart_library

        return chart_library()
    return "\n".join(str(asset(file, package)) for file, package in ASSETS[name])


@cache
def static_url(name: str) -> str:
    """Return the address of a script or style sheet. The address changes with the text."""
    return f"/static/{name}?{hashlib.sha256(static_text(name).encode()).hexdigest()[:16]}"
