# SPDX-License-Identifier: Apache-2.0
"""The page of a plans folder."""

from querytape.analyze.render.plans_page import plans_page

from tests.analyze.render.test_plans_text import report


def test_hostile_texts_are_escaped_and_nothing_is_loaded() -> None:
    """Every text is text; there is no script, and the policy forbids one."""
    page = plans_page(report(), samples=True)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "secret" in page
    assert "secret" not in plans_page(report())
