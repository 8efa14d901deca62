# SPDX-License-Identifier: Apache-2.0
"""Texts for the kinds and reasons of different results."""

import pytest
from querytape.schemas.result_names import RESULT_KINDS, RESULT_REASONS


@pytest.mark.parametrize("code", [*RESULT_KINDS, *RESULT_REASONS])
def test_reasons_are_short_and_have_a_remedy(code: str) -> None:
    """A reason's text has only a few words and no full stop. It can be joined with its remedy."""
    found = RESULT_REASONS.get(code) or RESULT_KINDS[code]
    for text in (found.words, found.remedy):
        assert 5 < len(text) <= 120
        assert not text.endswith(".")


def test_unproven_reasons_begin_with_perhaps() -> None:
    """ "Perhaps" prevents readers from taking the reason for a proven fact."""
    unproven = {code for code, reason in RESULT_REASONS.items() if reason.unproven}
    assert unproven == {code for code in RESULT_REASONS if code.startswith("perhaps_")}
    assert all(RESULT_REASONS[code].words.startswith("possibly ") for code in unproven)


def test_reason_texts_are_unique() -> None:
    """A report groups results by their reason text."""
    words = [reason.words for reason in RESULT_REASONS.values()] + [kind.words for kind in RESULT_KINDS.values()]
    assert len(set(words)) == len(words)
