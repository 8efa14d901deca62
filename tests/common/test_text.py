# SPDX-License-Identifier: Apache-2.0
"""Text of unknown origin. Control characters are removed, and values in error messages are masked."""

from querytape.common.text import mask, printable, printable_lines


def test_control_characters_become_blanks() -> None:
    """A text that is too long is cut, with a visible mark."""
    assert printable("a\x1b[31mb\nc") == "a [31mb c"
    assert printable("äö'\N{SNOWMAN}") == "äö'\N{SNOWMAN}"
    assert printable("0123456789", 10) == "0123456789"
    assert printable("0123456789a", 10) == "0123456..."


def test_newlines_can_be_kept() -> None:
    """Other control characters are still replaced."""
    assert printable_lines("a\r\n\tb\n") == "a \n b\n"


def test_values_in_error_messages_are_masked() -> None:
    """Quoted parts and numbers of a server's error message may be private data."""
    assert mask("Duplicate entry 'it''s bob' for key 'mail'") == "Duplicate entry '?' for key '?'"
    assert mask("Table 'a.b' doesn't exist") == "Table '?' doesn't exist"
    assert mask("Out of range value 12345 at row 7") == "Out of range value ? at row ?"
    assert mask("near 'SELECT secret") == "near '?'"
    assert mask(None) == ""
