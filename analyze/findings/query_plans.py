# SPDX-License-Identifier: Apache-2.0
"""Join the query plans of both sides: those that runs kept of their costliest digests, and those of a plans folder."""

from typing import Any

import duckdb

from ...schemas import Folder
from ..database import AnalysisDatabase, Row
from .plan_classes import CLASSES, FAILS, UNKNOWN, Change, merged, plan_changes, worst

NOT_ASKED = "not asked: "
# What an error means here, besides its number.
MEANINGS = {
    "1792": " (it calls what writes, and the session is read-only)",
    "2013": " (it took too long and was killed, or the connection was lost)",
}


def new_entry() -> Row:
    """Return a digest of which nothing is known yet."""
    return {"a": {}, "b": {}, "server_digest": {}, "changes": [], "class": None}


def plans_of(database: AnalysisDatabase, sides: dict[str, list[Folder]]) -> dict[str, Row]:
    """Return {digest: {a: {json, tree, error}, b, server_digest, changes, class}} of the first runs that have any."""
    plans: dict[str, Row] = {}
    for letter, rounds in sides.items():
        run = next((run for run in rounds if (run.path / "query_plans.parquet").exists()), None)
        if run is None:
            continue
        for digest, kind, text, error in database.con.execute(f"FROM {run.source('query_plans')}").fetchall():
            _add(plans.setdefault(digest, new_entry()), letter, kind, text, error)
    for entry in plans.values():
        _judge(entry)
    return plans


def plans_of_folder(con: duckdb.DuckDBPyConnection, folder: Folder) -> dict[str, Row]:
    """Return the same of a plans folder: of several samples, the plans of the one that differs worst.

    `changes` are those of all samples, each once, with the least and most rows; `samples`: how many were asked,
    `differing`: of how many they differ.
    """
    plans: dict[str, Row] = {}
    samples: dict[int, Row] = {}
    last = None
    rows = con.execute(
        f"SELECT side, digest, sample, kind, text, error FROM {folder.source('plans')}"
        " ORDER BY digest, sample, side, kind"
    )
    while some := rows.fetchmany(1_000):
        for side, digest, sample, kind, text, error in some:
            if digest != last and last is not None:
                plans[last], samples = _joined(list(samples.values())), {}
            last = digest
            if side in ("a", "b"):
                _add(samples.setdefault(sample, new_entry()), side, kind, text, error)
    if last is not None:
        plans[last] = _joined(list(samples.values()))
    return plans


def _add(entry: Row, side: str, kind: str, text: str | None, error: str | None) -> None:
    if kind == "server_digest":
        entry["server_digest"][side] = text
    elif text is not None:
        entry[side][kind] = text
    elif kind == "json":
        entry[side]["error"] = error


def _judge(entry: Row) -> None:
    """Set `class` and `changes` of one statement's plans."""
    found = _compared(entry["a"], entry["b"])
    entry["changes"] = [change.text for change in found]
    entry["class"] = worst([change.word for change in found]) if entry["a"] and entry["b"] else None


def _compared(a: dict[str, Any], b: dict[str, Any]) -> list[Change]:
    if "json" in a and "json" in b:
        return plan_changes(a["json"], b["json"])
    errors = [(letter, side["error"]) for letter, side in (("A", a), ("B", b)) if side.get("error")]
    if not errors or not a or not b:
        return []
    if any(str(error).startswith(NOT_ASKED) for _, error in errors):
        return [Change(UNKNOWN, str(errors[0][1]))]
    if len(errors) == 2:
        return [Change(UNKNOWN, f"EXPLAIN fails on both: {error_number(errors[0][1])}, {error_number(errors[1][1])}")]
    return [Change(FAILS, f"EXPLAIN fails in {errors[0][0]}: {error_number(errors[0][1])}")]


def error_number(error: object) -> str:
    """Return an error's number; its text may hold literal values."""
    first = str(error).partition(" ")[0]
    if not first.isdigit():
        return "no answer"
    return f"error {first}{MEANINGS.get(first, '')}"


def _joined(samples: list[Row]) -> Row:
    """Return one entry for all samples of a digest."""
    samples = samples or [new_entry()]
    for sample in samples:
        _judge(sample)
    known = [sample for sample in samples if sample["class"] is not None] or samples
    known = [sample for sample in known if sample["class"] != UNKNOWN] or known
    first = min(known, key=lambda sample: 0 if sample["class"] is None else CLASSES.index(sample["class"]))
    every = dict.fromkeys(text for sample in [first, *known] for text in sample["changes"])
    for side in ("a", "b"):
        counters = next((each[side]["counters"] for each in samples if "counters" in each[side]), None)
        first[side] = first[side] if counters is None else {**first[side], "counters": counters}
    digests = {side: text for sample in reversed(samples) for side, text in sample["server_digest"].items()}
    differ = sum(bool(sample["changes"]) and sample["class"] != UNKNOWN for sample in known)
    return {**first, "changes": merged(every), "server_digest": digests, "samples": len(samples), "differing": differ}
