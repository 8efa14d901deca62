# SPDX-License-Identifier: Apache-2.0
"""Texts for the kinds of different results and for their reasons."""

import pytest
from querytape.schemas.result_names import RESULT_KINDS, RESULT_REASONS


@pytest.mark.parametrize("code", [*RESULT_KINDS, *RESULT_REASONS])
def test_reasons_are_short_and_have_a_remedy(code: str) -> None:
    """The texts of a reason and of its remedy are short and have no full stop at the end."""
    found = RESULT_REASONS.get(code) or RESULT_KINDS[code]
    for text in (found.words, found.remedy):
        assert 5 < len(text) <= 120
        assert not text.endswith(".")


def test_codes_of_unproven_reasons_begin_with_perhaps() -> None:
    """The prefix keeps readers from treating the reason as proven."""
    unproven = {code for code, reason in RESULT_REASONS.items() if reason.unproven}
    assert unproven == {code for code in RESULT_REASONS if code.startswith("perhaps_")}
    assert all(RESULT_REASONS[code].words.startswith("possibly ") for code in unproven)


def test_reason_texts_are_unique() -> None:
    """A report groups different results by the text of their reason."""
    words = [reason.words for reason in RESULT_REASONS.values()] + [kind.words for kind in RESULT_KINDS.values()]
    assert len(set(words)) == len(words)
