# SPDX-License-Identifier: Apache-2.0
"""Describes the inputs of a page: the folders that it reads, and a stamp that changes with them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..common.errors import FolderError, InputError
from ..experiments.compare_plan import PLAN_FILE, PLANS, ComparePlan, complete_rounds
from ..schemas import read_json
from .history import stamp
from .shelf import COMPARISON, NIGHTS, RUN, SET, SWEEP, TAPE, Entry, Shelf, read_text, refuse_links, section, stamp_of

MAX_PLAN = 1 << 20
MAX_ROUNDS = 1000


@dataclass(frozen=True)
class Order:
    """One page to make: of a tape, of runs (`a`, `b`), of a sweep, or of nights.

    `stamp`: the stamp of its input files.
    """

    kind: str
    tape: str = ""
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()
    ddl: tuple[str, ...] = ()
    plans: str | None = None
    stamp: tuple[int, ...] = ()

    def as_json(self) -> str:
        """Return the order as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Order":
        """Return the order of a JSON line."""
        values: dict[str, Any] = json.loads(text)
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**given)


def order_of(shelf: Shelf, entry: Entry) -> Order:
    """Return the order for the page of a folder entry. Raises FolderError and InputError with the reason."""
    made = {TAPE: _tape, RUN: _run, COMPARISON: _comparison, SWEEP: _sweep, NIGHTS: _nights}.get(entry.kind)
    if made is None:
        raise FolderError(f"{entry.name}: a {entry.kind} has no such page")
    return made(shelf, entry)


def _tape(shelf: Shelf, entry: Entry) -> Order:
    refuse_links(entry.path)
    if entry.under_way:
        raise FolderError(f"{entry.name}: the capture is running: the page is available after the capture")
    if not shelf.info(entry).get("finished"):
        raise FolderError(
            f"{entry.name}: the capture was killed: run `querytape inspect {entry.name}` once to complete the tape"
        )
    return Order(TAPE, str(entry.path), stamp=stamp_of(entry.marker))


def _run(shelf: Shelf, entry: Entry) -> Order:
    if entry.under_way:
        raise FolderError(f"{entry.name}: the replay is running: the report is available after the replay")
    if not shelf.info(entry).get("finished"):
        raise FolderError(f"{entry.name}: the replay was killed, so no report is possible")
    return _report(shelf, [entry.path], [])


def pair_of(shelf: Shelf, a: Entry, b: Entry) -> Order:
    """Return the order for the report on two runs of one tape. Raises FolderError and InputError with the reason."""
    if a.name == b.name:
        raise InputError(f"{a.name}: expected two different runs")
    for entry in (a, b):
        if entry.kind != RUN:
            raise InputError(f"{entry.name}: not a run")
        _run(shelf, entry)
    return _report(shelf, [a.path], [b.path])


def _comparison(shelf: Shelf, entry: Entry) -> Order:
    plan = plan_of(entry)
    runs = complete_rounds(entry.path)
    if not runs["a"] or not runs["b"]:
        raise InputError(f"{entry.name}: no round is complete yet")
    if len(runs["a"]) > MAX_ROUNDS:
        raise InputError(f"{entry.name}: more than {MAX_ROUNDS:,} rounds")
    plans = entry.path / PLANS
    return _report(shelf, runs["a"], runs["b"], plan, plans if plans.is_dir() else None)


def plan_of(entry: Entry) -> ComparePlan:
    """Return the plan of a comparison. Raises InputError or FolderError if the plan is invalid."""
    read_text(entry.path / PLAN_FILE, MAX_PLAN)  # rejects links, pipes and large files
    return ComparePlan.read(entry.path / PLAN_FILE)


def _report(
    shelf: Shelf, a: list[Path], b: list[Path], plan: ComparePlan | None = None, plans: Path | None = None
) -> Order:
    for folder in (*a, *b, *([plans] if plans else [])):
        if folder.is_symlink():
            raise FolderError(f"{folder.name}: a symbolic link (querytape serve does not follow links)")
        refuse_links(folder)
    said = tape_said(a[0])
    tape = shelf.tape_of(str(plan.tape) if plan else str(said.get("path") or ""), said.get("id"))
    refuse_links(tape)
    stamp = stamp_of(*(folder / "run.json" for folder in (*a, *b)), tape / "tape.json", tape / SET)
    return Order(
        "report",
        str(tape),
        tuple(map(str, a)),
        tuple(map(str, b)),
        plan.ddl if plan else (),
        str(plans) if plans else None,
        stamp + (stamp_of(plans / "plans.json") if plans else ()),
    )


def tape_said(run: Path) -> dict[str, Any]:
    """Return the path and id of the tape from run.json."""
    said = section(read_json("run", run / "run.json"), "tape")
    return {key: value for key in ("path", "id") if isinstance(value := said.get(key), str)}


def _sweep(shelf: Shelf, entry: Entry) -> Order:
    return Order(SWEEP, str(entry.path), stamp=stamp_of(entry.marker))


def _nights(shelf: Shelf, entry: Entry) -> Order:
    return Order(NIGHTS, str(entry.path), stamp=stamp(entry.path))
