# SPDX-License-Identifier: Apache-2.0
"""Load the HTML templates. Texts from outside are escaped and made printable. A missing value is an error."""

import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ...common.text import printable
from ...common.units import count, duration, percent, ratio

_SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)


@cache
def page_template(name: str, package: str = __package__) -> Template:
    """Return a template from a package's folder `templates`, with the filters that pages use."""
    return _environment(package).get_template(name)


def _environment(package: str) -> Environment:
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=duration, count=count, ratio=ratio, printable=printable)
    environment.globals.update(percent=percent)
    return environment


def asset(name: str, package: str = __package__) -> Markup:
    """Return a script or style sheet from the folder `templates`, ready for insertion into a page."""
    return Markup((files(package) / "templates" / name).read_text(encoding="utf-8"))


def template_scripts(name: str, **assets: Markup) -> list[str]:
    """Return the scripts of a template as they appear in its page. No script depends on a page's data."""
    text = (files(__package__) / "templates" / name).read_text(encoding="utf-8")
    environment = _environment(__package__)
    return [environment.from_string(f"{script}.").render(assets)[:-1] for script in _SCRIPT.findall(text)]


def script_json(text: str) -> Markup:
    """Return a JSON text that is safe inside a script element."""
    escaped = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(escaped)
