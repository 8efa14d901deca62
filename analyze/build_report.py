# SPDX-License-Identifier: Apache-2.0
"""Build a report: run the analyses, judge each digest and collect the limits of the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import cast

from ..common.text import mask
from ..schemas import open_folder
from .cause_table import ordered_topics, rank_counters, rank_variables
from .database import DETAILS, REPORT, AnalysisDatabase, open_analysis
from .findings.causes import tables_of_digests, with_causes, withdraw_excuses
from .findings.errors import ON_BOTH, by_digest
from .findings.plans import plans_of, plans_of_folder
from .findings.results import unexplained
from .findings.servers import (
    compare_servers,
    different_variables,
    name_server_writes,
    seen_through,
    side_of,
)
from .findings.slower import observations, ratio_against_sum, write_counters
from .findings.trust import conditions, trust
from .findings.unique_keys import shared_unique_keys, unique_keys
from .inputs import create_views, open_report, set_variables
from .model import DigestEntry, DigestText, Report, Settings, ShiftRow, sides_of
from .plans_report import check_tape
from .rows import Answers, Details, DigestsPart
from .summary import make_summary
from .verdicts.columns import Columns
from .verdicts.exact import Exact, few_pairs
from .verdicts.interference import NONE, disturbance
from .verdicts.shifts import UNSEEN_FACTOR, Shift, Shifts, bootstrap_quantile, measure_undisturbed
from .verdicts.verdict import ERRORS, FASTER, MAX_FAILED, SLOWER, Case, Verdict, judge_all


def build(
    tape_path: Path, a_paths: Sequence[Path], b_paths: Sequence[Path] = (), settings: Settings | None = None
) -> Report:
    """Run every analysis on a tape and on the rounds of one or two sides.

    Raises FolderError if a path is not a folder of the expected kind. Raises InputError if a run belongs to another
    tape or has no outcomes.
    """
    report = open_report(tape_path, a_paths, b_paths, settings or Settings())
    database = open_analysis(report.settings.memory)
    try:
        prepare(database, report)
        report.answers = cast(Answers, {name: database.query(f"report/{name}") for name in REPORT})
        report.details = cast(Details, {name: database.query(f"report/{name}") for name in DETAILS})
        texts = _texts(database, report)
        slow_tail = database.columns("report/slow_tail")
        blocks, few = database.columns("report/blocks"), database.columns("report/few_pairs")
        report.query_plans = plans_of(database, report.sides)
        if report.compares:
            report.servers = compare_servers(database, *map(side_of, report.runs))
            report.tables, report.routines = seen_through(database, tables_of_digests(database))
            report.written = dict(
                database.con.execute("SELECT digest, coalesce(properties, 0) FROM tape_digest").fetchall()
            )
            report.write_counters = write_counters(database.con, report.sides)
            unique = unique_keys(database.con)
            report.unique_keys = shared_unique_keys(database.con)
    finally:
        database.close()
    if not report.settings.samples:
        mask_messages(report)
    report.over_time = observations(report.answers["relative_latency"], report.answers["stalls"])
    if report.compares:
        before, after = (run.target.get("variables") or {} for run in report.runs)
        report.variables = different_variables(before, after)
    if report.compares:
        report.disturbance = NONE if report.settings.undisturbed else disturbance(report.answers["interference"])
    measured = Measured.of(blocks, slow_tail, few, report)
    report.digests = merge_digests(report, texts, measured, bootstrap_quantile(slow_tail))
    if report.compares:
        withdraw_excuses(report, unique)
    if report.compares:
        order = ordered_topics(report.digests, any(True for _ in unexplained(report)))
        report.variables = rank_variables(report.variables, order)
        report.answers["counters"] = rank_counters(report.answers["counters"], order)
    for entry in report.digests:
        entry["note"] = ratio_against_sum(report, entry) if report.compares else None
    report.servers = with_causes(report)
    if report.compares:
        name_server_writes(report)
    report.trust = trust(report)
    return report


@dataclass(frozen=True)
class Measured:
    """Test results by digest: over all blocks, over the undisturbed blocks, and for digests with few pairs."""

    whole: dict[str, Shift]
    usable: dict[str, Shifts]
    exact: dict[str, Exact]

    @classmethod
    def of(cls, blocks: Columns, slow_tail: Columns, few: Columns, report: Report) -> "Measured":
        """Run the statistical tests on the rows of blocks.sql, slow_tail.sql and few_pairs.sql."""
        margin, disturbed = report.settings.margin.log, report.disturbance
        whole, usable = measure_undisturbed(blocks, slow_tail, margin, disturbed)
        shared = next((abs(shift.shared) for shift in whole.values()), 0.0)
        return cls(whole, usable, few_pairs(few, margin, disturbed, UNSEEN_FACTOR * shared))


def prepare(database: AnalysisDatabase, report: Report) -> None:
    """Set the SQL variables and create the tables and views that the analyses read."""
    set_variables(database, report)
    create_views(database, report)
    ((rows,),) = database.con.execute("SELECT count(*) FROM every_outcome WHERE run = 'a'").fetchall()
    shares = database.place(rows)
    if database.is_small(rows):
        database.con.execute("CREATE TEMP TABLE few_outcomes AS FROM every_outcome")
        database.con.execute("CREATE OR REPLACE TEMP VIEW every_outcome AS FROM few_outcomes")
    make_summary(database, report, rows, shares)


def _texts(database: AnalysisDatabase, report: Report) -> dict[str, DigestText]:
    """Return {digest: {class, text, tape_ns, sample}} of the tape.

    Samples are included only if the settings allow them.

    For a tape of samples (compare --quick), `tape_ns` is the digest's time on the original tape.
    """
    sampled = (report.tape.tape_info.get("quick") or {}).get("tape_ns", {})
    sample = "sample" if report.settings.samples else "NULL::BLOB"
    rows = database.con.execute(
        f"SELECT digest, class, normalized, duration_ns, {sample} FROM {report.tape.source('digests')}"
    )
    return {
        digest: {"class": statement_class, "text": text, "tape_ns": sampled.get(digest, duration_ns), "sample": blob}
        for digest, statement_class, text, duration_ns, blob in rows.fetchall()
    }


def mask_messages(report: Report) -> None:
    """Replace the literal values in error messages, because they may be private data."""
    for error in report.answers["errors"]:
        error["error"], error["error_before"] = mask(error["error"]), mask(error["error_before"])
    for row in (*report.answers["error_counts"], *report.answers["lost_sessions"]):
        row["error"] = mask(row["error"])


def merge_digests(
    report: Report, texts: dict[str, DigestText], measured: Measured, intervals: dict[str, tuple[float, float]]
) -> list[DigestEntry]:
    """Return one entry per digest, the most urgent first.

    Each entry has both sides of the digest, its pairs and its verdict.
    """
    digests: dict[str, DigestEntry] = {}
    for row in report.answers["digests"]:
        without: DigestText = {"class": row["class"], "text": "", "tape_ns": None, "sample": None}
        entry = digests.setdefault(row["digest"], new_entry(row["digest"], texts.get(row["digest"], without)))
        entry["a" if row["run"] == "a" else "b"] = row
    for pair in report.answers["pairs"]:
        digests[pair["digest"]]["pair"] = pair
    new_errors = by_digest(report.answers["errors"], "new", "changed")
    failed = by_digest(report.answers["errors"], ON_BOTH)
    cases = [
        Case(
            d,
            both["median_a_ns"] if (both := entry["pair"]) else None,
            measured.whole.get(d),
            new_errors[d],
            measured.usable.get(d),
            measured.exact.get(d),
            sum(side.get("total_ns") or 0 for side in sides_of(entry)),
            failed[d] if failed[d] > MAX_FAILED * (sides_of(entry)[1].get("n") or 0) else 0,
        )
        for d, entry in digests.items()
    ]
    verdicts = judge_all(cases, report.settings.margin, conditions(report)) if report.compares else {}
    for digest, entry in digests.items():
        verdict, shift = verdicts.get(digest, Verdict("", "")), measured.whole.get(digest)
        entry["verdict"], entry["why"], entry["p"] = verdict.word, verdict.why, verdict.p
        entry["new_errors"], entry["failed_on_both"] = new_errors[digest], failed[digest]
        entry["shift"] = _shift_row(shift, intervals.get(digest)) if shift else None
    return sorted(digests.values(), key=_urgency, reverse=True)


def new_entry(digest: str, text: DigestText) -> DigestEntry:
    """Return an entry that has only the digest and its text."""
    return {
        "digest": digest,
        **text,
        "a": None,
        "b": None,
        "pair": None,
        "verdict": "",
        "why": "",
        "p": None,
        "new_errors": 0,
        "failed_on_both": 0,
        "shift": None,
        "note": None,
    }


def _shift_row(shift: Shift, p95: tuple[float, float] | None) -> ShiftRow:
    """Return the shifts of a digest's times as ratios of side B over side A."""
    test = shift.rounds or shift.middle
    return {
        "ratio": exp(test.shift) if test else None,
        "low": exp(test.low) if test else None,
        "high": exp(test.high) if test else None,
        "paired": shift.paired,
        "p95_low": p95[0] if p95 else None,
        "p95_high": p95[1] if p95 else None,
        "detectable": shift.detectable,
        "noise": None if shift.noise is None else exp(shift.noise) - 1,
    }


def _urgency(entry: DigestEntry) -> tuple[int, int]:
    """Return a sort key: digests with errors first, then slower, faster and all other digests.

    Digests with errors are ordered by their number of events. Digests of another group are ordered by time gained or
    lost, or by total time if they have no pairs.
    """
    if entry["verdict"] == ERRORS:
        return 4, entry["new_errors"] + entry["failed_on_both"]
    rank = {SLOWER: 3, FASTER: 2}.get(entry["verdict"], 1)
    pair, side = entry["pair"], entry["a"] or entry["b"] or DigestsPart()
    return rank, abs(pair["lost_ns"]) if pair else side.get("total_ns") or 0


def join_plans(report: Report, path: Path) -> None:
    """Add the plans of a plans folder to a report.

    If a run already recorded plans of the same digest, the plans of the folder replace them. Raises FolderError if the
    path is not a plans folder. Raises InputError if the folder belongs to another tape.
    """
    folder = open_folder("plans", path)
    check_tape(folder, report.tape)
    database = open_analysis(report.settings.memory)
    try:
        report.query_plans |= plans_of_folder(database.con, folder)
    finally:
        database.close()
    report.servers = with_causes(report)
    report.trust = trust(report)
