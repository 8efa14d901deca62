# SPDX-License-Identifier: Apache-2.0
"""The words for how and why results differ."""

import pytest
from querytape.schemas.result_names import RESULT_KINDS, RESULT_REASONS


@pytest.mark.parametrize("code", [*RESULT_KINDS, *RESULT_REASONS])
def test_words_and_remedies_can_be_joined(code: str) -> None:
    """Each is in few words, without a full stop, and says what to do."""
    found = RESULT_REASONS.get(code) or RESULT_KINDS[code]
    for text in (found.words, found.remedy):
        assert 5 < len(text) <= 120
        assert not text.endswith(".")


def test_what_is_unproven_begins_with_perhaps() -> None:
    """So that nobody reads it as an answer."""
    unproven = {code for code, reason in RESULT_REASONS.items() if reason.unproven}
    assert unproven == {code for code in RESULT_REASONS if code.startswith("perhaps_")}
    assert all(RESULT_REASONS[code].words.startswith("possibly ") for code in unproven)


def test_no_words_stand_twice() -> None:
    """A report groups by them."""
    words = [reason.words for reason in RESULT_REASONS.values()] + [kind.words for kind in RESULT_KINDS.values()]
    assert len(set(words)) == len(words)
