# SPDX-License-Identifier: Apache-2.0
"""Pages from the server's own templates, and their scripts."""

import re
import time
from importlib.resources import files
from pathlib import Path

import pytest
from querytape.analyze.render.templating import page_template
from querytape.serve.own_pages import ASSETS, static_text, static_url

from tests.helpers.browser import browser
from tests.helpers.served import Served

PAGES = ("/", "/live/live.run", "/nights/nights", "/tape/nothing", "/sweep/s.sweep", "/tape/shop.tape")
INJECTED = "(() => { const s = document.createElement('script'); s.textContent = 'window.injected = 1';"
INJECTED += " document.body.append(s); return window.injected === 1; })()"


def test_every_script_named_by_a_page_exists() -> None:
    """Templates contain no inline scripts or event handlers, because the policy allows only script files of this
    server.
    """
    named = set()
    for file in (files("querytape.serve") / "templates").iterdir():
        text = file.read_text(encoding="utf-8")
        if file.name.endswith(".j2"):
            assert page_template(file.name, "querytape.serve")
            named |= set(re.findall(r"static\('([^']+)'\)", text))
            assert re.findall(r"<script(?! src| type=.application/json)|\son\w+=|javascript:|\| ?safe", text) == [], (
                file.name
            )
    assert named == ASSETS.keys()


def test_changed_script_gets_a_new_address() -> None:
    urls = {static_url(name) for name in ASSETS}
    assert len(urls) == len(ASSETS)
    for url in urls:
        assert re.fullmatch(r"/static/[a-z]+\.(css|js)\?[0-9a-f]{16}", url)
    assert "--bad" in static_text("style.css")
    assert "vegaEmbed" in static_text("vega.js")


@pytest.mark.long
@pytest.mark.browser
def test_pages_work_in_a_browser(site: Served, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Charts are drawn, and the page fits a phone screen. The policy blocks an injected script."""
    for path in PAGES:
        site.made(path)
    with browser(tmp_path, request, "127.0.0.1") as page:
        for width, dark in ((1200, False), (390, True)):
            page.resize(width, 900, dark)
            for path in PAGES:
                page.open(f"{site.url}{path}")
                wide = page.run("document.documentElement.scrollWidth")
                assert wide <= width, (path, wide)
                assert page.run(INJECTED) is False, path
                assert page.run("window.alert.toString()").startswith("function alert() { [native"), path
        for path in ("/live/live.run", "/nights/nights", "/sweep/s.sweep", "/tape/shop.tape"):
            page.open(f"{site.url}{path}")
            until = time.monotonic() + 60
            while not page.run("document.querySelectorAll('.chart svg').length > 0"):
                assert time.monotonic() < until, path
                time.sleep(0.1)
