# SPDX-License-Identifier: Apache-2.0
"""Say whether a statement compares, sorts or groups by a column, or only reads and writes its values."""

import re
from dataclasses import dataclass

_WORDS = re.compile(r"`(?:[^`]|``)*`|[\w$]+|[^\s\w]")
# Words that begin a part of a statement; behind the others of it stands the same part.
_PARTS = frozenset({"select", "from", "where", "on", "using", "having", "set", "values", "into", "limit", "by"})
_BEFORE_ITEM = frozenset({"select", "all", "sql_calc_found_rows", "sql_no_cache", "sql_cache", "straight_join", ","})
# ORDER BY 2: by an item of what is selected.
_BY_PLACE = re.compile(r"\b(?:order|group) by (?:[\w.`]+(?: asc| desc)?\s*,\s*)*\?", re.I)
_AFTER_ITEM = frozenset({",", "from", "into", ")", ";"})


@dataclass
class _Part:
    """In which part of a statement a word stands; "" in the brackets of a function or list."""

    part: str = ""
    distinct: bool = False


def compares(text: str, column: str) -> bool:
    """Whether the order or equality of a column's values matters to a normalised statement.

    It does not where the column is an item of its own of what is selected, or is set to a value; then its collation
    can change neither the rows nor their time. In any other place it may.
    """
    words = [word.strip("`") if len(word) > 1 else word for word in _WORDS.findall(text.lower())]
    by_item = re.search(r"\bunion\b(?!\s+all\b)", text, re.I) or _BY_PLACE.search(text)
    stack, name = [_Part()], column.lower().strip("`")
    for place, word in enumerate(words):
        here = stack[-1]
        if word == "(":
            stack.append(_Part())
        elif word == ")":
            if len(stack) > 1:
                stack.pop()
        elif word == "distinct" and here.part == "select":
            here.distinct = True
        elif word == name and not (_after(words, place) in ("(", ".") or _is_alias(words, place)):
            if here.part == "select" and not here.distinct and not by_item and _is_item(words, place):
                continue
            if here.part == "set" and _after(words, place) == "=" and _before(words, place) in ("set", ","):
                continue
            return True
        elif word in _PARTS:
            here.part, here.distinct = word, False
    return False


def _start(words: list[str], place: int) -> int:
    """Return where a column's name begins, with its table and schema."""
    while place >= 2 and words[place - 1] == ".":
        place -= 2
    return place


def _before(words: list[str], place: int) -> str:
    start = _start(words, place)
    return words[start - 1] if start else ""


def _after(words: list[str], place: int) -> str:
    return words[place + 1] if place + 1 < len(words) else ""


def _is_alias(words: list[str], place: int) -> bool:
    """Whether it is what something else is called: behind AS, or behind FROM, JOIN and the like a table's name."""
    return place > 0 and words[place - 1] in ("as", "from", "join", "update", "into", "table")


def _is_item(words: list[str], place: int) -> bool:
    """Whether a column stands alone among what is selected, with or without a name of its own."""
    if _before(words, place) not in _BEFORE_ITEM:
        return False
    end = place + 1
    if _after(words, place) == "as":
        end += 2
    elif _after(words, place).isidentifier() and _after(words, place) not in _AFTER_ITEM:
        end += 1
    return end >= len(words) or words[end] in _AFTER_ITEM
