# SPDX-License-Identifier: Apache-2.0
"""Find the cause and remedy of each change, and group the statements by cause. Failures come first.

The cause follows from the error number, from differing settings, and from lint's rules on the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...common.text import printable
from ...common.units import duration, plural
from ...schemas.result_names import RESULT_KINDS, RESULT_REASONS
from ..cause_table import lines_of, of_error, remedy_of
from ..lint.rules import Rule, applicable, tape_version
from ..model import DigestEntry, Report, ServerDifference
from ..rows import ErrorsRow, LostSessionsRow, ResultsRow
from ..verdicts.verdict import SLOWER
from .causes import (
    OF_SERVERS,
    Reason,
    class_of_plans,
    differences_of,
    may_be_slower,
    reason_of,
    slower_because,
)
from .errors import NEW_ERRORS, ON_BOTH, roots_of
from .headline import BREAKS, ELSE, PARTS, SLOW, other_results, times_sent
from .plans import AGREE, FAILS, UNKNOWN
from .results import PERHAPS
from .servers import WRITERS

MESSAGE_SHOWN = 200
BOTH_SIDES = "(also in A, but not in production)"
PRICE = "compare the cost of the DDL with its savings"
AGAIN = "and compare again"
MORE_WORK = {
    "execution": "compare versions, buffer pools and data, because B does more work for the same plan",
    "write": "compare durability settings and triggers, because B does more work for each write",
}
# BY_DATA: reasons for different results that may come from a difference of a column. OF_DATA: fields of such a column.
BY_DATA = frozenset({None, "asks_server", "ties", "concat_unsorted", "server_writes", *PERHAPS})
OF_DATA = frozenset({"type", "charset", "collation", "expression"})
A_MODES = "run B with the sql_mode of A"  # first words of the sql_mode remedy in causes.tsv
REMEDY_OF_BOTH = "set up A like production, and compare again"


class Cause(NamedTuple):
    """A cause and its remedy, both as short texts."""

    text: str
    remedy: str


def cause_of(
    errno: int | None,
    statement: str,
    rules: Sequence[Rule] = (),
    differences: Sequence[ServerDifference] = (),
    message: str | None = None,
    compared: bool = False,
) -> Cause:
    """Return why a normalised statement fails with an error number. If the cause is unknown, return the error message.

    `rules`: lint's rules for the step from A to B. `differences`: server differences that concern the statement.
    `compared`: whether the list of differences is complete. If so, an SQL mode that the list lacks is equal on both
    sides.
    """
    line = of_error(errno)
    if line is None:
        said = f": {printable(message, MESSAGE_SHOWN)}" if message else ""
        return Cause(f"error {errno}{said}", "use report --show to see the statement")
    if "lint" in line.where and (rule := first_rule(rules, statement)):
        return of_rule(rule)
    for token in line.by:
        for difference in differences:
            named = line._replace(by=(token,)).names(difference)
            if named and line.decides(difference, statement, message):
                return of_difference(Cause(line.cause, line.remedy), difference)
    first, _, others = line.remedy.partition(", or ")
    is_equal = compared and bool(others) and first.startswith(A_MODES)
    return Cause(line.cause, others if is_equal else line.remedy)


def of_difference(cause: Cause, difference: ServerDifference) -> Cause:
    """Return a cause extended by the difference and by the remedy that makes B like A."""
    name, text, as_a = difference.name, difference.text, remedy_of(difference)
    if difference.kind == "setting":
        text = text if text.startswith(f"{name}: only ") else text.replace(f"{name}: ", f"{name} is ", 1)
    first, _, others = cause.remedy.partition(", or ")
    if difference.kind in ("routine", "view"):
        remedy = as_a
    elif re.search(rf"(?<!\w){re.escape(name)}(?!\w)", first) or first == as_a:
        remedy = f"{as_a}, or {others}" if others else as_a
    else:
        remedy = f"{as_a}, or {cause.remedy}"
    return Cause(f"{cause.text}: {text}" if ": " not in text else f"{cause.text} ({text})", remedy)


def of_result(row: ResultsRow) -> Cause:
    """Return the cause of a row of results.sql: its known reason, or else the kind of difference."""
    found = RESULT_KINDS[row["kind"]] if row["reason"] is None else RESULT_REASONS[row["reason"]]
    return Cause(found.words, found.remedy)


def of_rule(rule: Rule) -> Cause:
    """Return a rule's advice as a cause (first sentence) and a remedy (the other sentences)."""
    text, _, remedy = rule.advice.partition(". ")
    return Cause(text.rstrip("."), (remedy[:1].lower() + remedy[1:]).rstrip(".") or "change these statements")


def rules_between(report: Report, effect: str) -> list[Rule]:
    """Return lint's rules with this effect for the step from A to B. The list is empty if B's version is unknown."""
    versions = [str(run.target.get("version") or "") for run in report.runs]
    source, target = (tape_version(said) for said in versions)
    if target is None:
        return []
    return [rule for rule in applicable(source, target) if rule.effect == effect and rule.where in ("text", "call")]


def first_rule(rules: Sequence[Rule], statement: str) -> Rule | None:
    """Return the first rule that matches a normalised statement."""
    return next((rule for rule in rules if _found(rule, statement.lower())), None)


def _found(rule: Rule, text: str) -> bool:
    left = re.sub(rule.unless, " ", text, flags=re.S) if rule.unless else text
    return re.search(rule.regex(), left, re.S) is not None


@dataclass
class Task:
    """A group of statements with one cause. `digests`: number of events by digest, root errors first.

    `inconclusive`: the statements take longer, but their times do not prove that B is the cause. `following`: digests
    that fail because another digest of the group failed. `results`: different results that follow from the cause, by
    digest. `sessions`: sessions without a connection. `not_sent`: events that these sessions could not send.
    """

    part: str
    cause: str
    remedy: str
    expected: bool = False  # two correct servers may differ in this way
    lost_ns: int = 0
    digests: dict[str | None, int] = field(default_factory=dict)
    inconclusive: bool = False
    following: list[str | None] = field(default_factory=list)
    results: dict[str | None, int] = field(default_factory=dict)
    sessions: int = 0
    not_sent: int = 0

    @property
    def events(self) -> int:
        """The number of events of the group."""
        return sum(self.digests.values())

    @property
    def shown(self) -> list[str | None]:
        """The digests to show: the digests of the group, or the digests of `results` if the group has none."""
        return list(self.digests or self.results)

    def said(self) -> str:
        """Return the task as one sentence."""
        what = {BREAKS: "error", ELSE: "different result", SLOW: "event"}[self.part]
        lost = ""
        if self.part == SLOW and self.lost_ns < 0:
            lost = f", {duration(-self.lost_ns)} saved in total"
        elif self.part == SLOW:
            lost = f", {duration(self.lost_ns)} lost ({duration(self.lost_ns / max(self.events, 1))} per event)"
        counts = f"{plural(len(self.digests), 'digest')}, {plural(self.events, what)}{lost}" if self.digests else ""
        if self.following:
            after = sum(self.digests[digest] for digest in self.following)
            counts += f", {after:,} of them after an earlier error"
        if self.sessions:
            refused = (
                f"{plural(self.sessions, 'session')} without a connection, {plural(self.not_sent, 'event')} not sent"
            )
            counts += f", {refused}" if counts else refused
        if self.results:
            others = plural(sum(self.results.values()), "different result")
            counts += f"{', followed by' if counts else ''} {others} of {plural(len(self.results), 'digest')}".lstrip()
        if self.inconclusive:
            counts += ", with inconclusive times"
        return f"{counts}: {self.cause}; {self.remedy}"


def to_do(report: Report) -> list[Task]:
    """Return the tasks: failures, then different results, then slower statements.

    Within each of these three parts, large tasks come first.
    """
    tasks: dict[tuple[str, str, bool], Task] = {}
    roots = roots_of(report.answers["errors"], texts_of(report), report.tables)
    causes = _Causes(report, roots)
    for lost in report.answers.get("lost_sessions", ()):
        task = _task(tasks, BREAKS, causes.of_session(lost))
        task.sessions, task.not_sent = task.sessions + lost["sessions"], task.not_sent + lost["not_sent"]
    for part, cause, expected, digest, events, lost_ns in _items(report, causes):
        task = _task(tasks, part, cause, expected)
        task.digests[digest] = task.digests.get(digest, 0) + events
        task.lost_ns += lost_ns
        if part == BREAKS and digest in roots and digest not in task.following:
            task.following.append(digest)
    for row in other_results(report):
        if root := causes.of_root(row):
            results = _task(tasks, *root).results
            results[row["digest"]] = results.get(row["digest"], 0) + row["events"]
    for cause, entry in _perhaps_slower(report):
        task = tasks.setdefault((SLOW, cause.text, True), Task(SLOW, cause.text, cause.remedy, inconclusive=True))
        task.digests[entry["digest"]] = times_sent(entry)
        task.lost_ns += pair["lost_ns"] if (pair := entry["pair"]) else 0
    for task in tasks.values():
        if task.part == SLOW:
            _add_counters(report, task)
            continue  # keep the order of the report, which begins with the most time lost
        task.digests = dict(
            sorted(task.digests.items(), key=lambda item: (item[0] in task.following, -item[1], item[0] or ""))
        )
    return sorted(tasks.values(), key=_rank)


def _rank(task: Task) -> tuple[int, bool, bool, int, str]:
    weight = task.lost_ns if task.part == SLOW else task.events + task.not_sent + sum(task.results.values())
    return PARTS.index(task.part), task.inconclusive, task.expected, -weight, task.cause


def texts_of(report: Report) -> dict[str, str]:
    """Return the normalised statements by digest."""
    return {entry["digest"]: entry["text"] or "" for entry in report.digests}


def _task(tasks: dict[tuple[str, str, bool], Task], part: str, cause: Cause, expected: bool = False) -> Task:
    """Return the task of a cause. A new task is added if none exists."""
    return tasks.setdefault((part, cause.text, False), Task(part, cause.text, cause.remedy, expected))


class _Causes:
    """Causes of failed statements, of lost sessions and of different results.

    `roots`: the root error of each digest whose error follows from another statement.
    """

    def __init__(self, report: Report, roots: Mapping[str, ErrorsRow]) -> None:
        self._report, self._roots = report, roots
        self._texts, self._rules = texts_of(report), rules_between(report, "fails")
        self._writes = {row["digest"]: row for row in other_results(report) if row["kind"] == "affected"}
        telling = {name for line in lines_of("results") for name in line.by}
        self._changes = [rule for rule in rules_between(report, "changes") if f"rule.{rule.name}" in telling]

    def of_error(self, row: ErrorsRow) -> Cause:
        """Return the cause of a row of errors.sql."""
        root = self._roots.get(row["digest"] or "", row)
        digest = root["digest"] or ""
        concerning = list(differences_of(self._report, digest))
        text, compared = self._texts.get(digest, ""), self._report.servers.problem is None
        cause = cause_of(root["after"], text, self._rules, concerning, root["error"], compared)
        if row["what"] == ON_BOTH:
            return Cause(f"{cause.text} {BOTH_SIDES}", f"{REMEDY_OF_BOTH}: {cause.remedy}")
        return cause

    def of_session(self, row: LostSessionsRow) -> Cause:
        """Return why the sessions of a row of lost_sessions.sql have no connection."""
        servers = self._report.servers
        settings = [each for each in (*servers.differences, *servers.quiet) if each.kind == "setting"]
        return cause_of(row["errno"], "", (), settings, row["error"])

    def of_root(self, row: ResultsRow) -> tuple[str, Cause] | None:
        """Return the part and cause of the error or write that explains a row of results.sql, or None."""
        if row["known"] is not None:
            return None
        if row["reason"] != "write_changed_others":
            cause = self._of_failure(row)
            return (BREAKS, cause) if cause else None
        first = self._writes.get(row["root_digest"])
        if first is None or first["reason"] == "write_changed_others":
            return None
        return self.of_root(first) or (ELSE, self.of_result(first))

    def of_result(self, row: ResultsRow) -> Cause:
        """Return the cause of a row of results.sql that does not follow from an earlier error or write."""
        if row["reason"] in BY_DATA:
            digest = row["digest"] or ""
            if difference := _other_object(self._report, digest):
                return Cause(
                    f"{RESULT_KINDS[row['kind']].words}: {difference.text}", f"{remedy_of(difference)}, {AGAIN}"
                )
            rule = first_rule(self._changes, self._texts.get(digest, ""))
            if row["reason"] != "asks_server" and rule:
                return of_rule(rule)
        return of_result(row)

    def _of_failure(self, row: ResultsRow) -> Cause | None:
        errno, digest = row["root_errno"], row["root_digest"]
        if errno is None:
            return None
        if digest is None:
            lost = self._report.answers.get("lost_sessions", ())
            return next((self.of_session(each) for each in lost if each["errno"] == errno), None)
        return next(
            (
                self.of_error(each)
                for each in self._report.answers["errors"]
                if (each["digest"], each["after"]) == (digest, errno) and each["what"] in NEW_ERRORS
            ),
            None,
        )


def _items(report: Report, causes: _Causes) -> Iterator[tuple[str, Cause, bool, str | None, int, int]]:
    """Yield (part, cause, expected, digest, events, lost time in ns) for each change."""
    for error in report.answers["errors"]:
        if error["what"] in NEW_ERRORS and error["digest"] is not None:
            yield BREAKS, causes.of_error(error), False, error["digest"], error["events"], 0
    for row in other_results(report):
        if causes.of_root(row):
            continue
        yield ELSE, causes.of_result(row), row["known"] is not None, row["digest"], row["events"], 0
    for entry in report.digests:
        if entry["verdict"] == SLOWER:
            lost = pair["lost_ns"] if (pair := entry["pair"]) else 0
            yield SLOW, _priced(report, _why_slower(report, entry)), False, entry["digest"], times_sent(entry), lost


def _other_object(report: Report, digest: str) -> ServerDifference | None:
    """Return the difference that may change results.

    Events and triggers come first, then views, columns and settings.
    """
    found = differences_of(report, digest)
    return next(
        (
            each
            for wanted in (WRITERS, ("routine", "view"), ("column",), OF_SERVERS)
            for each in found
            if each.kind in wanted and (each.kind != "column" or each.fact in OF_DATA)
        ),
        None,
    )


def _perhaps_slower(report: Report) -> Iterator[tuple[Cause, DigestEntry]]:
    """Yield digests that may be slower, each with the server or plan difference that explains it."""
    for entry in report.digests:
        if may_be_slower(report, entry) and (cause := _difference_as_cause(report, entry)):
            yield _priced(report, cause), entry


def _priced(report: Report, cause: Cause) -> Cause:
    """Return a cause with the remedy for tried DDL. B has the DDL on purpose, so the remedy must not make B like A."""
    return Cause(cause.text, PRICE) if report.settings.ddl else cause


def _why_slower(report: Report, entry: DigestEntry) -> Cause:
    """Return the possible cause of a slower digest: a difference of the servers or of the plans."""
    if entry["note"]:
        return Cause(
            "most events take longer in B, but a few events take much longer in A",
            "compare the distributions of the times of both sides",
        )
    agree = class_of_plans(report, entry["digest"]) in AGREE
    remedy = (
        "use querytape plans --analyze 2s to count the work of each execution (the plans agree)"
        if agree
        else "use querytape plans to compare the plans of both servers"
    )
    return _difference_as_cause(report, entry) or Cause("no known difference explains the slowdown", remedy)


def _add_counters(report: Report, task: Task) -> None:
    """Add the differing counters of a task's digests to its cause."""
    reasons = [reason_of(report, entry) for entry in report.digests if entry["digest"] in task.digests]
    if counted := [reason for reason in reasons if reason.works and _group(reason) == task.cause]:
        task.cause = slower_because(counted)


def _group(reason: Reason) -> str:
    """Return the text of a reason without numbers. Digests with an equal text form one group."""
    return reason.difference.text if reason.difference else reason.works[0].says


def _difference_as_cause(report: Report, entry: DigestEntry) -> Cause | None:
    """Return the difference of servers, counters or plans that may explain a digest, or None."""
    reason = reason_of(report, entry)
    if reason.difference:
        return Cause(reason.difference.text, f"{remedy_of(reason.difference)}, {AGAIN}")
    if reason.works:
        return Cause(_group(reason), MORE_WORK[reason.each])
    plans = report.query_plans.get(entry["digest"])
    if not plans or not plans["changes"] or plans["class"] == UNKNOWN:
        return None
    first = plans["changes"][0]
    if plans["class"] == FAILS:
        return Cause(first, "EXPLAIN the statement on both servers, and compare the errors")
    return Cause(f"another query plan ({first})", "check the plans, statistics, indexes and hints of both sides")
