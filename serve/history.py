# SPDX-License-Identifier: Apache-2.0
"""Finds the digests that became slower or faster over many nights, and the night of the change, from each report.json.

The measured value is the ratio of B's time to A's time in the same night. Effects of the machine on both sides
therefore cancel out. For a digest, the value is the median over the events (pair.ratio of the report). For the whole
night, it is the ratio of the total times of all digests that both sides answered.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict, cast

import numpy as np

from ..analyze.findings.servers import different_variables
from ..common.errors import FolderError
from ..common.text import printable
from ..experiments.nightly import NIGHT_FILE, nights
from .change_points import LEVEL, change_points
from .shelf import read_text, section, stamp_of

REPORT_FILE = "report.json"
MAX_REPORT, MAX_NIGHT_FILE = 256 << 20, 1 << 16
MAX_NIGHTS = 120  # maximum number of nights; older nights are left out
LEAST_NIGHTS = 10  # minimum nights for any change to be significant
MAX_DIGESTS = 500  # number of digests: those with the most time in the newest night
MARGIN = 0.1  # smaller differences are ignored, as in a report
MAX_SHOWN = 100  # maximum number of changes on the page
MAX_SAID = 8  # maximum number of settings listed per change
MAX_TEXT = 2_000
MAX_NUMBER = 1e18


@dataclass
class Night:
    """One night: the name of its folder, and its report or the reason why it is unreadable."""

    name: str
    problem: str | None = None
    complete: bool = False
    exit_code: int | None = None
    headline: str = ""
    slower: int = 0
    broken: int = 0
    whole: float | None = None
    versions: tuple[str, str] = ("", "")
    tape: str = ""
    variables: dict[str, Any] = field(default_factory=dict)  # variables of server B
    digests: dict[str, tuple[float, float, str]] = field(default_factory=dict)  # values: ratio, A's time in ns, text


@dataclass(frozen=True)
class Change:
    """A new level of a digest, or of all digests together (digest None).

    `at`: its first night. The ratios are medians.
    """

    digest: str | None
    text: str
    at: str
    before: float
    after: float
    p: float
    until: str | None  # first night of the next level
    stake: float  # impact: the difference in ns per night
    with_it: tuple[str, ...]

    @property
    def slower(self) -> bool:
        """Whether the new level is slower than the previous level."""
        return self.after > self.before


def night_files(folder: Path) -> Iterator[Path]:
    """Yield the input files of the history."""
    for night in nights(folder)[-MAX_NIGHTS:]:
        yield night / REPORT_FILE
        yield night / NIGHT_FILE


def stamp(folder: Path) -> tuple[int, ...]:
    """Return a stamp that changes when the history changes."""
    return stamp_of(*night_files(folder))


class PlainNight(TypedDict):
    """A night in JSON form."""

    name: str
    problem: str | None
    complete: bool
    exit_code: int | None
    headline: str
    slower: int
    broken: int
    whole: float | None
    versions: tuple[str, str]
    tape: str


class PlainChange(TypedDict):
    """A change in JSON form."""

    digest: str | None
    text: str
    at: str
    before: float
    after: float
    p: float
    until: str | None
    stake: float
    with_it: tuple[str, ...]
    slower: bool


class History(TypedDict):
    """The nights of a folder and their changes. `series`: (night, ratio) of the digests that changed."""

    nights: list[PlainNight]
    whole: list[PlainChange]
    digests: list[PlainChange]
    more: int
    followed: int
    known: int
    least: int
    level: float
    series: dict[str, list[tuple[str, float]]]


def history(folder: Path) -> History:
    """Return the nights of a folder and their changes as plain values. The newest night is last."""
    found = [read_night(night) for night in nights(folder)[-MAX_NIGHTS:]]
    known = [night for night in found if night.problem is None and night.whole is not None]
    changes = [*_changes(known, None), *(each for digest in heaviest(known) for each in _changes(known, digest))]
    of_digests = sorted((each for each in changes if each.digest), key=lambda each: -abs(each.stake))
    return {
        "nights": [_plain(night) for night in found],
        "whole": [_plain_change(each) for each in changes if each.digest is None],
        "digests": [_plain_change(each) for each in of_digests[:MAX_SHOWN]],
        "more": max(len(of_digests) - MAX_SHOWN, 0),
        "followed": len(heaviest(known)),
        "known": len(known),
        "least": LEAST_NIGHTS,
        "level": LEVEL,
        "series": {
            each.digest: [
                (night.name, night.digests[each.digest][0]) for night in known if each.digest in night.digests
            ]
            for each in of_digests[:MAX_SHOWN]
            if each.digest
        },
    }


def _plain(night: Night) -> PlainNight:
    return cast(
        PlainNight, {name: value for name, value in asdict(night).items() if name not in ("digests", "variables")}
    )


def _plain_change(change: Change) -> PlainChange:
    return cast(PlainChange, {**asdict(change), "slower": change.slower})


def heaviest(known: Sequence[Night]) -> list[str]:
    """Return the digests of the newest night with the most time in A."""
    if not known:
        return []
    newest = known[-1].digests
    return sorted(newest, key=lambda digest: (-newest[digest][1], digest))[:MAX_DIGESTS]


def _changes(known: Sequence[Night], digest: str | None) -> Iterator[Change]:
    """Yield the changes of one series that exceed the margin."""
    there = [night for night in known if digest is None or digest in night.digests]
    ratios = [_ratio(night, digest) for night in there]
    points = change_points([math.log(ratio) for ratio in ratios])
    edges = [0, *(point.at for point in points), len(there)]
    for place, point in enumerate(points, 1):
        before = float(np.median(ratios[edges[place - 1] : edges[place]]))
        after = float(np.median(ratios[edges[place] : edges[place + 1]]))
        if max(after / before, before / after) < 1 + MARGIN:
            continue
        newest = there[-1].digests
        a_ns = sum(entry[1] for entry in newest.values()) if digest is None else newest[digest][1]
        yield Change(
            digest,
            "" if digest is None else newest[digest][2],
            there[point.at].name,
            before,
            after,
            point.p,
            there[edges[place + 1]].name if edges[place + 1] < len(there) else None,
            (after - before) * a_ns,
            tuple(_with(there[point.at - 1], there[point.at])),
        )


def _ratio(night: Night, digest: str | None) -> float:
    if digest is not None:
        return night.digests[digest][0]
    assert night.whole is not None
    return night.whole


def _with(before: Night, after: Night) -> Iterator[str]:
    """Yield other differences between a night and the previous night: versions, tape, settings."""
    for letter, old, new in zip("AB", before.versions, after.versions, strict=True):
        if old != new:
            yield f"version of {letter} {old or 'unknown'} -> {new or 'unknown'}"
    if before.tape != after.tape:
        yield "a different tape"
    rows = different_variables(before.variables, after.variables)
    for row in rows[:MAX_SAID]:
        yield printable(f"{row['name']} of B {row['a']} -> {row['b']}", 160)
    if len(rows) > MAX_SAID:
        yield f"{len(rows) - MAX_SAID} more settings of B"


def read_night(folder: Path) -> Night:
    """Return a night with the results of its report. If the report is unreadable, `problem` has the reason."""
    night = Night(folder.name)
    try:
        if folder.is_symlink():
            raise FolderError("a symbolic link (querytape serve does not follow links)")
        if (folder / NIGHT_FILE).exists():
            night.complete = True
            code = _number(_json(folder / NIGHT_FILE, MAX_NIGHT_FILE).get("exit_code"))
            night.exit_code = None if code is None else int(code)
        if not (folder / REPORT_FILE).exists():
            raise FolderError(
                "report.json is missing" if night.complete else "the comparison of this night did not finish"
            )
        _fill(night, _json(folder / REPORT_FILE, MAX_REPORT))
    except FolderError as error:
        night.problem = printable(str(error).replace(f"{folder.parent}/", ""), 300)
    return night


def _json(path: Path, most: int) -> dict[str, Any]:
    try:
        values = json.loads(read_text(path, most))
        if not isinstance(values, dict):
            raise ValueError("no object")
    except (ValueError, RecursionError) as error:
        raise FolderError(f"{path.name}: not a valid file of compare --nightly") from error
    return values


def _fill(night: Night, report: dict[str, Any]) -> None:
    """Copy the values of a report into the night. Invalid values are omitted."""
    night.headline = printable(str(section(report, "headline").get("sentence") or ""), 600)
    verdicts = section(report, "verdicts")
    night.slower, night.broken = (int(_number(verdicts.get(word)) or 0) for word in ("slower", "errors changed"))
    night.tape = str(section(report, "tape").get("path") or "")
    runs = list(_objects(report.get("runs")))
    if runs:
        first, last = section(runs[0], "target"), section(runs[-1], "target")
        night.versions = printable(str(first.get("version") or ""), 80), printable(str(last.get("version") or ""), 80)
        night.variables = section(last, "variables")
    sums = [0.0, 0.0]
    for entry in _objects(report.get("digests")):
        ratio = _number(section(entry, "pair").get("ratio"))
        a_ns, b_ns = (_number(section(entry, side).get("total_ns")) for side in ("a", "b"))
        if ratio is None or a_ns is None or b_ns is None or ratio <= 0 or min(a_ns, b_ns) < 0:
            continue
        sums = [sums[0] + a_ns, sums[1] + b_ns]
        text = printable(str(entry.get("text") or ""), MAX_TEXT)
        night.digests[printable(str(entry.get("digest")), 64)] = ratio, a_ns, text
    night.whole = sums[1] / sums[0] if min(sums) > 0 else None


def _objects(values: Any) -> Iterable[dict[str, Any]]:
    return (value for value in values if isinstance(value, dict)) if isinstance(values, list) else ()


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and abs(value) < MAX_NUMBER else None
