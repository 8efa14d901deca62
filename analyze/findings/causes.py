# SPDX-License-Identifier: Apache-2.0
"""Find the differences of the servers that may explain why a statement changed.

A difference of a column is a cause only if the statement compares, sorts or groups by the column.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...common.units import plural
from ...schemas import PROPERTIES
from ..cause_table import COUNTER_WEIGHT, Line, is_above, lines_by
from ..database import AnalysisDatabase
from ..model import DigestEntry, Report, ServerDifference, Servers, bare_name, ratio_of
from ..verdicts.verdict import ERRORS, INCONCLUSIVE, SLOWER, UNSTABLE
from .errors import NEW_ERRORS, ON_BOTH
from .plans import AGREE, ESTIMATES, UNKNOWN, accesses, steps
from .results import unexplained
from .slower import DURABLE, Work, more_work, settings_of, work_text

CHANGED = (SLOWER, ERRORS, UNSTABLE)
NEW = frozenset(NEW_ERRORS) - {ON_BOTH}
FAILS = "fails with an error that the difference can cause|fail with errors that the difference can cause"
OF_SERVERS = frozenset({"setting", "charset"})  # kinds of differences that belong to no table
VALUES = frozenset("?'\"0123456789")  # characters that a literal value can begin with
_WORDS = re.compile(r"`(?:[^`]|``)*`|[\w$]+|[^\s\w]")
# SQL keywords that begin a clause of a statement. All other words belong to the current clause.
_PARTS = frozenset({"select", "from", "where", "on", "using", "having", "set", "values", "into", "limit", "by"})
_BEFORE_ITEM = frozenset({"select", "all", "sql_calc_found_rows", "sql_no_cache", "sql_cache", "straight_join", ","})
# ORDER BY or GROUP BY with a position: ORDER BY 2 sorts by the second item of the select list.
_BY_PLACE = re.compile(r"\b(?:order|group) by (?:[\w.`]+(?: asc| desc)?\s*,\s*)*\?", re.I)
_AFTER_ITEM = frozenset({",", "from", "into", ")", ";"})


def tables_of_digests(database: AnalysisDatabase) -> dict[str, frozenset[str]]:
    """Return the tables that each digest names, as bare names in lower case."""
    rows = database.con.execute("SELECT digest, tables FROM tape_digest WHERE tables IS NOT NULL").fetchall()
    return {digest: frozenset(bare_name(name) for name in tables if name) for digest, tables in rows}


def may_be_slower(report: Report, entry: DigestEntry) -> bool:
    """Return whether an inconclusive or unstable digest took longer on B by more than the margin."""
    margin, pair, ratio = report.settings.margin, entry["pair"], ratio_of(entry)
    if entry["verdict"] not in (INCONCLUSIVE, UNSTABLE) or not ratio:
        return False
    return bool(ratio > 1 + margin.ratio and (pair["lost_ns"] if pair else 0) > margin.ns)


@dataclass(frozen=True)
class _Suspects:
    """The changed digests by symptom, with the data that is needed to find their causes."""

    report: Report
    by_symptom: Mapping[str, frozenset[str]]
    certain: frozenset[str]
    entries: Mapping[str, DigestEntry]
    inserted: frozenset[str]  # tables with inserted rows
    messages: Mapping[tuple[str, str], str]  # error messages by digest and error number
    counted: Mapping[str, float]  # logarithm of B's counter divided by A's counter, by name

    def of(self, difference: ServerDifference) -> dict[str, str]:
        """Return the digests that a difference may explain, each with the phrase of the first matching line."""
        found: dict[str, str] = {}
        for line in lines_by(difference):
            more = {
                digest
                for symptom in line.symptoms
                for digest in self.by_symptom.get(symptom, ())
                if self._is_on(difference, digest) and self._fits(line, difference, digest, symptom)
            }
            found = dict.fromkeys(more, FAILS if line.errnos else line.cause) | found
        return found

    def _fits(self, line: Line, difference: ServerDifference, digest: str, symptom: str) -> bool:
        """Return whether a digest meets all conditions of a line of the table of causes."""
        if line.errnos:
            entry = self.entries.get(digest)
            text = (entry["text"] if entry else None) or ""
            return line.decides(difference, text, self.messages.get((digest, symptom)))
        return all(self._does(difference, digest, where) for where in line.where)

    def _is_on(self, difference: ServerDifference, digest: str) -> bool:
        tables = self.report.tables.get(digest, frozenset())
        if difference.kind == "routine":
            called = self.report.routines.get(digest, frozenset())
            return bare_name(difference.object) in called or difference.is_on(tables)
        return difference.kind in OF_SERVERS or difference.is_on(tables)

    def _does(self, difference: ServerDifference, digest: str, where: str) -> bool:
        """Return whether a digest meets one condition (`where`) of the table of causes."""
        entry, (word, _, rest) = self.entries.get(digest), where.partition(" ")
        text, kind = (entry["text"] or "", entry["class"]) if entry else ("", "")
        if where.startswith("~"):
            return re.search(where[1:], text, re.I | re.S) is not None
        if where == "its charset":
            name = difference.object
            return name == "utf8mb4" or re.search(rf"\b{name}\b", text, re.I) is not None
        if where in ("sorts", "uses a temporary table", "scans in a join"):
            return does(self.report, digest, where)
        if word in ("more", "fewer"):
            return self.counted.get(rest, 0.0) * (1 if word == "more" else -1) > COUNTER_WEIGHT
        if where == "numbers":
            return bool(self.inserted & self.report.tables.get(digest, frozenset()))
        if where == "plans may differ":
            return plans_may_differ(self.report, digest)
        if where in ("another plan", "joins tables", "weighs an index"):
            return PLANS[where](self.report, digest)
        if where in ("reads", "writes"):
            return kind == "read" if where == "reads" else kind in DURABLE
        return concerns(self.report, difference, digest, where)


def _suspects(report: Report) -> _Suspects:
    """Return the digests that changed or may be slower."""
    results, errors = report.answers.get("results", ()), report.answers.get("errors", ())
    different = {digest for row in unexplained(report) if (digest := row["digest"])}
    asking = {digest for row in results if row["known"] == "asks_server" and (digest := row["digest"])}
    inconclusive = {entry["digest"] for entry in report.digests if may_be_slower(report, entry)}
    changed = {entry["digest"] for entry in report.digests if entry["verdict"] in CHANGED}
    failing = {entry["digest"] for entry in report.digests if entry["verdict"] == ERRORS}
    by_symptom = {
        "any": frozenset(changed | different | inconclusive),
        "slower": frozenset((changed - failing) | inconclusive),
        "results": frozenset(different | asking),
    }
    messages = dict[tuple[str, str], str]()
    for row in errors:
        if row["what"] in NEW and row["digest"] is not None:
            number = str(row["after"])
            by_symptom[number] = by_symptom.get(number, frozenset()) | {row["digest"]}
            messages[row["digest"], number] = row.get("error") or ""
    certain = frozenset().union(*by_symptom.values()) - (inconclusive - changed - different)
    inserting = (entry["digest"] for entry in report.digests if is_written(report, entry["digest"], "adds_rows"))
    inserted = frozenset(name for digest in inserting for name in report.tables.get(digest, ()))
    counted = {row["name"]: float(row["weight"]) for row in report.answers.get("counters", ())}
    return _Suspects(report, by_symptom, certain, {e["digest"]: e for e in report.digests}, inserted, messages, counted)


def with_causes(report: Report) -> Servers:
    """Return the servers' differences, each with the changed digests that it may explain.

    Differences that explain a digest come first.

    A difference that is not shown above the answer is kept in `quiet` unless it explains a digest.
    """
    suspects = _suspects(report)
    by_counters = {digest: counted_for(report, digest) for digest in suspects.by_symptom["slower"]}

    def explained(difference: ServerDifference) -> ServerDifference:
        doing = suspects.of(difference)
        found = set(doing)
        if difference.kind == "setting":
            found |= {digest for digest, settings in by_counters.items() if difference.name in settings}
        changed, inconclusive = sorted(found & suspects.certain), sorted(found - suspects.certain)
        return replace(difference, changed=tuple(changed), inconclusive=tuple(inconclusive), doing=doing)

    servers = report.servers
    rows = [explained(difference) for difference in (*servers.differences, *servers.quiet)]
    told = [row for row in rows if row.changed or row.inconclusive or is_told(row)]
    quiet = tuple(row for row in rows if row not in told)
    return replace(servers, differences=tuple(sorted(told, key=_telling)), quiet=quiet)


def withdraw_excuses(report: Report, unique: Mapping[str, Iterable[Sequence[str]]]) -> None:
    """Drop LIMIT as the explanation of different data if LIMIT cannot be the reason.

    LIMIT is not the reason if the statement finds only one row, by a value for each column of a unique index. LIMIT is
    also dropped if a view or routine of the statement differs between the servers. `unique`: the result of
    unique_keys().
    """
    changed = [each for each in report.servers.differences if each.kind in ("view", "routine") and not each.folded]
    for row in report.answers["results"]:
        if row["known"] != "limit_unsorted" or row["kind"] != "data":
            continue
        digest = row["digest"] or ""
        text = text_of(report, digest)
        tables, routines = (reached.get(digest, frozenset()) for reached in (report.tables, report.routines))
        finds_one = not is_written(report, digest, "joins") and any(
            equals_all(text, columns) for table in tables for columns in unique.get(table, ())
        )
        if finds_one or any(each.is_on(tables) or bare_name(each.object) in routines for each in changed):
            row["known"] = row["reason"] = None


def equals_all(text: str, columns: Sequence[str]) -> bool:
    """Return whether a normalised statement requires each of these columns to equal a value."""
    words = [word.strip("`") if len(word) > 1 else word for word in _WORDS.findall(text.lower())]
    if "where" not in words or {"or", "xor", "not", "union", "|"} & {*words}:
        return False
    places = range(words.index("where"), len(words))
    equal = {words[place] for place in places if _after(words, place) == "=" and _after(words, place + 1)[:1] in VALUES}
    return equal >= {*columns}


def is_told(difference: ServerDifference) -> bool:
    """Return whether a difference is shown above the answer even if it explains no digest."""
    if difference.kind == "charset" or difference.fact == "next_id":
        return False
    return difference.kind != "setting" or is_above(difference.name)


def _telling(row: ServerDifference) -> tuple[bool, int, bool]:
    # A missing index comes before the setting of the sort buffer, because the missing index may be the reason for the
    # sort.
    return row.folded, 0 if row.changed else 1 if row.inconclusive else 2, row.kind == "setting"


def differences_of(report: Report, digest: str) -> list[ServerDifference]:
    """Return the server differences that may explain how a digest changed on B, the most likely first.

    Settings that influence the differing counters of a slower digest come before all others.
    """
    found = [each for each in report.servers.differences if digest in each.changed or digest in each.inconclusive]
    settings = counted_for(report, digest)
    return sorted(found, key=lambda each: settings.index(each.name) if each.name in settings else len(settings))


def costs_time(difference: ServerDifference) -> bool:
    """Return whether a difference can make a statement slower. Other differences only change results."""
    return any({"slower", "any"} & {*line.symptoms} for line in lines_by(difference))


class Reason(NamedTuple):
    """Why a digest may be slower: a server difference (or None), and the extra work of B (or an empty list).

    `each`: the unit of the work, `execution` or `write`.
    """

    difference: ServerDifference | None
    works: list[Work]
    each: str


def reason_of(report: Report, entry: DigestEntry) -> Reason:
    """Return the most likely server difference for a digest, and the counters that support it."""
    counted = counted_for(report, entry["digest"])
    found = (each for each in differences_of(report, entry["digest"]) if each.name in counted or costs_time(each))
    difference = next(found, None)
    works, each = more_work(report, entry)
    if each == "write":
        plan = report.query_plans.get(entry["digest"])
        of_plan = plan is not None and bool(plan["changes"]) and plan["class"] not in (*AGREE, UNKNOWN)
        of_setting = difference is None or difference.name in settings_of(works)
        works = [] if of_plan or not of_setting else works
    return Reason(difference, works, each)


def slower_because(reasons: list[Reason]) -> str:
    """Return, as text, the reason that these digests share. Returns "" if no reason is known."""
    first = reasons[0]
    works = [work for reason in reasons for work in reason.works]
    said = [first.difference.text] if first.difference else ["plans agree"] if works and first.each != "write" else []
    return "; ".join([*said, *([work_text(works, first.each)] if works else [])])


def counted_for(report: Report, digest: str) -> list[str]:
    """Return the settings that may explain the higher counters of B for a digest.

    The list is empty unless the digest is or may be slower.
    """
    entry = next((entry for entry in report.digests if entry["digest"] == digest), None)
    if entry is None or not (entry["verdict"] in (SLOWER, UNSTABLE) or may_be_slower(report, entry)):
        return []
    return settings_of(more_work(report, entry)[0])


def concerns(report: Report, difference: ServerDifference, digest: str, how: str) -> bool:
    """Return whether a difference of a table can affect a statement. `how`: the condition in the table of causes.

    An index matters if a plan of either side uses it. A column matters if the statement names it or selects all
    columns. The collation of a column matters if the statement compares the column's values.
    """
    name = difference.object.rpartition(".")[2]
    if how == "used":
        plans = plans_known(report, digest)
        return not plans or any(access.key == name for plan in plans for access in accesses(plan))
    text = text_of(report, digest)
    if how == "compared":
        return compares(text, name)
    if how == "named":
        named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) is not None
        return named or is_written(report, digest, "selects_all")
    return True


def another_plan(report: Report, digest: str) -> bool:
    """Return whether A and B plan a statement differently and both plans read a table.

    A plan that reads no table follows from constants. Optimizer settings cannot explain such a plan.
    """
    plans, known = report.query_plans.get(digest), plans_known(report, digest)
    return bool(plans and plans["changes"]) and len(known) == 2 and all(map(accesses, known))


def class_of_plans(report: Report, digest: str) -> str | None:
    """Return the class of the difference between a statement's plans, or None if the plans are unknown."""
    plans = report.query_plans.get(digest)
    return plans["class"] if plans else None


def plans_may_differ(report: Report, digest: str) -> bool:
    """Return whether different statistics may have changed a statement's plan.

    Known plans decide. If the plans are unknown, the text decides. INSERT of values reads no table. A statement on one
    table that compares each column of a unique index with a value always reads one row by that index.
    """
    known = class_of_plans(report, digest)
    if known not in (None, UNKNOWN):
        return known not in AGREE
    if is_written(report, digest, "adds_rows"):
        return is_written(report, digest, "copies_rows")
    text, tables = text_of(report, digest).lower(), report.tables.get(digest, frozenset())
    if text.count("select ") > 1 or len(tables) != 1 or is_written(report, digest, "joins"):
        return True
    (table,) = tables
    return not any(equals_all(text, columns) for columns in report.unique_keys.get(table, ()))


def joins_tables(report: Report, digest: str) -> bool:
    """Return whether a statement reads several tables, so that their join order matters."""
    known = plans_known(report, digest)
    return any(len(accesses(plan)) > 1 for plan in known) if known else is_written(report, digest, "joins")


def weighs_an_index(report: Report, digest: str) -> bool:
    """Return whether the optimizer had a choice of indexes or join orders, or the plans differ only in estimates."""
    keys = any(access.key for plan in plans_known(report, digest) for access in accesses(plan))
    return keys or joins_tables(report, digest) or class_of_plans(report, digest) == ESTIMATES


# Functions for the conditions on query plans in the table of causes.
PLANS = {"another plan": another_plan, "joins tables": joins_tables, "weighs an index": weighs_an_index}


def plans_known(report: Report, digest: str) -> list[str]:
    """Return the known query plans of a statement as JSON, at most one per side."""
    kept = report.query_plans.get(digest)
    return [side["json"] for side in (kept["a"], kept["b"]) if "json" in side] if kept else []


def is_written(report: Report, digest: str, name: str) -> bool:
    """Return whether a statement has a property of PROPERTIES."""
    return report.written.get(digest, 0) & PROPERTIES[name] != 0


def text_of(report: Report, digest: str) -> str:
    """Return a digest's normalised statement."""
    return next((entry["text"] for entry in report.digests if entry["digest"] == digest), "") or ""


def does(report: Report, digest: str, step: str) -> bool:
    """Return whether a statement takes a step, for example a sort.

    The statement's plans decide. If no plan is known, the statement's text decides.
    """
    known, joins = plans_known(report, digest), step == "scans in a join"
    if joins:
        read = [accesses(plan) for plan in known]
        return (
            any(len(plan) > 1 and any(one.is_scan for one in plan) for plan in read)
            if known
            else is_written(report, digest, "joins")
        )
    if known:
        return any(step in steps(plan) for plan in known)
    return is_written(report, digest, "sorts")


def reason_text(difference: ServerDifference) -> str:
    """Return a difference as a sentence with the number of changed statements that it may explain."""
    usual = next((line.cause for line in lines_by(difference) if not line.errnos), FAILS)
    said = []
    for digests, what in ((difference.changed, "changed"), (difference.inconclusive, "possibly slower")):
        by_phrase = Counter(difference.doing.get(digest, usual) for digest in digests)
        said += [f"{plural(n, f'{what} statement')} {phrase.split('|')[n != 1]}" for phrase, n in by_phrase.items()]
    return f"{difference.text}: {'; '.join(said)}" if said else difference.text


@dataclass
class _Part:
    """The clause of a statement that contains a word. `part` is "" inside the brackets of a function or list."""

    part: str = ""
    distinct: bool = False


def compares(text: str, column: str) -> bool:
    """Return whether a normalised statement depends on the order or equality of a column's values.

    Collation does not matter if the column is a plain item of the select list, or is set to a value. Every other use of
    the column may depend on its collation.
    """
    words = [word.strip("`") if len(word) > 1 else word for word in _WORDS.findall(text.lower())]
    by_item = re.search(r"\bunion\b(?!\s+all\b)", text, re.I) or _BY_PLACE.search(text)
    stack, name = [_Part()], column.lower().strip("`")
    for place, word in enumerate(words):
        here = stack[-1]
        if word == "(":
            stack.append(_Part())
        elif word == ")":
            if len(stack) > 1:
                stack.pop()
        elif word == "distinct" and here.part == "select":
            here.distinct = True
        elif word == name and not (_after(words, place) in ("(", ".") or _is_alias(words, place)):
            if here.part == "select" and not here.distinct and not by_item and _is_item(words, place):
                continue
            if here.part == "set" and _after(words, place) == "=" and _before(words, place) in ("set", ","):
                continue
            return True
        elif word in _PARTS:
            here.part, here.distinct = word, False
    return False


def _start(words: list[str], place: int) -> int:
    """Return the index of the first word of a column's name. The name includes its schema and table."""
    while place >= 2 and words[place - 1] == ".":
        place -= 2
    return place


def _before(words: list[str], place: int) -> str:
    start = _start(words, place)
    return words[start - 1] if start else ""


def _after(words: list[str], place: int) -> str:
    return words[place + 1] if place + 1 < len(words) else ""


def _is_alias(words: list[str], place: int) -> bool:
    """Return whether the word is an alias (after AS) or a table name (after FROM, JOIN and similar words)."""
    return place > 0 and words[place - 1] in ("as", "from", "join", "update", "into", "table")


def _is_item(words: list[str], place: int) -> bool:
    """Return whether a column is a plain item of the select list, with or without an alias."""
    if _before(words, place) not in _BEFORE_ITEM:
        return False
    end = place + 1
    if _after(words, place) == "as":
        end += 2
    elif _after(words, place).isidentifier() and _after(words, place) not in _AFTER_ITEM:
        end += 1
    return end >= len(words) or words[end] in _AFTER_ITEM
