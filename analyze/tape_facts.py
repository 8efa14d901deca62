# SPDX-License-Identifier: Apache-2.0
"""What a report of a fault needs to know of a tape: numbers and words of our own, nothing that an application wrote."""

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
# A word of ours: of a source, a kind of problem or a warning. Longer ones are not.
_WORD = re.compile(r"[a-z][a-z0-9_]{1,30}")
_VERSION = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,3}")
FAMILIES = ("MariaDB", "Percona", "Aurora")
OTHER = "other"


def tape_facts(path: Path, memory: str = "1500MB") -> dict[str, Any]:
    """Return counts, sizes, times and kinds of a tape as JSON has them. Raises FolderError where it is none.

    No statement, name, account, address, path or value of the tape is in it: a text is kept only where it is one of
    querytape's own words, and of a server's version its numbers.
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
    """Return what tape.json says, without its texts."""
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
    """Return the analyses' rows with known words for keys."""
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
    """Return the keys whose values are numbers, or lists of such."""
    kept = {}
    for key, value in row.items():
        listed = value if isinstance(value, list) else [value]
        if all(each is None or isinstance(each, int | float) for each in listed):
            kept[_word(key)] = value
    return kept


def _word(text: Any) -> str:
    """Return a word as querytape writes such, `other` for anything else."""
    return text if isinstance(text, str) and _WORD.fullmatch(text) else OTHER


def _version(text: Any) -> str | None:
    """Return a version's numbers and the server's family; None where it has none."""
    if not isinstance(text, str) or (numbers := _VERSION.search(text)) is None:
        return None
    return " ".join([numbers[0], *(family for family in FAMILIES if family.lower() in text.lower())])
