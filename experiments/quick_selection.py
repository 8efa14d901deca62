# SPDX-License-Identifier: Apache-2.0
"""Selects the statements of quick mode: samples of digests that only read. Counts all digests that it omits."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import load_sql, open_database
from ..common.temporary import temporary_folder
from ..common.units import count
from ..replay.observe.query_plans import Place, sample_places
from ..schemas import Folder
from ..schemas.event_selection import define_macros

MEMORY = "1GB"
PER_DIGEST = 5
# Functions that wait. Quick mode does not send them.
WAITING = (
    "sleep",
    "benchmark",
    "master_pos_wait",
    "source_pos_wait",
    "master_gtid_wait",
    "wait_for_executed_gtid_set",
    "wait_until_sql_thread_after_gtids",
)
SETTINGS = "BEGIN, COMMIT, SET and the like"  # the same text as in quick_digests.sql
WITHOUT_SAMPLE = "reads without a complete statement on the tape"
WITHOUT_TIME = "reads skipped for lack of time"


@dataclass
class Share:
    """A number of digests, their events, and their total time on the tape."""

    digests: int = 0
    events: int = 0
    tape_ns: int = 0

    def add(self, events: int, tape_ns: int) -> None:
        """Add one digest with its events and its time."""
        self.digests += 1
        self.events += events
        self.tape_ns += tape_ns


@dataclass
class Questions:
    """The selected samples. `places`: their places on the tape, ordered by the time of their digests.

    `sizes`: events and ns of every digest. `left`: the digests that are not sent, by reason.
    """

    places: list[Place] = field(default_factory=list)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    left: dict[str, Share] = field(default_factory=dict)

    @property
    def digests(self) -> list[str]:
        """The selected digests, those with the most time first."""
        return list(dict.fromkeys(place.digest for place in self.places))

    def leave(self, digests: Iterable[str], reason: str) -> None:
        """Exclude these digests, for this reason."""
        gone = set(digests)
        for digest in gone:
            self.left.setdefault(reason, Share()).add(*self.sizes[digest])
        self.places = [place for place in self.places if place.digest not in gone]

    def asked(self) -> Share:
        """Return the selected share of the tape."""
        share = Share()
        for digest in self.digests:
            share.add(*self.sizes[digest])
        return share

    def as_json(self) -> dict[str, Any]:
        """Return the selected and excluded digests for tape.json.

        `share_not_asked` is the excluded share of the time. SET, COMMIT and similar statements do not count.
        """
        asked, missed = self.asked(), [share for reason, share in self.left.items() if reason != SETTINGS]
        missed_ns, missed_events = sum(share.tape_ns for share in missed), sum(share.events for share in missed)
        of_time = missed_ns / max(missed_ns + asked.tape_ns, 1)
        of_events = missed_events / max(missed_events + asked.events, 1)
        rows = {reason: vars(share) for reason, share in sorted(self.left.items(), key=lambda item: -item[1].tape_ns)}
        share = of_time if asked.tape_ns else of_events
        times = {digest: self.sizes[digest][1] for digest in self.digests if asked.tape_ns}
        return {"asked": vars(asked), "not_asked": rows, "share_not_asked": share, "tape_ns": times}


def choose(tape: Folder, stored: Collection[str]) -> Questions:
    """Return the selected samples of a tape. `stored`: names of the servers' stored functions, in lower case."""
    with temporary_folder() as spill, open_database(Path(spill), MEMORY) as con:
        return _choose(con, tape, stored)


def _choose(con: duckdb.DuckDBPyConnection, tape: Folder, stored: Collection[str]) -> Questions:
    define_macros(con)
    for table in ("events", "digests"):
        con.execute(f"CREATE OR REPLACE TEMP VIEW tape_{table} AS FROM {tape.source(table)}")
    con.execute("SET VARIABLE waiting = CAST($1 AS VARCHAR[])", [WAITING])
    con.execute("SET VARIABLE stored = CAST($1 AS VARCHAR[])", [sorted(stored)])
    questions, wanted = Questions(), []
    for digest, events, tape_ns, reason in con.execute(load_sql(__package__, "quick_digests.sql")).fetchall():
        questions.sizes[digest] = (events, tape_ns or 0)
        if reason is None:
            wanted.append(digest)
        else:
            questions.leave([digest], reason)
    questions.places = sample_places(con, tape, PER_DIGEST, wanted)
    questions.leave(set(wanted) - {place.digest for place in questions.places}, WITHOUT_SAMPLE)
    return questions


def sentences(found: Mapping[str, Any]) -> list[str]:
    """Return two lines: the selected and the excluded statements. `found`: the result of as_json()."""
    asked, rows = found["asked"], found["not_asked"]
    total_ns = asked["tape_ns"] + sum(row["tape_ns"] for row in rows.values())
    events = asked["events"] + sum(row["events"] for row in rows.values())

    def share(row: Mapping[str, int]) -> str:
        part = row["tape_ns"] / total_ns if total_ns else row["events"] / max(events, 1)
        return f"{100 * part:.1f} %"

    of = "execution time" if total_ns else "statements"
    lines = [
        f"quick: {_digests(asked)} of reads {'was' if asked['digests'] == 1 else 'were'} compared ({share(asked)} of"
        f" the tape's {of}), with at most {PER_DIGEST} statements per digest"
    ]
    parts = [f"{reason} {count(row['digests'])} ({share(row)})" for reason, row in rows.items()]
    if parts:
        left = {name: sum(row[name] for row in rows.values()) for name in ("digests", "events", "tape_ns")}
        lines.append(f"not compared: {_digests(left)} ({share(left)} of the tape's {of}): {', '.join(parts)}")
    return lines


def _digests(row: Mapping[str, int]) -> str:
    return f"{count(row['digests'])} digest{'' if row['digests'] == 1 else 's'}"
