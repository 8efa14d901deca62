# SPDX-License-Identifier: Apache-2.0
"""Make texts of unknown origin fit to be shown: no values in error messages, no control characters anywhere."""

import re

_QUOTED = re.compile(r"(?<!\w)'(?:[^'\\]|\\.|'')*'?|\"(?:[^\"\\]|\\.)*\"?")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


def mask(message: str | None) -> str:
    """Return a server's message with quoted parts and numbers replaced: they may be somebody's data."""
    return _NUMBER.sub("?", _QUOTED.sub("'?'", message or ""))


def printable(text: str, most: int | None = None) -> str:
    """Return a text with blanks for control characters (terminal escapes, newlines), cut to `most` characters."""
    cut = text if most is None or len(text) <= most else text[: most - 3] + "..."
    return "".join(c if c.isprintable() else " " for c in cut)


def printable_lines(text: str) -> str:
    """Return a text of several lines without control characters other than the newlines."""
    return "\n".join(printable(line) for line in text.split("\n"))
