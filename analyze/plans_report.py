# SPDX-License-Identifier: Apache-2.0
"""Build the report of a plans folder: how two servers would run the digests of a tape, ranked by time on the tape."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..common.errors import InputError
from ..common.units import plural
from ..schemas import Folder, open_folder, tape_id
from ..schemas.json_shapes import ServerInfo
from .database import AnalysisDatabase, open_analysis
from .findings.causes import tables_of_digests
from .findings.plans import CLASSES, SAME, UNKNOWN, plans_of_folder
from .findings.servers import Side, compare_servers
from .findings.slower import work_sentence
from .model import PlanEntry, Servers

MAX_REASONS = 5


class DigestPlans(PlanEntry):
    """The plans of a digest with the tape's data on it. `share`: its share of the tape's time.

    `class` is never None.
    """

    digest: str
    text: str
    events: int
    tape_ns: int
    share: float
    tables: list[str]


@dataclass
class PlansReport:
    """The report of a plans folder. `digests`: both sides' plans by digest. Digests with different plans come first."""

    folder: Folder
    tape: Folder
    servers: Servers
    digests: list[DigestPlans] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)  # statements whose plans were not requested, with the reason

    @property
    def counts(self) -> dict[str, int]:
        """The number of digests in each class, worst class first."""
        found = Counter(class_of(entry) for entry in self.digests)
        return {word: found[word] for word in CLASSES if found[word]}

    @property
    def other_work(self) -> list[tuple[DigestPlans, str]]:
        """Digests with equal plans but different counters, each with a sentence, the longest time on the tape first."""
        return [(entry, text) for entry in self.digests if (text := work_sentence(entry))]

    @property
    def changed(self) -> list[DigestPlans]:
        """Digests with different plans, the longest time on the tape first."""
        return [entry for entry in self.digests if entry["class"] not in (SAME, UNKNOWN)]


def build_plans(folder_path: Path, memory: str = "1500MB", tape_path: Path | None = None) -> PlansReport:
    """Return the report of a plans folder. Raises FolderError if the folder or its tape is missing or damaged.

    `tape_path`: the tape of the folder, if it is not at the path that the folder names.
    """
    folder = open_folder("plans", folder_path)
    known = str((folder.plans_info.get("tape") or {}).get("path", ""))
    tape = open_folder("tape", tape_path or Path(known))
    check_tape(folder, tape)
    database = open_analysis(memory)
    try:
        database.con.execute(f"CREATE TEMP VIEW tape_digest AS FROM {tape.source('digests')}")
        servers = compare_servers(database, *(side_of_folder(folder, side) for side in ("a", "b")))
        digests = _digests(database, folder)
        return PlansReport(folder, tape, servers, digests, [*_limits(folder), *_unknown(digests)])
    finally:
        database.close()


def check_tape(folder: Folder, tape: Folder) -> None:
    """Raise InputError if a plans folder belongs to another tape."""
    known = (folder.plans_info.get("tape") or {}).get("id")
    if known is not None and known != tape_id(tape.info):
        raise InputError(f"{folder.path}: the plans belong to another tape, not to {tape.path}")


def servers_of(folder: Folder) -> dict[str, ServerInfo]:
    """Return the servers of a plans folder by side (a, b)."""
    return {"a": folder.plans_info.get("a") or {}, "b": folder.plans_info.get("b") or {}}


def side_of_folder(folder: Folder, side: str) -> Side:
    """Return one of the servers of a plans folder."""
    facts = f"(SELECT kind, db, tbl, name, facts FROM {folder.source('schema_facts')} WHERE side = '{side}')"
    return Side(servers_of(folder)[side], facts)


def class_of(entry: DigestPlans) -> str:
    """Return the class of a digest's plans."""
    return entry["class"] or UNKNOWN


def _digests(database: AnalysisDatabase, folder: Folder) -> list[DigestPlans]:
    plans = plans_of_folder(database.con, folder)
    tables = tables_of_digests(database)
    rows = database.con.execute(
        "SELECT digest, normalized, events, coalesce(duration_ns, 0),"
        " coalesce(duration_ns / nullif(sum(duration_ns) OVER (), 0), events / sum(events) OVER ())"
        " FROM tape_digest"
    ).fetchall()
    found: list[DigestPlans] = [
        {
            **plan,
            "digest": digest,
            "text": text,
            "events": events,
            "tape_ns": int(ns),
            "share": float(share or 0),
            "tables": sorted(tables.get(digest, ())),
            "class": plan["class"] or UNKNOWN,
        }
        for digest, text, events, ns, share in rows
        if (plan := plans.get(digest)) is not None
    ]
    return sorted(found, key=_urgency)


def _urgency(entry: DigestPlans) -> tuple[bool, float, int, str]:
    """Return a sort key: differing plans first, then by time on the tape, then by class."""
    return entry["class"] in (SAME, UNKNOWN), -entry["share"], CLASSES.index(class_of(entry)), entry["digest"]


def _unknown(digests: list[DigestPlans]) -> list[str]:
    """Return the reasons for inconclusive plans, each with its number of digests."""
    reasons = Counter(entry["changes"][0] for entry in digests if entry["class"] == UNKNOWN and entry["changes"])
    return [f"{n:,} {'digest' if n == 1 else 'digests'}: {text}" for text, n in reasons.most_common(MAX_REASONS)]


def _limits(folder: Folder) -> list[str]:
    """Return sentences on the statements whose plans were not requested."""
    info = folder.plans_info
    found = list(info.get("problems") or ())
    if without := info.get("without_samples"):
        found.append(
            f"{plural(without, 'digest')} could not be explained: their statements are truncated, redacted, or"
            " prepared without values"
        )
    if not_asked := info.get("not_asked"):
        were = "was" if not_asked == 1 else "were"
        found.append(f"{plural(not_asked, 'digest')} {were} not explained on both servers")
    return found
