# SPDX-License-Identifier: Apache-2.0
"""Reasons in words."""

from querytape.analyze.findings.reasons import reason_words


def test_words() -> None:
    """Dangers name their option; none is nothing; what is not known stays as it is."""
    assert reason_words("danger:kill").endswith("--allow-statement kill was not given")
    assert reason_words(None) == ""
    assert reason_words("of a later release") == "of a later release"
