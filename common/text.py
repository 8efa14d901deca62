# SPDX-License-Identifier: Apache-2.0
"""Make text of unknown origin safe to display: mask values in error messages and replace control characters.

Standard output and standard error accept any text. Characters that are missing from their encoding are replaced.
"""

import codecs
import io
import re
from typing import TextIO

from .units import MICRO

NAME = "querytape"
STANDS_FOR = {MICRO[0]: "u"}  # replaces the micro sign if a stream cannot encode it: 85us
_QUOTED = re.compile(r"(?<!\w)'(?:[^'\\]|\\.|'')*'?|\"(?:[^\"\\]|\\.)*\"?")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


def mask(message: str | None) -> str:
    """Return a server's message with quoted parts and numbers masked, because they may be user data."""
    return _NUMBER.sub("?", _QUOTED.sub("'?'", message or ""))


def printable(text: str, most: int | None = None) -> str:
    """Return a text with spaces instead of control characters (terminal escapes, newlines). Cut it to `most`
    characters.
    """
    cut = text if most is None or len(text) <= most else text[: most - 3] + "..."
    return "".join(c if c.isprintable() else " " for c in cut)


def printable_lines(text: str) -> str:
    """Return a text without control characters, except its newlines."""
    return "\n".join(printable(line) for line in text.split("\n"))


def take_every_text(*streams: TextIO) -> None:
    """Let streams write characters that are missing from their encoding.

    Microseconds are written as `us`. All other such characters become escapes.
    """
    codecs.register_error(NAME, _stand_in)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NAME)


def _stand_in(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of the first character that cannot be encoded, and the position after it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if 0xDC80 <= ord(character) <= 0xDCFF:  # byte of a file name that cannot be decoded (surrogateescape)
        return bytes([ord(character) - 0xDC00]), error.start + 1
    stands = STANDS_FOR.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")
    return stands, error.start + 1
