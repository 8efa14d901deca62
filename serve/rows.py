# SPDX-License-Identifier: Apache-2.0
"""Makes the rows of the folder list: a short description of each tape, run, comparison and sweep."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from ..common.errors import QuerytapeError
from ..common.text import printable
from ..common.units import plural, seconds, utc_time
from ..experiments.nightly import NAME, is_good, nights
from .orders import plan_of
from .shelf import COMPARISON, NIGHTS, RUN, SET, SWEEP, TAPE, Entry, Found, Shelf, section

MAX_TEXT = 120
TITLES = {
    NIGHTS: "Nightly comparisons",
    COMPARISON: "Comparisons",
    RUN: "Runs",
    TAPE: "Tapes",
    SWEEP: "Sweeps",
}
INSIDE = "Runs and tapes of comparisons and sweeps"
UNDER_WAY = "Under way"
BAD, LIVE, GOOD = "bad", "live", "good"


@dataclass(frozen=True)
class Line:
    """A row: name, address, state as a word, and a short description. `tone`: the style of the state."""

    kind: str
    name: str
    url: str
    state: str = ""
    tone: str = ""
    what: str = ""
    when: str = ""

    @property
    def whole_run(self) -> bool:
        """Whether the row is a complete run."""
        return self.kind == RUN and self.tone == GOOD


@dataclass
class Group:
    """Rows under one title. `folded`: hidden until the user opens the group."""

    title: str
    lines: list[Line] = field(default_factory=list)
    folded: bool = False

    @property
    def to_pair(self) -> bool:
        """Whether the group has at least two complete runs, which a report can compare."""
        return sum(1 for line in self.lines if line.whole_run) > 1


def url_of(kind: str, name: str) -> str:
    """Return the address of a page."""
    return f"/{kind}/{quote(name)}"


def groups(shelf: Shelf, found: Found) -> list[Group]:
    """Return the rows of all entries by kind. Entries that are still being written come first."""
    by_title = {title: Group(title) for title in (UNDER_WAY, *TITLES.values())}
    by_title[INSIDE] = Group(INSIDE, folded=True)
    owners = {entry.name for entry in found.entries if entry.kind in (COMPARISON, SWEEP)}
    nightly = {entry.name for entry in found.entries if entry.kind == NIGHTS}
    for entry in found.entries:
        parents = {str(each) for each in Path(entry.name).parents} if entry.name != "." else set()
        if entry.kind == COMPARISON and parents & nightly and NAME.fullmatch(Path(entry.name).name):
            continue  # listed on the page of its nightly folder
        line = line_of(shelf, entry)
        title = UNDER_WAY if line.tone == LIVE else INSIDE if parents & owners else TITLES[entry.kind]
        by_title[title].lines.append(line)
    return [group for group in by_title.values() if group.lines]


def line_of(shelf: Shelf, entry: Entry) -> Line:
    """Return the row of one entry. An unreadable entry gets a row with the reason."""
    made = {TAPE: _tape, RUN: _run, COMPARISON: _comparison, NIGHTS: _nights}.get(entry.kind)
    name = shelf.root.name if entry.name == "." else entry.name
    try:
        if made is None:
            return Line(entry.kind, name, url_of(entry.kind, entry.name), GOOD, GOOD, "levels of concurrency")
        return made(shelf, entry, name)
    except (QuerytapeError, OSError) as error:
        return Line(entry.kind, name, url_of(entry.kind, entry.name), "can't be read", BAD, plain(shelf, error))


def plain(shelf: Shelf, error: Exception | str) -> str:
    """Return a message for a page: without the local path of the folder, printable, and at most 600 characters."""
    return printable(str(error).replace(f"{shelf.root}/", "").replace(str(shelf.root), "."), 600)


def _tape(shelf: Shelf, entry: Entry, name: str) -> Line:
    url = url_of(TAPE, entry.name)
    if entry.under_way:
        return Line(TAPE, name, url, "capturing", LIVE, "the page is available after the capture")
    info = shelf.info(entry)
    if not info.get("finished"):
        return Line(
            TAPE, name, url, "cut off", BAD, "the capture was killed: run `querytape inspect` to complete the tape"
        )
    said = section(info, "tape") if entry.marker.name == SET else info
    counts = section(said, "counts")
    parts = [plural(n, word) for word in ("event", "session") if (n := _number(counts, f"{word}s")) is not None]
    first, last = _number(said, "first_ns"), _number(said, "last_ns")
    if first is not None and last is not None:
        parts.append(seconds(last - first))
    if isinstance(said.get("source"), str):
        parts.append(f"from {printable(said['source'], 40)}")
    when = utc_time(first)[:16] if first is not None else ""
    return Line(TAPE, name, url, "", GOOD, ", ".join(parts), when)


def _run(shelf: Shelf, entry: Entry, name: str) -> Line:
    info = shelf.info(entry)
    url = url_of(RUN, entry.name)
    target, tape = section(info, "target"), section(info, "tape")
    against = f"on {_text(target, 'name')} ({_text(target, 'version')})"
    of = f"{Path(_text(tape, 'path')).name} {against}"
    when = _when(info)
    if entry.under_way:
        return Line(RUN, name, url_of("live", entry.name), "under way", LIVE, of, when)
    if not info.get("finished"):
        return Line(RUN, name, url_of("live", entry.name), "cut off", BAD, f"{of}: the replay was killed", when)
    partial = info.get("partial")
    parts = [of]
    if (n := _number(section(info, "accounting"), "executed")) is not None:
        parts.append(f"{n:,} executed")
    if (n := _number(info, "elapsed_ns")) is not None:
        parts.append(seconds(n))
    if not partial:
        return Line(RUN, name, url, "", GOOD, ", ".join(parts), when)
    return Line(RUN, name, url, "partial", BAD, ", ".join([*parts, printable(str(partial), 200)]), when)


def _comparison(shelf: Shelf, entry: Entry, name: str) -> Line:
    plan = plan_of(entry)
    runs = [path.name for path in entry.path.glob("a[0-9]*.run")]
    tape, a, b = plan.tape.name, host_of(plan.targets["a"]), host_of(plan.targets["b"])
    state, tone = ("", GOOD) if runs else ("no round", BAD)
    what = f"{tape}: A {a}, B {b}, {len(runs)} of {plural(plan.rounds, 'round')}"
    return Line(COMPARISON, name, url_of(COMPARISON, entry.name), state, tone, printable(what, 300))


def _nights(shelf: Shelf, entry: Entry, name: str) -> Line:
    all_of_them = nights(entry.path)
    good = sum(1 for night in all_of_them if is_good(night))
    what = f"{plural(len(all_of_them), 'night')}, {good} complete"
    newest = all_of_them[-1].name if all_of_them else ""
    when = f"{newest[:10]} {newest[11:13]}:{newest[13:15]}" if newest else ""
    return Line(NIGHTS, name, url_of(NIGHTS, entry.name), "", GOOD, what, when)


def host_of(target: str) -> str:
    """Return the address of a target without its account: `10.0.0.7:3306/shop`."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return "a server"
    place = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/") if parts.netloc else re.split(r"[?@]", target)[0]
    return printable(place, MAX_TEXT) or "a server"


def _text(values: dict[str, Any], key: str) -> str:
    return printable(str(values.get(key) or "unknown"), MAX_TEXT)


def _number(values: dict[str, Any], key: str) -> int | None:
    value = values.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _when(info: dict[str, Any]) -> str:
    created = info.get("created")
    return printable(created[:16].replace("T", " ")) if isinstance(created, str) else ""


def sentences(found: Found) -> Iterator[str]:
    """Yield sentences about entries that the list omits."""
    if found.more:
        yield "This list does not contain all entries of the folder. To see more entries, serve a subfolder."
    if found.unreadable:
        yield f"Not shown: {plural(found.unreadable, 'folder')} with a name that is not UTF-8."
