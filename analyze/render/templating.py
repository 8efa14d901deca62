# SPDX-License-Identifier: Apache-2.0
"""Load the HTML templates: texts from outside are escaped and made printable, a missing value is an error."""

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ...common.text import printable
from ...common.units import count, duration, percent, ratio


def page_template(name: str) -> Template:
    """Return a template of the folder `templates`, with the filters that pages use."""
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=duration, count=count, ratio=ratio, printable=printable)
    environment.globals.update(percent=percent)
    return environment.get_template(name)


def asset(name: str) -> Markup:
    """Return a script or style sheet of the folder `templates`, to stand in a page as it is."""
    return Markup((files(__package__) / "templates" / name).read_text(encoding="utf-8"))


def script_json(text: str) -> Markup:
    """Return a JSON text that can stand in a script element."""
    escaped = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(escaped)
