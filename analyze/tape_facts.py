# SPDX-License-Identifier: Apache-2.0
"""Collect facts about a tape for a bug report: only numbers and querytape's own words.

The facts contain no text of an application.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..common.version import __version__
from ..schemas import CLASSES, COMMANDS, FLAGS, columns, open_folder
from ..schemas.json_shapes import TapeInfo
from .database import FACTS, Row, open_analysis
from .tape_rows import TapeErrorsRow, TapeFlagsRow

QUERIES = ("totals", "sizes", "arrivals", "commands", "classes", *FACTS)
# Form of querytape's own words: sources, kinds of problems and of warnings. Longer words are replaced.
_WORD = re.compile(r"[a-z][a-z0-9_]{1,30}")
_VERSION = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,3}")
FAMILIES = ("MariaDB", "Percona", "Aurora")
OTHER = "other"


def tape_facts(path: Path, memory: str = "1500MB") -> dict[str, Any]:
    """Return counts, sizes, times and kinds of a tape as JSON values. Raises FolderError if the path is not a tape.

    The result contains no statement, name, account, address, path or value from the tape. Texts are kept only if they
    have the form of querytape's own words. Only the numbers and the family of a server's version are kept.
    """
    tape = open_folder("tape", path)
    database = open_analysis(memory)
    try:
        tape.attach(database.con, "tape")
        database.place(tape.tape_info["counts"]["events"])
        found = {name: database.query(f"inspect/{name}") for name in QUERIES}
        filled = ", ".join(f'count("{name}") AS "{name}"' for name, _ in columns("tape", "events"))
        reply = database.con.execute(f"SELECT {filled} FROM tape_events")
        values = dict(zip([column[0] for column in reply.description], reply.fetchall()[0], strict=True))
    finally:
        database.close()
    return {"querytape": __version__, **_of_json(tape.tape_info), "values": values, **_of_rows(found)}


def _of_json(info: TapeInfo) -> dict[str, Any]:
    """Return the content of tape.json without its texts."""
    return {
        "format_version": info["format_version"],
        "written_by": _version(info.get("tool_version")),
        "source": _word(info.get("source")),
        "measuring_point": _word(info.get("measuring_point")),
        "server": _version(info.get("server_version")),
        "files": len(info["files"]),
        "file_bytes": sum(each.get("bytes") or 0 for each in info["files"]),
        "parts": len(info["parts"]),
        "part_bytes": sum(each["bytes"] for each in info["parts"]),
        "tapes_of_a_set": len(info.get("tapes", ())),
        "counts": _numbers(info["counts"]),
        "input": _numbers(info.get("input") or {}),
        "not_understood_bytes": info.get("not_understood_bytes"),
        "largest_event": info.get("largest_event"),
        "precision_ns": info.get("precision_ns"),
        "problems": {_word(kind): number for kind, number in (info.get("problems") or {}).items()},
        "warnings": sorted(_word(each.get("kind")) for each in info.get("warnings") or ()),
    }


def _of_rows(found: dict[str, list[Row]]) -> dict[str, Any]:
    """Return the rows of the analyses. Unknown words in their keys are replaced."""
    known = {"commands": ("command", COMMANDS), "classes": ("class", CLASSES)}
    facts: dict[str, Any] = {}
    for name in ("totals", "sizes", "arrivals"):
        facts[name] = _numbers(found[name][0])
    for name, (key, words) in known.items():
        facts[name] = {
            row[key] if row[key] in words else OTHER: {k: v for k, v in row.items() if k != key} for row in found[name]
        }
    bits = {1 << row["bit"]: row["events"] for row in cast(list[TapeFlagsRow], found["flags"])}
    facts["flags"] = {name: bits[bit] for name, bit in FLAGS.items() if bit in bits}
    facts["errors"] = {str(row["errno"]): row["events"] for row in cast(list[TapeErrorsRow], found["errors"])}
    return facts


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries whose values are numbers or lists of numbers."""
    kept = {}
    for key, value in row.items():
        listed = value if isinstance(value, list) else [value]
        if all(each is None or isinstance(each, int | float) for each in listed):
            kept[_word(key)] = value
    return kept


def _word(text: Any) -> str:
    """Return a text that has the form of querytape's own words, or else `other`."""
    return text if isinstance(text, str) and _WORD.fullmatch(text) else OTHER


def _version(text: Any) -> str | None:
    """Return the numbers of a version and the server's family, or None if the text has no version."""
    if not isinstance(text, str) or (numbers := _VERSION.search(text)) is None:
        return None
    return " ".join([numbers[0], *(family for family in FAMILIES if family.lower() in text.lower())])
