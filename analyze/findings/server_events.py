# SPDX-License-Identifier: Apache-2.0
"""Name events of the servers that run on one side only: they write without a client."""

import json
from collections.abc import Iterator, Mapping

from ..database import AnalysisDatabase, Row
from ..model import Report, ServerDifference
from .causes import bare
from .results import RACE, SERVER_WRITES
from .seen_through import Objects, words_of

WRITERS = frozenset({"event", "trigger"})
UNKNOWN = (
    "SELECT DISTINCT run FROM schema_fact"
    " WHERE kind = 'problem' AND json_valid(facts) AND facts ->> '$.unknown' = 'event'"
)
FACTS = "SELECT run, db, name, facts FROM schema_fact WHERE kind = 'event' ORDER BY db, name, run"


def event_differences(
    database: AnalysisDatabase, variables: Mapping[str, Mapping[str, object]]
) -> Iterator[ServerDifference]:
    """Yield each event that one side runs and the other does not, or differently, for each table of the tape it names.

    `variables`: of both sides, by letter. The database has the views schema_fact and tape_digest.
    """
    scheduler = {side: str(known.get("event_scheduler") or "").upper() for side, known in variables.items()}
    if not all(scheduler.values()):
        return
    events: dict[tuple[str, str], dict[str, Row]] = {}
    for run, db, name, facts in database.con.execute(FACTS).fetchall():
        events.setdefault((db, name), {})[run] = json.loads(facts)
    tables, objects = _tables(database), Objects.of(database)
    unseen = {run for (run,) in database.con.execute(UNKNOWN).fetchall() if scheduler[run] == "ON"}
    for (db, name), sides in events.items():
        enabled = [side for side, facts in sides.items() if facts.get("status") == "ENABLED"]
        running = [side for side in enabled if scheduler[side] == "ON"]
        other = "b" if running == ["a"] else "a"
        if len(running) == 1 and other not in unseen:
            why = "" if scheduler[other] == "ON" else f" (event_scheduler is {scheduler[other]} in {other.upper()})"
            text = f"event {db}.{name} runs in {running[0].upper()} only{why}"
        elif len(running) == 2 and _is_other(*sides.values()):
            text = f"event {db}.{name}: A and B define it differently"
        else:
            continue
        words = objects.behind(frozenset().union(*(words_of(sides[side].get("does")) for side in running)))
        for table in sorted(words & tables.keys()) or [""]:
            digests, tape_ns = tables.get(table, (0, 0))
            yield ServerDifference("event", f"{db}.{name}", text, table=table, digests=digests, tape_ns=tape_ns)


def _is_other(a: Row, b: Row) -> bool:
    """Whether an event does something else, or at other times, on the other side."""
    return any(a[fact] != b[fact] for fact in ("does", "every", "unit") if fact in a and fact in b)


def _tables(database: AnalysisDatabase) -> dict[str, tuple[int, int]]:
    """Return how many digests name each table of the tape, and their time on it."""
    rows = database.con.execute("SELECT tables, coalesce(duration_ns, 0) FROM tape_digest WHERE tables IS NOT NULL")
    found: dict[str, tuple[int, int]] = {}
    for names, time in rows.fetchall():
        for name in {bare(name) for name in names if name}:
            digests, tape_ns = found.get(name, (0, 0))
            found[name] = digests + 1, tape_ns + int(time)
    return found


def name_server_writes(report: Report) -> None:
    """Put an event or trigger of one side that is on a statement's tables in the place of a race."""
    writers = [each for each in report.servers.differences if each.kind in WRITERS]
    for row in report.answers["results"]:
        tables = report.tables.get(row["digest"], frozenset())
        if row["reason"] == RACE and any(each.is_on(tables) for each in writers):
            row["reason"] = SERVER_WRITES
