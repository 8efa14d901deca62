# SPDX-License-Identifier: Apache-2.0
"""Golden answers: compare results with a reviewed file. QT_GOLDEN=write rewrites the file.

A golden file is meant for human readers: each row is one line with its column names.
"""

import json
import os
from pathlib import Path
from typing import Any

ELSEWHERE = ("digest", "class", "actions", "normalized")  # columns of the statement parser, which has its own tests


def keep_if_asked(path: Path, answers: dict[str, Any], sort: bool) -> None:
    """Write the file if QT_GOLDEN=write is set."""
    if os.environ.get("QT_GOLDEN") == "write":
        path.write_text(as_lines(answers, sort) + "\n", encoding="utf-8")


def as_lines(value: Any, sort: bool, indent: str = "", is_row: bool = False) -> str:
    """Return JSON with one line for each row, each string of a list, and each flat object."""
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
    """Return whether a value without nested lists or objects fits on one line. A list of strings fits only as a row."""
    inner = _parts(value)
    is_texts = isinstance(value, list) and any(isinstance(one, str) for one in inner)
    return not any(isinstance(one, dict | list) for one in inner) and (is_row or not is_texts)


def each_point(answers: dict[str, Any]) -> dict[str, Any]:
    """Return answers with one row for each point, instead of rows with a list of points."""

    def apart(row: Any) -> list[Any]:
        if not isinstance(row, dict) or "points" not in row:
            return [row]
        return [{**row, "points": point} for point in row["points"]]

    return {
        name: [one for row in rows for one in apart(row)] if isinstance(rows, list) else rows
        for name, rows in answers.items()
    }


def check_one(path: Path, key: str, got: Any) -> None:
    """Compare one answer with its entry in a file of many answers."""
    wanted = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    got = json.loads(json.dumps(got))
    keep_if_asked(path, {**wanted, key: got}, sort=True)
    assert got == json.loads(path.read_text(encoding="utf-8"))[key]


def check_all(path: Path, got: dict[str, Any]) -> None:
    """Compare all answers with a file. The names and the answers must be equal."""
    keep_if_asked(path, got, sort=False)
    wanted = json.loads(path.read_text(encoding="utf-8"))
    assert set(got) == set(wanted)
    for name, rows in wanted.items():
        assert got[name] == rows, name


def plain_row(given: dict[str, Any]) -> dict[str, Any]:
    """Return a row in JSON form, without unknown columns and without the columns of the statement parser."""
    return {
        name: value.decode("latin1") if isinstance(value, bytes) else value
        for name, value in given.items()
        if value is not None and name not in ELSEWHERE
    }
