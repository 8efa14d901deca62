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
    """Return JSON in which a row, an object or a list inside a list that has none itself, is a line; so is a text of a list."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    texts = isinstance(value, list) and any(isinstance(one, str) for one in inner)
    if not any(isinstance(one, dict | list) for one in inner) and (is_row or not texts):
        return json.dumps(value, sort_keys=sort, ensure_ascii=False)
    deeper = indent + " "
    if isinstance(value, dict):
        items = sorted(value.items()) if sort else value.items()
        lines = [f"{deeper}{json.dumps(name)}: {as_lines(one, sort, deeper)}" for name, one in items]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + as_lines(one, sort, deeper, True) for one in value) + f"\n{indent}]"


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
