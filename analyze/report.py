# SPDX-License-Identifier: Apache-2.0
"""Puts a report together: the questions' rows, the verdicts, and how far to trust them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path

from ..errors import InputError
from ..schemas import Folder, open_folder
from .access import different_variables, plans_of
from .masking import mask
from .overtime import sentences
from .questions import PAGES, REPORT, Desk, Row, open_desk
from .shifts import Shift, bootstrap_quantile, measure
from .trust import doubt, effects, trust
from .verdict import ERRORS, FASTER, SLOWER, Case, Margin, Verdict, judge_all

BINS = 240
VERSION = 2


@dataclass
class Report:
    """Everything a report shows. `answers` holds the rows of each question by its name.

    `a` is the reference, `b` what is judged: each the rounds of one side, in order; b is empty where nothing is
    compared. `left_out`: rounds without a partner on the other side.
    """

    tape: Folder
    a: list[Folder]
    b: list[Folder]
    answers: dict[str, list[Row]]
    margin: Margin = field(default_factory=Margin)
    digests: list[Row] = field(default_factory=list)
    trust: list[tuple[str, str]] = field(default_factory=list)  # (level, sentence): problem, warning, information
    bin_ns: int = 1_000_000_000
    skip_ns: int = 0
    samples: bool = False
    left_out: int = 0
    plans: dict[str, Row] = field(default_factory=dict)  # see access.plans_of
    variables: list[Row] = field(default_factory=list)  # of the servers, where they differ
    course: list[tuple[str, str]] = field(default_factory=list)  # (run, sentence): what happened over time
    pages: dict[str, list[Row]] = field(default_factory=dict)  # rows for the digests' own pages, by question

    @property
    def compares(self) -> bool:
        """Whether there are two sides, so that differences can be ranked."""
        return bool(self.b)

    @property
    def runs(self) -> list[Folder]:
        """The first round of each side."""
        return [side[0] for side in (self.a, self.b) if side]

    @property
    def rounds(self) -> int:
        """How many rounds both sides have."""
        return min(len(self.a), len(self.b)) if self.b else len(self.a)

    def count(self, word: str) -> int:
        """How many digests got this verdict."""
        return sum(1 for digest in self.digests if digest["verdict"] == word)


@dataclass(frozen=True)
class Settings:
    """How a report is made: literal values shown, what counts as a difference, a warm-up left out, memory."""

    samples: bool = False
    margin: Margin = field(default_factory=Margin)
    skip_ns: int = 0
    memory: str = "1500MB"


def build(
    tape_path: Path, a_paths: Sequence[Path], b_paths: Sequence[Path] = (), settings: Settings | None = None
) -> Report:
    """Ask every question about a tape and the rounds of one side or two.

    Raises FolderError where one of them isn't what it is given as, InputError where they don't belong together or a run
    has no outcome.
    """
    settings = settings or Settings()
    tape = open_folder("tape", tape_path)
    a, b = ([open_folder("run", path) for path in paths] for paths in (a_paths, b_paths))
    check(tape, [*a, *b])
    rounds = min(len(a), len(b)) if b else len(a)
    left_out = len(a) + len(b) - (2 * rounds if b else rounds)
    a, b = a[:rounds], b[:rounds]
    desk = open_desk(settings.memory)
    try:
        report = Report(tape, a, b, {}, settings.margin, skip_ns=settings.skip_ns, samples=settings.samples)
        report.left_out = left_out
        prepare(desk, report)
        report.answers = {name: desk.ask(name) for name in REPORT}
        texts = _texts(desk, tape, settings.samples)
        shifts = measure(desk.columns("blocks"), tails := desk.columns("tails"), settings.margin.log)
        intervals = bootstrap_quantile(tails)
        report.plans = plans_of(desk, {"a": a, "b": b})
        report.pages = {name: desk.ask(name) for name in PAGES}
    finally:
        desk.close()
    if not settings.samples:
        for question in ("errors", "error_counts"):
            for row in report.answers[question]:
                for name in ("error", "error_before"):
                    if name in row:
                        row[name] = mask(row[name])
    report.trust = trust(report)
    report.course = sentences(report.answers["slowness"], report.answers["stalls"])
    if report.compares:
        target_a, target_b = (run.info.get("target", {}).get("variables") or {} for run in report.runs)
        report.variables = different_variables(target_a, target_b)
    report.digests = merge_digests(report, texts, shifts, intervals)
    report.trust += effects(report)
    return report


def check(tape: Folder, runs: list[Folder]) -> None:
    """Raise InputError where a run is empty or not of this tape."""
    for run in runs:
        if not any((run.path / "outcomes").glob("part-*.parquet")):
            raise InputError(f"{run.path}: the run is empty: it was stopped before anything was written")
        of = run.info.get("tape", {})
        if of.get("events") not in (None, tape.info.get("counts", {}).get("events")):
            raise InputError(
                f"{run.path} is a run of another tape ({of.get('path')}, {of.get('events'):,} events;"
                f" {tape.path} has {tape.info['counts']['events']:,})"
            )


def prepare(desk: Desk, report: Report) -> None:
    """Set the variables and make the tables that the questions read."""
    tape, sides = report.tape, {"a": report.a, "b": report.b}
    desk.set(
        tape=str(tape.path),
        errors_known="errno" in tape.info.get("knows", []),
        skip_ns=report.skip_ns,
        tape_in_server=tape.info.get("measuring_point") == "server",
    )
    for letter, side in sides.items():
        desk.set_list(letter, [str(run.path) for run in side])
        logs = [run.path / "target.tape" for run in side]
        given = next((str(log) for log in logs if any((log / "events").glob("part-*.parquet"))), None)
        desk.con.execute(f"SET VARIABLE {letter}_log = CAST($1 AS VARCHAR)", [given])
    desk.run("prelude")
    desk.run("pair")
    _show_samples(desk, sides)
    longest = desk.con.execute("SELECT max(done_ns) FROM outcome").fetchall()[0][0]
    report.bin_ns = max(1, -(-(longest or 1) // (BINS * 1_000_000_000))) * 1_000_000_000
    desk.set(bin_ns=report.bin_ns)


def _show_samples(desk: Desk, sides: dict[str, list[Folder]]) -> None:
    """Make the view `sampled`: counters of every run, with the time from its zero."""
    parts = [
        f"SELECT '{letter}' AS run, {number} AS round, real_ns, real_ns - {run.info.get('started_ns') or 0} AS at_ns,"
        f" source, name, value FROM {run.source('samples')}"
        for letter, side in sides.items()
        for number, run in enumerate(side, 1)
    ]
    desk.con.execute(f"CREATE OR REPLACE TEMP VIEW sampled AS {' UNION ALL '.join(parts)}")


def _texts(desk: Desk, tape: Folder, samples: bool) -> dict[str, Row]:
    source = tape.source("digests")
    chosen = "sample" if samples else "NULL::BLOB AS sample"
    rows = desk.con.execute(f"SELECT digest, class, normalized, {chosen} FROM {source}").fetchall()
    return {
        digest: {"class": klass, "text": normalized, "sample": sample} for digest, klass, normalized, sample in rows
    }


def merge_digests(
    report: Report, texts: dict[str, Row], shifts: dict[str, Shift], intervals: dict[str, tuple[float, float]]
) -> list[Row]:
    """Return one row a digest with both sides, its pairs and its verdict; what cost or gained most comes first."""
    answers, found = report.answers, dict[str, Row]()
    for row in answers["digests"]:
        text = texts.get(row["digest"], {"class": row["class"], "text": "", "sample": None})
        entry = found.setdefault(row["digest"], {"digest": row["digest"], **text, "a": None, "b": None, "pair": None})
        entry[row["run"]] = row
    for row in answers["pairs"]:
        found[row["digest"]]["pair"] = row
    new_errors: dict[str, int] = {}
    for row in answers["errors"]:
        if row["what"] in ("new", "changed"):
            new_errors[row["digest"]] = new_errors.get(row["digest"], 0) + row["events"]
    cases = [Case(d, entry["pair"], shifts.get(d), new_errors.get(d, 0)) for d, entry in found.items()]
    verdicts = judge_all(cases, report.margin, doubt(report)) if report.compares else {}
    for digest, entry in found.items():
        verdict, shift = verdicts.get(digest, Verdict("", "")), shifts.get(digest)
        entry.update(
            verdict=verdict.word,
            why=verdict.why,
            p=verdict.p,
            new_errors=new_errors.get(digest, 0),
            shift=_shift_row(shift, intervals.get(digest)) if shift else None,
        )
    return sorted(found.values(), key=_weight, reverse=True)


def _shift_row(shift: Shift, p95: tuple[float, float] | None) -> Row:
    """Return a digest's shifts as ratios."""
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


def _weight(entry: Row) -> tuple[int, int]:
    """Slower and errors first, then faster, then the rest; inside each by time gained or lost, else by total time."""
    order = {SLOWER: 3, ERRORS: 3, FASTER: 2}.get(entry["verdict"], 1)
    pair, a = entry["pair"], entry["a"]
    lost = abs(pair["lost_ns"]) if pair else (a or entry["b"] or {}).get("total_ns") or 0
    return order, lost
