# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx: the pages of docs/ as a site (make site). GitHub shows the same files: links are as there."""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
CHECKOUT = DOCS.parent

project = "querytape"
author = "the querytape authors"
copyright = author
version = release = re.findall(r'__version__ = "(.+)"', (CHECKOUT / "common" / "version.py").read_text("utf-8"))[0]

extensions = ["myst_parser"]
root_doc = "index"
# README.md is the index that GitHub shows; index.md includes it. What other people read of the checkout is in project/.
exclude_patterns = ["README.md"]
myst_heading_anchors = 6  # links to headings as on GitHub: (capture.md#which-source)
highlight_language = "none"  # blocks mix commands and what they print
nitpicky = True

html_theme = "furo"
html_title = "querytape"
html_favicon = "site/tape.svg"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_use_index = html_copy_source = html_show_sourcelink = False
html_theme_options = {"light_logo": "tape.svg", "dark_logo": "tape.svg"}

# `sphinx-build -b linkcheck` asks other people's servers. It is no test: tests need no network beyond package
# registries. Addresses of examples are nobody's.
linkcheck_ignore = [r"https?://(localhost|127\.0\.0\.1|.*\.example\.(com|org))"]

# Pages elsewhere in the checkout, and where the site has them.
ELSEWHERE = {
    "CHANGELOG.md": "project/changes.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "CONTRIBUTING.md": "project/contribute.md",
    "SECURITY.md": "project/security.md",
    "LICENSE": "project/licence.md",
    "schemas/params.md": "project/params.md",
    "docs/README.md": "index.md",
}


def lead_inside(text: str, folder: Path) -> str:
    """Return a page with its links to pages elsewhere led to the site's own; `folder` is where its links begin."""

    def led(link: re.Match[str]) -> str:
        place = (folder / link[1]).resolve()
        found = [page for name, page in ELSEWHERE.items() if place == CHECKOUT / name]
        return f"]({os.path.relpath(DOCS / found[0], folder)}" if found else link[0]

    # Files' names as a link's text are for those who read the files: the site shows the page's or the part's title.
    return re.sub(r"\[[\w-]+\.md\](?=\([\w./-]+\.md)", "[]", re.sub(r"\]\(([\w./-]+)", led, text))


def read_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Lead a page's links inside the site."""
    source[0] = lead_inside(source[0], (DOCS / docname).parent)


def read_included(app: Sphinx, path: Path, docname: str, content: list[str]) -> None:
    """Lead the links of a page inside that another one includes: they begin where it is itself."""
    content[0] = lead_inside(content[0], (DOCS / docname).parent.joinpath(path).resolve().parent)


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
