# SPDX-License-Identifier: Apache-2.0
"""Puts a report together: the questions' rows, the verdicts, and the sentences that say how far to trust them."""

from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError
from ..schemas import Folder, open_folder
from .masking import mask
from .points import taken
from .questions import REPORT, Desk, Row, open_desk
from .verdict import ERRORS, FASTER, MARGIN, MARGIN_NS, SLOWER, judge, z_for

BINS = 240
VERSION = 1


@dataclass
class Report:
    """Everything a report shows. `answers` holds the rows of each question by its name."""

    tape: Folder
    runs: list[Folder]
    answers: dict[str, list[Row]]
    digests: list[Row] = field(default_factory=list)
    trust: list[tuple[str, str]] = field(default_factory=list)  # (level, sentence): problem, warning, information
    bin_ns: int = 1_000_000_000
    samples: bool = False

    @property
    def compares(self) -> bool:
        """Whether there are two runs, so that differences can be ranked."""
        return len(self.runs) == 2

    def count(self, word: str) -> int:
        """How many digests got this verdict."""
        return sum(1 for digest in self.digests if digest["verdict"] == word)


def build(tape_path: Path, run_paths: list[Path], samples: bool = False, memory: str = "1500MB") -> Report:
    """Ask every question about a tape and one or two runs.

    Raises FolderError where one of them isn't what it is given as, InputError where they don't belong together or a run
    has no outcome.
    """
    tape = open_folder("tape", tape_path)
    runs = [open_folder("run", path) for path in run_paths]
    check(tape, runs)
    desk = open_desk(memory)
    try:
        answers, bin_ns = _ask(desk, tape, runs)
        texts = _texts(desk, tape, samples)
    finally:
        desk.close()
    report = Report(tape, runs, answers, bin_ns=bin_ns, samples=samples)
    if not samples:
        for question in ("errors", "error_counts"):
            for row in answers[question]:
                row["error"] = mask(row["error"])
    report.digests = merge_digests(answers, texts, report.compares)
    report.trust = trust(report)
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


def _ask(desk: Desk, tape: Folder, runs: list[Folder]) -> tuple[dict[str, list[Row]], int]:
    knows = tape.info.get("knows", [])
    desk.set(
        tape=str(tape.path), a=str(runs[0].path), errors_known="errno" in knows, margin=MARGIN, margin_ns=MARGIN_NS
    )
    desk.con.execute("SET VARIABLE b = CAST($1 AS VARCHAR)", [str(runs[1].path) if len(runs) > 1 else None])
    logs = [run.path / "target.tape" for run in runs]
    desk.set(tape_in_server=tape.info.get("measuring_point") == "server")
    for letter, log in zip("ab", [*logs, None], strict=False):
        given = str(log) if log is not None and any((log / "events").glob("part-*.parquet")) else None
        desk.con.execute(f"SET VARIABLE {letter}_log = CAST($1 AS VARCHAR)", [given])
    desk.run("prelude")
    n, longest = desk.con.execute("SELECT count(DISTINCT digest), max(done_ns) FROM outcome").fetchall()[0]
    bin_ns = max(1, -(-(longest or 1) // (BINS * 1_000_000_000))) * 1_000_000_000
    desk.set(z=z_for(n), bin_ns=bin_ns)
    return {name: desk.ask(name) for name in REPORT}, bin_ns


def _texts(desk: Desk, tape: Folder, samples: bool) -> dict[str, Row]:
    source = tape.source("digests")
    chosen = "sample" if samples else "NULL::BLOB AS sample"
    rows = desk.con.execute(f"SELECT digest, class, normalized, {chosen} FROM {source}").fetchall()
    return {
        digest: {"class": klass, "text": normalized, "sample": sample} for digest, klass, normalized, sample in rows
    }


def merge_digests(answers: dict[str, list[Row]], texts: dict[str, Row], compares: bool) -> list[Row]:
    """Return one row a digest with both sides, its pairs and its verdict; what cost or gained most comes first."""
    found: dict[str, Row] = {}
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
    for digest, entry in found.items():
        if compares:
            verdict = judge(entry["pair"], new_errors.get(digest, 0))
            entry["verdict"], entry["why"] = verdict.word, verdict.why
        else:
            entry["verdict"], entry["why"] = "", ""
        entry["new_errors"] = new_errors.get(digest, 0)
    return sorted(found.values(), key=_weight, reverse=True)


def _weight(entry: Row) -> tuple[int, int]:
    """Slower and errors first, then faster, then the rest; inside each by time gained or lost, else by total time."""
    order = {SLOWER: 3, ERRORS: 3, FASTER: 2}.get(entry["verdict"], 1)
    pair, a = entry["pair"], entry["a"]
    lost = abs(pair["lost_ns"]) if pair else (a or entry["b"] or {}).get("total_ns") or 0
    return order, lost


def trust(report: Report) -> list[tuple[str, str]]:
    """Return (level, sentence) on how far this report can be trusted, worst first."""
    found: list[tuple[str, str]] = []
    for warning in report.tape.info.get("warnings", []):
        found.append(("warning", f"The tape is not the whole workload: {warning['text']}."))
    for letter, run in zip("AB", report.runs, strict=False):
        info = run.info
        if not info.get("finished"):
            found.append(
                ("problem", f"Run {letter} was killed: it has what was written until then, and no accounting.")
            )
        if info.get("partial"):
            found.append(("problem", f"Run {letter} is partial: {info['partial']}."))
        if info.get("accounting") and not info["accounting"].get("balanced", True):
            found.append(("problem", f"The books of run {letter} don't balance: events are missing from it."))
        for text in info.get("generator", {}).get("warnings", ()):
            found.append(("warning", f"Run {letter}: {text}."))
        found += _lateness_sentences(report, letter)
    if not report.compares:
        found.append(
            (
                "information",
                f"One run: the tape's durations were taken {taken(report.tape.info)}, the run's in the client; they"
                " can't be ranked against each other. Give a second run for a comparison.",
            )
        )
    speeds = {str(run.info.get("parameters", {}).get("speed")) for run in report.runs}
    if len(speeds) > 1:
        found.append(
            ("warning", f"The runs went at different speeds ({', '.join(sorted(speeds))}): their loads differ.")
        )
    return sorted(found, key=lambda entry: ("problem", "warning", "information").index(entry[0]))


def _lateness_sentences(report: Report, letter: str) -> list[tuple[str, str]]:
    rows = {row["cause"]: row for row in report.answers["lateness"] if row["run"] == letter.lower()}
    found: list[tuple[str, str]] = []
    tool, session = rows.get("tool"), rows.get("session")
    if tool and tool["p99_ns"] > 5_000_000:
        found.append(
            (
                "warning",
                f"In run {letter} the replayer itself was late by {tool['p99_ns'] / 1e6:.1f} ms at p99:"
                " this machine is too busy.",
            )
        )
    if session and session["events"] and session["over_1ms"] > 0.05 * session["events"]:
        share = 100 * session["over_1ms"] / session["events"]
        found.append(
            (
                "warning",
                f"In run {letter} {share:.0f} % of the events waited for their session's previous answer:"
                " the target is slower than the original there, and service times alone hide it; see response times.",
            )
        )
    return found
