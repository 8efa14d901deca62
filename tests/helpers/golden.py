# SPDX-License-Identifier: Apache-2.0
"""Golden answers: what was read or computed, compared with a file of what was looked at; QT_GOLDEN=write writes it again.

A golden file is for reading: a row is a line, with the names of its columns.
"""

import json
import os
from pathlib import Path
from typing import Any

ELSEWHERE = ("digest", "class", "actions", "normalized")  # of the statement's own parser, which has its tests


def keep_if_asked(path: Path, answers: dict[str, Any], sort: bool) -> None:
    """Write the file where QT_GOLDEN=write asks for it."""
    if os.environ.get("QT_GOLDEN") == "write":
        path.write_text(as_lines(answers, sort) + "\n", encoding="utf-8")


def as_lines(value: Any, sort: bool, indent: str = "", is_row: bool = False) -> str:
    """Return JSON with a line for each row, each text of a list, and each object that has values and flat lists or objects."""
    inner = _parts(value)
    is_record = isinstance(value, dict) and any(not isinstance(one, dict | list) for one in inner)
    if _is_line(value, is_row) or (is_record and all(_is_line(one) for one in inner)):
        return json.dumps(value, sort_keys=sort, ensure_ascii=False)
    deeper = indent + " "
    if isinstance(value, dict):
        items = sorted(value.items()) if sort else value.items()
        lines = [f"{deeper}{json.dumps(name)}: {as_lines(one, sort, deeper)}" for name, one in items]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + as_lines(one, sort, deeper, True) for one in value) + f"\n{indent}]"


def _parts(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _is_line(value: Any, is_row: bool = False) -> bool:
    """Whether a value has no lists or objects inside it; a list of texts only where it is a row."""
    inner = _parts(value)
    is_texts = isinstance(value, list) and any(isinstance(one, str) for one in inner)
    return not any(isinstance(one, dict | list) for one in inner) and (is_row or not is_texts)


def check_one(path: Path, key: str, got: Any) -> None:
    """Compare one answer of a file that has many."""
    wanted = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    got = json.loads(json.dumps(got))
    keep_if_asked(path, {**wanted, key: got}, sort=True)
    assert got == json.loads(path.read_text(encoding="utf-8"))[key]


def check_all(path: Path, got: dict[str, Any]) -> None:
    """Compare all answers of a file: the same names, and under each the same."""
    keep_if_asked(path, got, sort=False)
    wanted = json.loads(path.read_text(encoding="utf-8"))
    assert set(got) == set(wanted)
    for name, rows in wanted.items():
        assert got[name] == rows, name


def plain_row(given: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON has it: the columns that are known, without those that the statement's parser gives."""
    return {
        name: value.decode("latin1") if isinstance(value, bytes) else value
        for name, value in given.items()
        if value is not None and name not in ELSEWHERE
    }
