# SPDX-License-Identifier: Apache-2.0
"""The table of sources says of each kind what the kind says of itself."""

import pytest
from querytape.capture import SOURCES


@pytest.mark.parametrize("name", list(SOURCES))
def test_a_line_is_equal_to_its_kind(name: str) -> None:
    """The name and the short help of a line are those of the kind."""
    assert SOURCES[name].name == name
    assert SOURCES.places[name].short_help == SOURCES[name].help.partition("\n")[0]


def test_an_unknown_name() -> None:
    """It is a KeyError, as in every mapping."""
    with pytest.raises(KeyError):
        SOURCES["tarot"]
    assert "tarot" not in SOURCES
