# SPDX-License-Identifier: Apache-2.0
"""Decide the content of a report: its sentences, their tones and their order. Terminal, Markdown and HTML format it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ..common.staged import shown_path
from ..common.units import count, duration, percent, plural
from ..schemas.result_names import RESULT_KINDS, RESULT_REASONS
from .findings.causes import reason_text
from .findings.coverage import CAUSES, reason_words
from .findings.errors import NEW_ERRORS
from .findings.headline import (
    BREAKS,
    CHEAPER,
    ELSE,
    NO,
    OF_TIME,
    YES,
    Part,
    answer_of,
    parts_of,
    question,
    share,
)
from .findings.plans import UNKNOWN
from .findings.remedies import Task, to_do
from .findings.slower import cache_sentence, work_of_writes, work_sentence, work_text
from .findings.trust import baseline
from .model import Report, Servers, Variable
from .verdicts.verdict import ERRORS, FASTER, INCONCLUSIVE, SLOWER, UNSTABLE, WORDS


class Tone(StrEnum):
    """The tone of a sentence. `soft`: information only."""

    BAD = "bad"
    WARN = "warn"
    GOOD = "good"
    SOFT = "soft"


VERDICT_TONES = {SLOWER: Tone.BAD, ERRORS: Tone.BAD, FASTER: Tone.GOOD, UNSTABLE: Tone.WARN, INCONCLUSIVE: Tone.SOFT}
MAX_COUNTERS = 12  # counters shown at once
ROUNDS_SAID = "Relative latency: service time of a round divided by that of A's first round, over all statements."
TIMES_SAID = (
    "Service time: from sending a statement to the last byte of its reply. Response time: from the due time to the last"
    " byte. Quantiles exclude errors."
)
VALUES_SAID = {
    True: "Literal values are shown (--samples).",
    False: "Literal values are hidden (use --samples to show them).",
}
ANSWER_TONES = {YES: Tone.GOOD, NO: Tone.BAD}


@dataclass(frozen=True)
class Said:
    """A sentence with its tone."""

    tone: Tone
    text: str


@dataclass(frozen=True)
class RunLine:
    """One run with the letter of its side. `more`: a note if the run is the first of several rounds, or ""."""

    letter: str
    path: str
    name: str
    more: str
    target: str
    version: str
    speed: str


@dataclass(frozen=True)
class Differences:
    """The differences of the servers. `more`: number of unlisted differences.

    `of_version`: the differences that only the version causes.
    """

    shown: tuple[Said, ...]
    more: int
    of_version: tuple[str, ...]
    problem: str | None

    @property
    def title(self) -> str:
        """The words before the first difference. Together they form a sentence."""
        return "The servers differ:" if self.shown else "The servers differ"

    @property
    def first(self) -> str:
        """The most important difference, or else the number of differences that only the version causes."""
        if self.shown:
            return self.shown[0].text
        return f"in {plural(len(self.of_version), 'point')} (caused only by the version)"

    @property
    def others(self) -> str:
        """The number of further differences as a phrase, or ""."""
        return f"and {count(len(self.shown) - 1 + self.more)} more" if len(self.shown) > 1 else ""


@dataclass(frozen=True)
class PartLine:
    """One part of the answer. `counts` and `shares` are empty if the part is empty.

    `said`: the whole part as a short text.

    `cells`: name, digests, events, share of the traffic, share of the time, time lost.
    """

    name: str
    tone: Tone
    said: str
    counts: str
    shares: str
    inconclusive: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class TaskLine:
    """A task for the reader. `asks`: whether somebody must act. `digests`: its digests with their number of events."""

    tone: Tone
    tag: str
    asks: bool
    said: str
    part: str
    digests: tuple[tuple[str, int], ...]
    shown: tuple[str, ...]  # digests of the task, or else digests whose results follow from it


@dataclass(frozen=True)
class ResultLine:
    """Different results of a digest. `reason` is empty if unknown.

    `more_rows`: the difference in the number of rows, or "" if the number is equal.
    """

    what: str
    reason: str
    digest: str
    events: int
    more_rows: str
    first: str


@dataclass(frozen=True)
class EventsLine:
    """An outcome of some events of a run. `share`: their share of all events of the run."""

    letter: str
    status: str
    reason: str
    events: int
    share: str


@dataclass(frozen=True)
class LateLine:
    """Waiting times of a run's events: quantiles and maximum.

    `over`: share of the events that waited longer than 1 ms.
    """

    letter: str
    cause: str
    p50_ns: int
    p99_ns: int
    max_ns: int
    over: str


@dataclass(frozen=True)
class ExplainedLine:
    """A digest with sentences that may explain its change."""

    digest: str
    text: str
    said: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """The content of a report, prepared for display.

    The fields of the answer (question, parts, tasks, verdicts) are empty for a single run. `acts`: the sections that
    require action: statements, errors, results.
    """

    tape: str
    reference: str  # name of the baseline
    runs: tuple[RunLine, ...]
    differences: Differences
    cache: str
    question: str
    answer: Said | None
    answer_notes: tuple[str, ...]
    parts: tuple[PartLine, ...]
    tasks: tuple[TaskLine, ...]
    verdicts: tuple[tuple[str, int, Tone | None], ...]  # word of the verdict, number of digests, tone (None: plain)
    margin: str
    baseline: str
    acts: frozenset[str]
    results: tuple[ResultLine, ...]
    results_checked: str
    results_same: bool  # results were compared and none differ
    results_answer: str  # text if no result differs
    events: tuple[EventsLine, ...]
    lateness: tuple[LateLine, ...]
    lateness_answer: str  # text if no event has a due time
    errors_answer: str  # text if no error is listed
    plans: tuple[ExplainedLine, ...]  # digests whose query plans differ
    works: tuple[ExplainedLine, ...]  # digests with equal plans but different counters
    write_work: str
    plans_answer: str  # text if no plan differs
    counters_said: str  # text on the counters beyond the first MAX_COUNTERS
    variables: tuple[Variable, ...]  # variables in the table of causes
    other_variables: tuple[Variable, ...]
    others_said: str
    rounds_said: str
    times_said: str
    values_said: str


def view_of(report: Report) -> View:
    """Return the content of a report for display."""
    answer = answer_of(report)
    results, hidden = report.answers["results"], len(report.answers["counters"]) - MAX_COUNTERS
    return View(
        tape=shown_path(report.tape.path),
        reference="A" if report.compares else "the tape",
        runs=tuple(_runs(report)),
        differences=differences_of(report.servers),
        cache=(cache_sentence(report) or "") if report.compares else "",
        question=question(report) if report.compares else "",
        answer=Said(ANSWER_TONES.get(answer.answer, Tone.WARN), answer.sentence) if answer else None,
        answer_notes=answer.notes if answer else (),
        parts=tuple(_part(part) for part in parts_of(report)) if report.compares else (),
        tasks=tuple(_task(task) for task in to_do(report)) if report.compares else (),
        verdicts=tuple(_verdicts(report)),
        margin=_margin(report) if report.compares else "",
        baseline=baseline(report) if report.rounds > 1 else "",
        acts=frozenset(_acts(report)),
        results=tuple(
            ResultLine(
                RESULT_KINDS[row["kind"]].words,
                RESULT_REASONS[row["reason"]].words if row["reason"] else "",
                row["digest"] or "",
                row["events"],
                count(row["more_sent"]) if row["kind"] == "rows" else "",
                f"session {row['first_session']}, event {row['first_seq']}",
            )
            for row in results
        ),
        results_checked=_checked(report),
        results_same=not results and any(report.answers["compared"][0].values()),
        results_answer=_results_answer(report),
        events=tuple(_events(report)),
        lateness=tuple(
            LateLine(
                row["run"].upper(),
                CAUSES[row["cause"]],
                row["p50_ns"],
                row["p99_ns"],
                row["max_ns"],
                percent(row["over_1ms"], row["events"]),
            )
            for row in report.answers["lateness"]
        ),
        lateness_answer="With --pace none, events have no due time and no lateness.",
        errors_answer=_errors_answer(report),
        plans=tuple(_plans(report)),
        works=tuple(_works(report)),
        write_work=work_text(writes, "write") if (writes := work_of_writes(report)) else "",
        plans_answer=_plans_answer(report),
        counters_said=f"{plural(hidden, 'more counter')} with smaller differences",
        variables=tuple(row for row in report.variables if row.get("topic") is not None),
        other_variables=tuple(row for row in report.variables if row.get("topic") is None),
        others_said=_others_said(report),
        rounds_said=ROUNDS_SAID,
        times_said=TIMES_SAID,
        values_said=VALUES_SAID[report.settings.samples],
    )


def _errors_answer(report: Report) -> str:
    failed = sum(row["events"] for row in report.answers["error_counts"])
    if report.compares or not report.answers["error_counts"]:
        return "No statement failed."
    return (
        f"{plural(failed, 'statement')} failed. The tape does not record which statements failed originally, so no"
        " error counts as new."
    )


def _plans(report: Report) -> Iterator[ExplainedLine]:
    for entry in report.digests:
        plan = report.query_plans.get(entry["digest"])
        if plan and plan["changes"] and plan["class"] != UNKNOWN:
            yield ExplainedLine(entry["digest"], entry["text"], tuple(plan["changes"]))


def _works(report: Report) -> Iterator[ExplainedLine]:
    for entry in report.digests:
        if text := work_sentence(report.query_plans.get(entry["digest"])):
            yield ExplainedLine(entry["digest"], entry["text"], (text,))


def _plans_answer(report: Report) -> str:
    if any(True for _ in _plans(report)):
        return ""
    if report.query_plans:
        return "The most expensive statements have the same query plans."
    return "No query plans were recorded (--query-plans)."


def _others_said(report: Report) -> str:
    others = sum(1 for row in report.variables if row.get("topic") is None)
    noun = "more variable" if others < len(report.variables) else "variable"
    return f"{plural(others, noun)} with little effect on statements"


def _verdicts(report: Report) -> Iterator[tuple[str, int, Tone | None]]:
    if report.compares:
        yield from ((word, report.count(word), VERDICT_TONES.get(word)) for word in WORDS)


def differences_of(servers: Servers) -> Differences:
    """Return the differences of the servers for display."""
    shown = tuple(Said(Tone.BAD if each.changed else Tone.WARN, reason_text(each)) for each in servers.shown)
    return Differences(shown, servers.more, tuple(each.text for each in servers.folded), servers.problem)


def _runs(report: Report) -> Iterator[RunLine]:
    more = f" (first of {report.rounds} rounds)" if report.rounds > 1 else ""
    for letter, run in zip("AB", report.runs, strict=False):
        about = (str(run.target.get("name") or ""), str(run.target.get("version") or ""))
        yield RunLine(letter, shown_path(run.path), run.path.name, more, *about, str(run.parameters.get("speed")))


def _part(part: Part) -> PartLine:
    tones = {BREAKS: Tone.BAD, ELSE: Tone.BAD, CHEAPER: Tone.GOOD}
    tone = tones.get(part.name, Tone.WARN) if part.events > part.explained else Tone.SOFT
    name = f"{part.name} ({part.inconclusive:,} inconclusive)" if part.inconclusive else part.name
    if not part.events:
        return PartLine(part.name, tone, part.said(), "", "", "", (name, "0", "0", "-", "-", "-"))
    time = None if part.time_share is None else share(part.time_share)
    shares = [f"{share(part.events_share)} of the traffic{f', {time} of the execution time' if time else ''}"]
    if part.explained:
        shares.append(f"{plural(part.explained, 'event')} with a known reason")
    if part.name in OF_TIME:
        gained = "saved" if part.name == CHEAPER else "saved in total"
        shares.append(f"{duration(abs(part.lost_ns))} {'lost' if part.lost_ns > 0 else gained}")
    lost = duration(part.lost_ns) if part.name in OF_TIME else "-"
    return PartLine(
        part.name,
        tone,
        part.said(),
        f"{plural(part.digests, 'digest')}, {plural(part.events, 'event')}",
        "; ".join(shares),
        f"{plural(part.inconclusive, 'more digest')} inconclusive" if part.inconclusive else "",
        (name, f"{part.digests:,}", f"{part.events:,}", share(part.events_share), time or "-", lost),
    )


def _task(task: Task) -> TaskLine:
    tones = {BREAKS: Tone.BAD, ELSE: Tone.BAD}
    return TaskLine(
        Tone.SOFT if task.expected else tones.get(task.part, Tone.WARN),
        "may be slower" if task.inconclusive else task.part,
        not (task.expected or task.inconclusive),
        task.said(),
        task.part,
        tuple((digest or "", events) for digest, events in task.digests.items()),
        tuple(digest or "" for digest in task.shown),
    )


def _margin(report: Report) -> str:
    margin = report.settings.margin
    return (
        "Statements of B are compared with A. A statement is slower or faster only if the difference exceeds"
        f" {margin.ratio * 100:g} % and {duration(margin.ns)} and is statistically significant."
    )


def _acts(report: Report) -> Iterator[str]:
    if report.count(SLOWER) + report.count(ERRORS):
        yield "statements"
    if any(row["what"] in NEW_ERRORS for row in report.answers["errors"]):
        yield "errors"
    if any(row["known"] is None for row in report.answers["results"]):
        yield "results"


def _checked(report: Report) -> str:
    (compared,) = report.answers["compared"]
    return f"{count(compared['rows'])} events by rows, {count(compared['checksums'])} by checksum"


def _results_answer(report: Report) -> str:
    (compared,), reference = report.answers["compared"], "A" if report.compares else "the tape"
    if compared["rows"]:
        return f"all results match {reference} ({_checked(report)})"
    return f"{reference} has no results to compare with"


def _events(report: Report) -> Iterator[EventsLine]:
    rows, all_of = report.answers["accounting"], dict[str, int]()
    for row in rows:
        all_of[row["run"]] = all_of.get(row["run"], 0) + row["events"]
    for row in rows:
        status, share_of_all = row["status"].replace("_", " "), percent(row["events"], all_of[row["run"]])
        yield EventsLine(row["run"].upper(), status, reason_words(row["reason"]), row["events"], share_of_all)
