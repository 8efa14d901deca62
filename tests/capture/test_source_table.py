# SPDX-License-Identifier: Apache-2.0
"""The table of sources has the same texts as the sources themselves."""

import pytest
from querytape.capture import SOURCES


@pytest.mark.parametrize("name", list(SOURCES))
def test_source_table_matches_each_source(name: str) -> None:
    """The test compares the name and the short help."""
    assert SOURCES[name].name == name
    assert SOURCES.places[name].short_help == SOURCES[name].help.partition("\n")[0]


def test_unknown_source_name_raises_key_error() -> None:
    with pytest.raises(KeyError):
        SOURCES["tarot"]
    assert "tarot" not in SOURCES
