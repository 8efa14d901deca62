# SPDX-License-Identifier: Apache-2.0
"""Adds headers to every answer: they restrict what a page loads, and forbid caching and embedding."""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache

from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "Content-Security-Policy"
# Vega writes style attributes into the charts. Data shown on the pages cannot add style attributes.
OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
MADE = (
    "default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; form-action 'none';"
    " base-uri 'none'; frame-ancestors 'none'"
)
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    POLICY: OWN,
}
TEMPLATES = ("report.html.j2", "tape.html.j2", "sweep.html.j2")


class Headers:
    """Middleware: adds missing headers to an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request with the headers."""

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_more)


@cache
def made_policy() -> str:
    """Return the policy for pages of the maker: only the scripts of their templates run, identified by their hashes.

    Such a page also contains its own policy for use from disk. The page's own policy allows at least as much. Browsers
    apply both policies.
    """
    from ..analyze.render.chart_library import chart_library
    from ..analyze.render.templating import asset, template_scripts

    known = {"library": Markup(chart_library()), "draw": asset("charts.js"), "script": asset("report.js")}
    scripts = [script for name in TEMPLATES for script in template_scripts(name, **known)]
    return MADE.format(hashes=" ".join(sorted(set(hashes(scripts)))))


def hashes(scripts: Iterable[str]) -> list[str]:
    """Return the hash sources of these scripts in the format of a policy."""
    return [f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts]
