# SPDX-License-Identifier: Apache-2.0
"""Templates: texts from outside are escaped, and a missing variable is an error."""

import json

from querytape.analyze.render.templating import asset, page_template, script_json


def test_json_in_a_script_element_contains_no_tags() -> None:
    text = script_json(json.dumps({"a": "</script><!--\u2028"}, ensure_ascii=False))
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028"}


def test_scripts_styles_and_both_pages_can_be_loaded() -> None:
    assert "charts" in asset("charts.js")
    assert ":root" in asset("report.css")
    assert {page_template(name).name for name in ("report.html.j2", "sweep.html.j2")} == {
        "report.html.j2",
        "sweep.html.j2",
    }


def test_texts_are_escaped() -> None:
    """Autoescape is enabled in the templates. The filters are those of common/units.py."""
    template = page_template("sweep.html.j2").environment.from_string("{{ x | printable }} {{ 1500000 | duration }}")
    assert template.render(x="<b>\x1b") == "&lt;b&gt;  1.50ms"
