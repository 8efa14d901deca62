# SPDX-License-Identifier: Apache-2.0
"""Check rows of analyses against their declared types, and create rows from partial data."""

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints, is_typeddict

from querytape.analyze.findings.plans import new_entry
from querytape.analyze.model import DigestEntry, ShiftRow
from querytape.analyze.rows import Answers, Details, SchemaDifferencesRow, SweepRow
from querytape.analyze.tape_rows import (
    LintFindingsRow,
    TapeAnswers,
    TapeErrorsRow,
    TapeFlagsRow,
    TapePictures,
    TapeTwoTapesRow,
    Workload,
)

LISTED = {
    f"{folder}/{name}": get_type_hints(get_args(kind)[0])
    for folder, all_of in (
        ("report", Answers),
        ("report", Details),
        ("inspect", TapeAnswers),
        ("inspect", TapePictures),
        ("workload", Workload),
    )
    for name, kind in get_type_hints(all_of).items()
}
LISTED |= {
    "inspect/errors": get_type_hints(TapeErrorsRow),
    "inspect/flags": get_type_hints(TapeFlagsRow),
    "inspect/two_tapes": get_type_hints(TapeTwoTapesRow),
    "lint/findings": get_type_hints(LintFindingsRow),
    "servers/schema_differences": get_type_hints(SchemaDifferencesRow),
    "sweep": get_type_hints(SweepRow),
}
PARTS_OF_ENTRY = {
    "a": LISTED["report/digests"],
    "b": LISTED["report/digests"],
    "pair": LISTED["report/pairs"],
    "shift": get_type_hints(ShiftRow),
}


def misfits(name: str, rows: Iterable[Mapping[str, Any]], added: Iterable[str] = ()) -> list[str]:
    """Return each column that has a wrong type, is missing, or is not declared.

    `added`: keys that the code may add to the rows later.
    """
    hints = LISTED[name]
    found = set()
    for row in rows:
        if row.keys() - set(added) != hints.keys():
            found.add(f"{name} has the columns {', '.join(row)}")
        found |= {
            f"{name}.{column} is {type(row[column]).__name__}, not {hint}"
            for column, hint in hints.items()
            if column in row and not _fits(row[column], hint)
        }
    return sorted(found)


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value matches a type: a plain type, a list, a TypedDict, or a union."""
    if isinstance(hint, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is list:
        return isinstance(value, list) and all(_fits(each, get_args(hint)[0]) for each in value)
    if is_typeddict(hint):
        hints = get_type_hints(hint)
        return value.keys() == hints.keys() and all(_fits(value[name], hints[name]) for name in hints)
    return type(value) is hint


def rows_of(name: str, *given: Mapping[str, Any]) -> list[Any]:
    """Return rows of an analysis (errors, inspect/totals) from partial rows. Missing columns are None."""
    return [{**dict.fromkeys(LISTED[name if "/" in name else f"report/{name}"]), **row} for row in given]


def answers_of(*others: Answers, **given: Iterable[Mapping[str, Any]]) -> Answers:
    """Return report answers with some rows replaced. `others` are the answers of a real report."""
    found = {name: rows_of(name, *rows) for name, rows in given.items()}
    return cast(Answers, {**dict(pair for each in others for pair in each.items()), **found})


def entry_of(*given: Mapping[str, Any]) -> Any:
    """Return a digest entry of a report from partial rows. Missing columns are None."""
    found: dict[str, Any] = dict.fromkeys(get_type_hints(DigestEntry))
    for each in given:
        found |= each
    for name, columns in PARTS_OF_ENTRY.items():
        if found[name] is not None:
            found[name] = {**dict.fromkeys(columns), **found[name]}
    return found


def plan_of(*given: Mapping[str, Any]) -> Any:
    """Return the plans of a digest from partial rows."""
    found: dict[str, Any] = {**new_entry()}
    for each in given:
        found |= each
    return found
