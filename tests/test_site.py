# SPDX-License-Identifier: Apache-2.0
"""Tests of the documentation site. It is built without a warning, and all links inside the site work."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parent.parent
DOCS = CHECKOUT / "docs"
ELSEWHERE = re.compile(r"[a-z]+:|//")


class Places(HTMLParser):
    """Collects the ids of a page, and the targets of its links, pictures and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.leads: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the id and the link targets of a tag."""
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.leads.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make site` does. A warning of the build is an error."""
    out = tmp_path_factory.mktemp("site")
    (make,) = re.findall(
        r"^site:.*\n\t@\$\(bin\)/python (.*) docs build/site$", (CHECKOUT / "Makefile").read_text(), re.M
    )
    command = [sys.executable, *make.split(), "-d", str(out / "doctrees"), "docs", str(out / "html")]
    built = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    return out / "html"


def test_links_inside_the_site_work(site: Path) -> None:
    """The checked links include pictures, scripts and anchors."""
    pages = {page: Places() for page in site.rglob("*.html")}
    for page, places in pages.items():
        places.feed(page.read_text(encoding="utf-8"))
    broken, followed = [], 0
    for page, places in pages.items():
        for lead in places.leads:
            if ELSEWHERE.match(lead):
                continue
            name, _, part = lead.partition("#")
            target = (page.parent / unquote(name).partition("?")[0]).resolve() if name else page
            followed += 1
            if not target.is_file() or (part and target in pages and unquote(part) not in pages[target].ids):
                broken.append(f"{page.relative_to(site)}: {lead}")
    assert broken == []
    assert followed > 500


def test_every_page_is_on_the_site(site: Path) -> None:
    """The first page of the site contains docs/README.md, which GitHub shows as the index of the folder."""
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")} - {Path("README.html")}
    assert {page for page in pages if not (site / page).is_file()} == set()
    assert "All my verdicts are inconclusive" in (site / "index.html").read_text(encoding="utf-8")


def test_links_do_not_download_markdown_files(site: Path) -> None:
    assert [path.name for path in (site / "_downloads").rglob("*.md")] == []


def test_site_loads_nothing_from_other_sites(site: Path) -> None:
    """The test checks scripts, fonts, styles and pictures."""
    loads = re.compile(r'<(?:script|img|source|iframe)[^>]* src="(?:https?:)?//|<link[^>]* href="(?:https?:)?//')
    assert [page.name for page in site.rglob("*.html") if loads.search(page.read_text(encoding="utf-8"))] == []
