# SPDX-License-Identifier: Apache-2.0
"""Make texts of unknown origin fit to be shown: no values in error messages, no control characters anywhere.

Standard output and error take every text: what their encoding lacks has something that stands for it.
"""

import codecs
import io
import re
from typing import TextIO

from .units import MICRO

NAME = "querytape"
STANDS_FOR = {MICRO[0]: "u"}  # 85us where a terminal has no unit sign
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


def take_every_text(*streams: TextIO) -> None:
    """Make streams write `us` for microseconds, and escapes for the rest, where the encoding lacks them."""
    codecs.register_error(NAME, _stand_in)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NAME)


def _stand_in(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what stands for the first character that can't be written, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if 0xDC80 <= ord(character) <= 0xDCFF:  # an undecodable byte of a file name (surrogateescape)
        return bytes([ord(character) - 0xDC00]), error.start + 1
    stands = STANDS_FOR.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")
    return stands, error.start + 1
