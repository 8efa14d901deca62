# SPDX-License-Identifier: Apache-2.0
"""Texts from outside, made fit to be shown: no values in error messages, no control characters anywhere."""

import re

_QUOTED = re.compile(r"(?<!\w)'(?:[^'\\]|\\.|'')*'?|\"(?:[^\"\\]|\\.)*\"?")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


def mask(message: str | None) -> str:
    """Return a server's message with quoted parts and numbers replaced: they may be somebody's data."""
    return _NUMBER.sub("?", _QUOTED.sub("'?'", message or ""))


def printable(text: str, most: int | None = None) -> str:
    """Return a text without control characters (terminal escapes), cut to `most` characters."""
    cut = text if most is None or len(text) <= most else text[: most - 3] + "..."
    return "".join(c if c.isprintable() else " " for c in cut)
