# SPDX-License-Identifier: Apache-2.0
"""Find the differences of the servers that may explain why a statement changed.

A column's difference is a cause only where the statement compares, sorts or groups by it.
"""

import re
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
FAILS = "fails with an error that this difference can cause|fail with errors that this difference can cause"
OF_SERVERS = frozenset({"setting", "charset"})  # what belongs to no table
VALUES = frozenset("?'\"0123456789")  # how a value begins
_WORDS = re.compile(r"`(?:[^`]|``)*`|[\w$]+|[^\s\w]")
# Words that begin a part of a statement; behind the others of it stands the same part.
_PARTS = frozenset({"select", "from", "where", "on", "using", "having", "set", "values", "into", "limit", "by"})
_BEFORE_ITEM = frozenset({"select", "all", "sql_calc_found_rows", "sql_no_cache", "sql_cache", "straight_join", ","})
# ORDER BY 2: by an item of what is selected.
_BY_PLACE = re.compile(r"\b(?:order|group) by (?:[\w.`]+(?: asc| desc)?\s*,\s*)*\?", re.I)
_AFTER_ITEM = frozenset({",", "from", "into", ")", ";"})


def tables_of_digests(database: AnalysisDatabase) -> dict[str, frozenset[str]]:
    """Return the bare names, in lower case, of the tables that each digest names."""
    rows = database.con.execute("SELECT digest, tables FROM tape_digest WHERE tables IS NOT NULL").fetchall()
    return {digest: frozenset(bare_name(name) for name in tables if name) for digest, tables in rows}


def may_be_slower(report: Report, entry: DigestEntry) -> bool:
    """Whether a digest took longer in B, beyond the margin, and can't be judged by its times."""
    margin, pair, ratio = report.settings.margin, entry["pair"], ratio_of(entry)
    if entry["verdict"] not in (INCONCLUSIVE, UNSTABLE) or not ratio:
        return False
    return bool(ratio > 1 + margin.ratio and (pair["lost_ns"] if pair else 0) > margin.ns)


@dataclass(frozen=True)
class _Suspects:
    """The digests that may have a cause, by symptom, and what is known of them."""

    report: Report
    by_symptom: Mapping[str, frozenset[str]]
    certain: frozenset[str]
    entries: Mapping[str, DigestEntry]
    inserted: frozenset[str]  # tables
    messages: Mapping[tuple[str, str], str]  # of errors, by digest and number
    counted: Mapping[str, float]  # by how much counters of B are above those of A, as a logarithm

    def of(self, difference: ServerDifference) -> tuple[set[str], str]:
        """Return those that a difference may explain, and what the first of them do with it."""
        found: set[str] = set()
        doing = ""
        for line in lines_by(difference):
            more = {
                digest
                for symptom in line.symptoms
                for digest in self.by_symptom.get(symptom, ())
                if self._is_on(difference, digest) and self._fits(line, difference, digest, symptom)
            }
            if more and not doing:
                doing = FAILS if line.errnos else line.cause
            found |= more
        return found, doing

    def _fits(self, line: Line, difference: ServerDifference, digest: str, symptom: str) -> bool:
        """Whether a digest is or does all that a line asks for."""
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
        """Whether a digest is or does what the table of causes asks for."""
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
    """Return what changed, or may be slower."""
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
    """Return the servers' differences with the changed digests that each may explain; those that explain some first.

    What does not stand above the answer is there only where it explains some.
    """
    suspects = _suspects(report)
    by_counters = {digest: counted_for(report, digest) for digest in suspects.by_symptom["slower"]}

    def explained(difference: ServerDifference) -> ServerDifference:
        found, doing = suspects.of(difference)
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
    """Let other data count where LIMIT had nothing to choose, or a view or routine of the statement differs.

    A statement that compares each column of a unique index with a value finds one row. `unique`: unique_keys().
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
    """Whether each of these columns has to equal a value for a normalised statement to find a row."""
    words = [word.strip("`") if len(word) > 1 else word for word in _WORDS.findall(text.lower())]
    if "where" not in words or {"or", "xor", "not", "union", "|"} & {*words}:
        return False
    places = range(words.index("where"), len(words))
    equal = {words[place] for place in places if _after(words, place) == "=" and _after(words, place + 1)[:1] in VALUES}
    return equal >= {*columns}


def is_told(difference: ServerDifference) -> bool:
    """Whether a difference stands above the answer whatever it explains."""
    if difference.kind == "charset" or difference.fact == "next_id":
        return False
    return difference.kind != "setting" or is_above(difference.name)


def _telling(row: ServerDifference) -> tuple[bool, int, bool]:
    # A lost index before the buffer that a statement sorts in for want of it, whatever else that buffer may explain.
    return row.folded, 0 if row.changed else 1 if row.inconclusive else 2, row.kind == "setting"


def differences_of(report: Report, digest: str) -> list[ServerDifference]:
    """Return the differences of the servers that may explain what a digest does in B, most telling first.

    Settings that the counters of a slower digest speak for come before all others.
    """
    found = [each for each in report.servers.differences if digest in each.changed or digest in each.inconclusive]
    settings = counted_for(report, digest)
    return sorted(found, key=lambda each: settings.index(each.name) if each.name in settings else len(settings))


def costs_time(difference: ServerDifference) -> bool:
    """Whether a difference can make a statement slower; the others change only what it returns."""
    return any({"slower", "any"} & {*line.symptoms} for line in lines_by(difference))


class Reason(NamedTuple):
    """Why a digest may be slower: a difference of the servers, and what B does more of for `each`; both may lack."""

    difference: ServerDifference | None
    works: list[Work]
    each: str


def reason_of(report: Report, entry: DigestEntry) -> Reason:
    """Return the most telling difference of the servers for a digest, and the counters that speak for it."""
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
    """Return the reason of digests that share their difference as words, "" where there is none."""
    first = reasons[0]
    works = [work for reason in reasons for work in reason.works]
    said = [first.difference.text] if first.difference else ["plans agree"] if works and first.each != "write" else []
    return "; ".join([*said, *([work_text(works, first.each)] if works else [])])


def counted_for(report: Report, digest: str) -> list[str]:
    """Return the settings that decide about what B counts more of for a digest that is or may be slower."""
    entry = next((entry for entry in report.digests if entry["digest"] == digest), None)
    if entry is None or not (entry["verdict"] in (SLOWER, UNSTABLE) or may_be_slower(report, entry)):
        return []
    return settings_of(more_work(report, entry)[0])


def concerns(report: Report, difference: ServerDifference, digest: str, how: str) -> bool:
    """Whether a difference of a table can matter to a statement on it, for what the table of causes says of it.

    An index matters where a plan of either side uses it, a column where the statement names it or reads all; its
    collation where the statement compares its values.
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
    """Whether A and B plan a statement differently, and both read a table.

    A plan that reads none was decided by constants; no setting of the optimizer weighs anything for it.
    """
    plans, known = report.query_plans.get(digest), plans_known(report, digest)
    return bool(plans and plans["changes"]) and len(known) == 2 and all(map(accesses, known))


def class_of_plans(report: Report, digest: str) -> str | None:
    """Return the class of how a statement's plans differ; None where they are not known."""
    plans = report.query_plans.get(digest)
    return plans["class"] if plans else None


def plans_may_differ(report: Report, digest: str) -> bool:
    """Whether statistics can give a statement another plan: its plans are known to differ, or are unknown.

    INSERT of values reads no table, and a statement that compares each column of a unique index of its one table with
    a value reads one row by that index, whatever the statistics say.
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
    """Whether a statement reads several tables, so that they have an order."""
    known = plans_known(report, digest)
    return any(len(accesses(plan)) > 1 for plan in known) if known else is_written(report, digest, "joins")


def weighs_an_index(report: Report, digest: str) -> bool:
    """Whether the optimizer chose between indexes or orders of tables, or estimates are all that differs."""
    keys = any(access.key for plan in plans_known(report, digest) for access in accesses(plan))
    return keys or joins_tables(report, digest) or class_of_plans(report, digest) == ESTIMATES


# What the table of causes asks for of a statement's plans.
PLANS = {"another plan": another_plan, "joins tables": joins_tables, "weighs an index": weighs_an_index}


def plans_known(report: Report, digest: str) -> list[str]:
    """Return a statement's query plans as JSON, of both sides, as far as there are any."""
    kept = report.query_plans.get(digest)
    return [side["json"] for side in (kept["a"], kept["b"]) if "json" in side] if kept else []


def is_written(report: Report, digest: str, name: str) -> bool:
    """Whether a statement has a property."""
    return report.written.get(digest, 0) & PROPERTIES[name] != 0


def text_of(report: Report, digest: str) -> str:
    """Return a digest's normalised statement."""
    return next((entry["text"] for entry in report.digests if entry["digest"] == digest), "") or ""


def does(report: Report, digest: str, step: str) -> bool:
    """Whether a statement takes a step, by its query plans; where there are none, by its text."""
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
    """Return a difference as a sentence, with how many changed statements it may explain."""
    known = (line.cause for line in lines_by(difference) if not line.errnos)
    doing = (difference.doing or next(known, FAILS)).split("|")
    said = [
        f"{plural(n, f'{what} statement')} {doing[n != 1]}"
        for n, what in ((len(difference.changed), "changed"), (len(difference.inconclusive), "possibly slower"))
        if n
    ]
    return f"{difference.text}: {'; '.join(said)}" if said else difference.text


@dataclass
class _Part:
    """In which part of a statement a word stands; "" in the brackets of a function or list."""

    part: str = ""
    distinct: bool = False


def compares(text: str, column: str) -> bool:
    """Whether the order or equality of a column's values matters to a normalised statement.

    It does not where the column is an item of its own of what is selected, or is set to a value; then its collation
    can change neither the rows nor their time. In any other place it may.
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
    """Return where a column's name begins, with its table and schema."""
    while place >= 2 and words[place - 1] == ".":
        place -= 2
    return place


def _before(words: list[str], place: int) -> str:
    start = _start(words, place)
    return words[start - 1] if start else ""


def _after(words: list[str], place: int) -> str:
    return words[place + 1] if place + 1 < len(words) else ""


def _is_alias(words: list[str], place: int) -> bool:
    """Whether it is what something else is called: behind AS, or behind FROM, JOIN and the like a table's name."""
    return place > 0 and words[place - 1] in ("as", "from", "join", "update", "into", "table")


def _is_item(words: list[str], place: int) -> bool:
    """Whether a column stands alone among what is selected, with or without a name of its own."""
    if _before(words, place) not in _BEFORE_ITEM:
        return False
    end = place + 1
    if _after(words, place) == "as":
        end += 2
    elif _after(words, place).isidentifier() and _after(words, place) not in _AFTER_ITEM:
        end += 1
    return end >= len(words) or words[end] in _AFTER_ITEM
