# SPDX-License-Identifier: Apache-2.0
"""Let standard output and error take every text: what their encoding lacks has something that stands for it."""

import codecs
import io
from typing import TextIO

from .units import MICRO

NAME = "querytape"
STANDS_FOR = {MICRO[0]: "u"}  # 85us where a terminal has no unit sign


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
    if 0xDC80 <= ord(character) <= 0xDCFF:  # a byte of a file's name that is no text, as surrogateescape has it
        return bytes([ord(character) - 0xDC00]), error.start + 1
    stands = STANDS_FOR.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")
    return stands, error.start + 1
