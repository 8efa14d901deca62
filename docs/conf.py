# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the website of docs/ (make site).

GitHub shows the same files, and links work on both sites.
"""

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
# GitHub shows README.md as the index, and index.md includes README.md. Pages about the other files of the checkout are
# in project/.
exclude_patterns = ["README.md"]
myst_heading_anchors = 6  # make links to headings work as on GitHub: (capture.md#which-source)
highlight_language = "none"  # blocks mix commands with their output
nitpicky = True

html_theme = "furo"
html_title = "querytape"
html_favicon = "site/tape.svg"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_use_index = html_copy_source = html_show_sourcelink = False
html_theme_options = {"light_logo": "tape.svg", "dark_logo": "tape.svg"}

# `sphinx-build -b linkcheck` connects to external servers. This check is not a test, because tests use no network
# except package registries. Example addresses do not exist.
linkcheck_ignore = [r"https?://(localhost|127\.0\.0\.1|.*\.example\.(com|org))"]

# Files of the checkout outside docs/, and their pages on the website.
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
    """Return a page whose links to files of the checkout point to the website's pages.

    Links are relative to `folder`.
    """

    def led(link: re.Match[str]) -> str:
        place = (folder / link[1]).resolve()
        found = [page for name, page in ELSEWHERE.items() if place == CHECKOUT / name]
        return f"]({os.path.relpath(DOCS / found[0], folder)}" if found else link[0]

    # File names as link texts help readers of the files. On the website, an empty text gives the title of the linked
    # page or section.
    return re.sub(r"\[[\w-]+\.md\](?=\([\w./-]+\.md)", "[]", re.sub(r"\]\(([\w./-]+)", led, text))


def read_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Rewrite the links of a page for the site."""
    source[0] = lead_inside(source[0], (DOCS / docname).parent)


def read_included(app: Sphinx, path: Path, docname: str, content: list[str]) -> None:
    """Rewrite the links of an included page. They are relative to the folder of the included page."""
    content[0] = lead_inside(content[0], (DOCS / docname).parent.joinpath(path).resolve().parent)


def setup(app: Sphinx) -> None:
    """Register the handlers of this file with Sphinx."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
