# SPDX-License-Identifier: Apache-2.0
"""What errors are called, and how many speak against B."""

from querytape.analyze.findings.errors import NEW_ERRORS, WORDS, by_digest, on_tape


def test_events_are_counted_by_digest() -> None:
    """Of the kinds that are asked for; each kind has words."""
    rows = [
        {"what": what, "digest": digest, "events": 2 + n} for n, what in enumerate(WORDS) for digest in ("a", "a", "b")
    ]
    assert by_digest(rows, "new") == {"a": 4, "b": 2}
    assert by_digest(rows, "new", "changed") == {"a": 10, "b": 5}
    assert by_digest(rows, "other") == {}
    assert set(NEW_ERRORS) <= set(WORDS)


def test_what_the_tape_knows() -> None:
    """Unknown is not success."""
    assert [on_tape(errno) for errno in (None, 0, 1062)] == ["unknown", "succeeded", "1062"]
