# SPDX-License-Identifier: Apache-2.0
"""Measuring points in words."""

import pytest
from querytape.analyze.findings.measuring_points import describe


@pytest.mark.parametrize(
    ("point", "words"),
    [("server", "in the server"), ("wire", "on the wire"), ("proxy", "at the proxy"), ("client", "in the client")],
)
def test_each_point_has_words(point: str, words: str) -> None:
    """What tape.json names."""
    assert describe({"measuring_point": point}) == words


def test_an_unknown_point_is_elsewhere() -> None:
    """A tape of a later version, or one without the key."""
    assert describe({"measuring_point": "moon"}) == describe({}) == "elsewhere"
