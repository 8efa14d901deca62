# SPDX-License-Identifier: Apache-2.0
"""Gives every answer its headers: what a page may load, and that nobody keeps or embeds it."""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache

from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "Content-Security-Policy"
# Vega writes style attributes into the charts; nothing that is shown here can name one.
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
    """Middleware: adds the headers that an answer does not have yet."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the headers."""

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_more)


@cache
def made_policy() -> str:
    """Return the policy of pages that the maker makes: only the scripts of their templates run, by their hashes.

    The page's own policy, which lets it open from disk, is stricter in nothing; both hold.
    """
    from ..analyze.render.chart_library import chart_library
    from ..analyze.render.templating import asset, template_scripts

    known = {"library": Markup(chart_library()), "draw": asset("charts.js"), "script": asset("report.js")}
    scripts = [script for name in TEMPLATES for script in template_scripts(name, **known)]
    return MADE.format(hashes=" ".join(sorted(set(hashes(scripts)))))


def hashes(scripts: Iterable[str]) -> list[str]:
    """Return the sources of these scripts, as a policy names them."""
    return [f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts]
