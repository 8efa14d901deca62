# SPDX-License-Identifier: Apache-2.0
"""Texts of unknown origin: no control characters, no values of error messages."""

from querytape.common.text import mask, printable, printable_lines


def test_printable() -> None:
    """Control characters become blanks; what is too long is cut, and shows that it was."""
    assert printable("a\x1b[31mb\nc") == "a [31mb c"
    assert printable("äö'\N{SNOWMAN}") == "äö'\N{SNOWMAN}"
    assert printable("0123456789", 10) == "0123456789"
    assert printable("0123456789a", 10) == "0123456..."


def test_printable_lines() -> None:
    """Newlines stay, other control characters do not."""
    assert printable_lines("a\r\n\tb\n") == "a \n b\n"


def test_mask() -> None:
    """Quoted parts and numbers of a server's message are replaced: they may be somebody's data."""
    assert mask("Duplicate entry 'it''s bob' for key 'mail'") == "Duplicate entry '?' for key '?'"
    assert mask("Table 'a.b' doesn't exist") == "Table '?' doesn't exist"
    assert mask("Out of range value 12345 at row 7") == "Out of range value ? at row ?"
    assert mask("near 'SELECT secret") == "near '?'"
    assert mask(None) == ""
