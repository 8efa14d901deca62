# SPDX-License-Identifier: Apache-2.0
"""Explain times by the work of one execution, the query cache, stalls and changes over time.

Server counters (pages, rows, syncs) are divided by the executions of a read, or by the number of writes of a run.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from statistics import fmean, median, pstdev
from typing import NamedTuple

import duckdb

from ...common.units import count, duration, plural
from ...schemas import Folder
from ..model import DigestEntry, Observation, PlanEntry, Report, ratio_of
from ..rows import RelativeLatencyRow, StallsRow
from ..verdicts.verdict import FASTER, SLOWER
from .plans import AGREE

HANDLERS = tuple(f"Handler_read_{name}" for name in ("first", "key", "last", "next", "prev", "rnd", "rnd_next"))
# Classes of statements that wait for durable writes.
DURABLE = frozenset({"write", "transaction", "ddl"})
MAX_NAMED = 2
WHOLE = 10  # numbers above this limit have no decimals
MIN_WRITES = 20  # minimum number of writes for a mean per write
MIN_CACHE_SHARE = 0.05
PARTS = 20  # number of parts of a run in relative_latency.sql
NOTICEABLE = 1.1
CALM_PARTS = 3
MIN_PERIODIC = 4
PERIODIC_SPREAD = 0.25
MIN_IN_PART = 20


@dataclass(frozen=True)
class Kind:
    """A kind of work that servers count. `counters`: names of counters. The counters that a server has are added up.

    `says`: a verb and its object. `{}` is the number, `one|more` are the singular and plural forms. `least` and
    `times`: the smallest difference and the smallest ratio that matter. `settings`: settings that influence the
    counters, most likely first.

    `of_none`: whether a count of 0 on one side is comparable. MySQL 8.0 does not count the rows that COUNT(*) reads.
    """

    says: str
    counters: tuple[str, ...]
    least: float
    times: float = 2.0
    settings: tuple[str, ...] = ()
    of_none: bool = True


# Kinds of work for one execution of a read, most important kind first.
READS = (
    Kind("reads {} page|pages from disk", ("Innodb_pages_read",), 4, settings=("innodb_buffer_pool_size",)),
    Kind("merges sorted rows {} time|times on disk", ("Sort_merge_passes",), 1, settings=("sort_buffer_size",)),
    Kind(
        "makes {} temporary table|tables on disk",
        ("Created_tmp_disk_tables",),
        1,
        settings=("tmp_table_size", "max_heap_table_size"),
    ),
    Kind("joins {} table|tables without an index", ("Select_full_join",), 1),
    Kind("reads {} row|rows", HANDLERS, 100, of_none=False),
    Kind("writes {} row|rows to temporary tables", ("Handler_write", "Handler_tmp_write"), 100),
    Kind("sorts {} row|rows", ("Sort_rows",), 100),
)


WRITES = (
    Kind(
        "writes {} transaction|transactions to the binary log",
        ("binlog_cache_use", "binlog_stmt_cache_use"),
        0.2,
        1.5,
        ("log_bin", "sync_binlog"),
    ),
    Kind("waits {} time|times for a row lock", ("innodb_row_lock_waits",), 0.02),
    Kind("waits {} time|times for room in the log buffer", ("innodb_log_waits",), 0.01),
    Kind(
        "syncs the redo log {} time|times",
        ("innodb_os_log_fsyncs",),
        0.2,
        1.5,
        ("innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog"),
    ),
    Kind(
        "syncs InnoDB's files {} time|times",
        ("innodb_data_fsyncs",),
        0.2,
        1.5,
        ("innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite", "log_bin"),
    ),
)


class Work(NamedTuple):
    """The work of one execution on both sides. `rank`: the position of its kind in the list of kinds."""

    rank: int
    says: str
    settings: tuple[str, ...]
    a: float
    b: float


def differences(a: Mapping[str, float], b: Mapping[str, float], kinds: Iterable[Kind] = READS) -> list[Work]:
    """Return the large differences between the counters of both sides, most important first.

    A counter that one side lacks is not compared.
    """
    found = []
    for rank, kind in enumerate(kinds):
        known = [[side[name] for name in kind.counters if name in side] for side in (a, b)]
        if not all(known):
            continue
        before, after = map(sum, known)
        low, high = min(before, after), max(before, after)
        if high - low >= kind.least and high >= kind.times * low and (low or kind.of_none):
            found.append(Work(rank, kind.says, kind.settings, before, after))
    return found


def counted(text: str | None) -> dict[str, float]:
    """Return the counters of one execution by name, as the run recorded them for a read.

    The dict is empty if the run recorded no counters.
    """
    try:
        found = json.loads(text or "")["counters"]
        return {str(name): float(value) for name, value in found.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def work_of(plan: PlanEntry | None) -> list[Work]:
    """Return the differing counters of a digest's reads if its plans agree."""
    if not plan or plan["class"] not in AGREE:
        return []
    a, b = (counted(side.get("counters")) for side in (plan["a"], plan["b"]))
    return differences(a, b)


def work_sentence(plan: PlanEntry | None) -> str:
    """Return the differing counters of a digest's reads as one sentence, or "" if none differ."""
    works = work_of(plan)
    return f"plans agree; {work_text(works)}" if works else ""


def work_of_writes(report: Report) -> list[Work]:
    """Return the differing server counters per write of the runs."""
    a, b = (report.write_counters.get(side, {}) for side in ("a", "b"))
    return differences(a, b, WRITES)


def more_work(report: Report, entry: DigestEntry) -> tuple[list[Work], str]:
    """Return the extra work of B for a digest, and the unit of the work: `execution` or `write`."""
    is_write = entry["class"] in DURABLE
    works = work_of_writes(report) if is_write else work_of(report.query_plans.get(entry["digest"]))
    return [work for work in works if work.b > work.a], "write" if is_write else "execution"


def settings_of(works: Iterable[Work]) -> list[str]:
    """Return the settings that influence these counters, most likely first."""
    return list(dict.fromkeys(name for work in works for name in work.settings))


def work_text(works: Iterable[Work], each: str = "execution") -> str:
    """Return at most MAX_NAMED differences as text, like `for each execution B reads 225 pages from disk, A 0.2`.

    Differences of one kind from several digests become one range.
    """
    kinds: dict[tuple[int, str, bool], list[Work]] = {}
    for work in works:
        kinds.setdefault((work.rank, work.says, work.b > work.a), []).append(work)
    said = []
    for (_, says, more), same in sorted(kinds.items())[:MAX_NAMED]:
        a, b = [work.a for work in same], [work.b for work in same]
        (name, much), (other, less) = (("B", b), ("A", a)) if more else (("A", a), ("B", b))
        said.append(f"{name} {_says(says, much)}, {other} {_range(less)}")
    return f"for each {each} {'; '.join(said)}"


def _says(says: str, numbers: list[float]) -> str:
    """Return a phrase of a Kind with its number inserted. The number 1 takes the singular form."""
    words = says.format(_range(numbers).replace(" ", "\0")).split(" ")
    one = _range(numbers) == "1"
    return " ".join(word.partition("|")[0 if one or "|" not in word else 2] for word in words).replace("\0", " ")


def _range(numbers: list[float]) -> str:
    low, high = number(min(numbers)), number(max(numbers))
    return low if low == high else f"{low} to {high}"


def number(value: float) -> str:
    """Return a number as text. Small numbers have one or two decimals unless they are whole."""
    if value >= WHOLE or value == round(value):
        return count(round(value))
    return f"{value:.1f}".removesuffix(".0") if value >= 0.1 else f"{value:.2g}"


def write_counters(
    con: duckdb.DuckDBPyConnection, sides: Mapping[str, Sequence[Folder]]
) -> dict[str, dict[str, float]]:
    """Return {side: {counter: growth per write}} over all rounds.

    A side is left out if its runs have no counters or too few writes. A round is left out if the server restarted.
    """
    found: dict[str, dict[str, float]] = {}
    for letter, rounds in sides.items():
        grown: Counter[str] = Counter()
        names: set[str] | None = None
        writes = 0
        for run in rounds:
            kept = run.run_info.get("server_counters") or {}
            before, after = kept.get("before") or {}, kept.get("after") or {}
            if not before or not after or any(after[name] < before[name] for name in before.keys() & after.keys()):
                continue
            both = before.keys() & after.keys() - {"uptime"}
            names = both if names is None else names & both
            grown.update({name: after[name] - before[name] for name in both})
            writes += _writes(con, run)
        if writes >= MIN_WRITES:
            found[letter] = {name: grown[name] / writes for name in sorted(names or ())}
    return found


def _writes(con: duckdb.DuckDBPyConnection, run: Folder) -> int:
    ((writes,),) = con.execute(f"SELECT coalesce(sum(writes), 0) FROM {run.source('ticks')}").fetchall()
    return int(writes)


class CacheUse(NamedTuple):
    """Use of the query cache by one side: SELECTs of the whole server, and SELECTs answered from the cache."""

    hits: int
    selects: int

    @property
    def share(self) -> float:
        """The share of SELECTs that the cache answered."""
        return min(1.0, self.hits / self.selects) if self.selects else 0.0


def cache_use(report: Report) -> dict[str, CacheUse]:
    """Return the query cache use over all rounds, for each side whose servers reported query cache counters.

    MariaDB counts a cache hit in Com_select. MySQL does not.
    """
    found: dict[str, CacheUse] = {}
    for letter, rounds in report.sides.items():
        for run in rounds:
            kept = run.run_info.get("query_cache") or {}
            before, after = kept.get("before"), kept.get("after")
            if not before or not after:
                continue
            hits, selects = (_more(before, after, name) for name in ("qcache_hits", "com_select"))
            server = run.run_info.get("read_target") or run.target
            if "mariadb" not in str(server.get("version")).lower():
                selects += hits
            total = found.get(letter, CacheUse(0, 0))
            found[letter] = CacheUse(total.hits + hits, total.selects + selects)
    return found


def _more(before: dict[str, int], after: dict[str, int], name: str) -> int:
    """Return the growth of a counter. The counter of a restarted server starts at zero."""
    grown = after.get(name, 0) - before.get(name, 0)
    return grown if grown >= 0 else after.get(name, 0)


def cache_sentence(report: Report) -> str | None:
    """Return the sentence on query caches above the answer, or None if no cache answered a SELECT."""
    said = [
        f"{letter.upper()} answered {_percent(use.share)} of its SELECTs from its query cache ({use.hits:,} of"
        f" {use.selects:,})"
        for letter, use in cache_use(report).items()
        if use.hits
    ]
    if not said:
        return None
    remedy = "Use querytape compare --no-query-cache to compare without the cache"
    return f"{' and '.join(said)}. These times measure the cache, not the queries. {remedy}."


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def ratio_against_sum(report: Report, entry: DigestEntry) -> str | None:
    """Return why a digest's ratio and its total time point in different directions, or None if they agree.

    The ratio is based on the median event or on the mean logarithm. A few very long events dominate the sum but have
    little effect on the ratio.
    """
    pair, ratio = entry["pair"], ratio_of(entry)
    if not pair or ratio is None or abs(pair["lost_ns"]) < report.settings.margin.ns:
        return None
    slower = entry["verdict"] == SLOWER or (entry["verdict"] != FASTER and ratio > 1 + report.settings.margin.ratio)
    faster = entry["verdict"] == FASTER or (
        entry["verdict"] != SLOWER and ratio < 1 / (1 + report.settings.margin.ratio)
    )
    if not (slower and pair["lost_ns"] < 0) and not (faster and pair["lost_ns"] > 0):
        return None
    longer = f"{plural(pair['longer'], 'event')} took longer in B (by {duration(pair['longer_ns'])} in total)"
    shorter = f"{plural(pair['shorter'], 'event')} took less time in B (by {duration(pair['shorter_ns'])} in total)"
    total = f"{duration(abs(pair['lost_ns']))} {'less' if slower else 'more'} in total"
    return f"but {total}: {longer}, {shorter}{_cache(report)}"


def _cache(report: Report) -> str:
    """Return a phrase on a query cache as the possible reason, or "".

    The phrase is not empty if a cache answered at least MIN_CACHE_SHARE of the SELECTs.
    """
    sides = [letter.upper() for letter, use in cache_use(report).items() if use.share >= MIN_CACHE_SHARE]
    return f"; the query cache of {' and '.join(sides)} answered some events" if sides else ""


def observations(relative_latency: list[RelativeLatencyRow], stalls: list[StallsRow]) -> list[Observation]:
    """Return the observations on each run: warm-up, steadiness and stalls."""
    observed = []
    for run in sorted({row["run"] for row in relative_latency}):
        parts = [row for row in relative_latency if row["run"] == run and row["round"] == 1]
        observed += [Observation(run, text) for text in (*_warm_up(parts), *_steadiness(parts))]
    for run in sorted({row["run"] for row in stalls}):
        observed.append(Observation(run, _stalls([row for row in stalls if row["run"] == run])))
    return observed


def warm_after_ns(parts: list[RelativeLatencyRow]) -> int:
    """Return when a run had warmed up, in ns. 0 means that it was warm from the start.

    From this time on, CALM_PARTS parts in a row are as fast as the second half of the run. Slow parts after a fast
    first part are not a warm-up but stalls or unsteadiness.
    """
    if not _measurable(parts):
        return 0
    values = [row["relative_latency"] for row in parts]
    steady = NOTICEABLE * median(values[PARTS // 2 :])
    if values[0] <= steady:
        return 0
    for number in range(1, len(values) - CALM_PARTS):
        if all(value <= steady for value in values[number : number + CALM_PARTS]):
            return int(number * parts[0]["span_ns"] / PARTS) if _slower_before(values, number) >= NOTICEABLE else 0
    return 0


def _slower_before(values: list[float], number: int) -> float:
    """Return the mean time before a part, divided by the mean time from this part on. The means are geometric."""
    return exp(fmean(map(log, values[:number])) - fmean(map(log, values[number:])))


def _measurable(parts: list[RelativeLatencyRow]) -> bool:
    """Return whether every part of a run has enough events."""
    return len(parts) >= PARTS and min(row["n"] for row in parts) >= MIN_IN_PART


def _warm_up(parts: list[RelativeLatencyRow]) -> list[str]:
    until = warm_after_ns(parts)
    if not until:
        return []
    cold = sum(row["part"] * row["span_ns"] / PARTS < until for row in parts)
    slower = _slower_before([row["relative_latency"] for row in parts], cold) - 1
    return [
        f"warmed up for {duration(until)}. During this time, statements were {slower:.0%} slower than later."
        f" Use --exclude-warmup {max(1, round(until / 1e9))}s to exclude this time."
    ]


def _steadiness(parts: list[RelativeLatencyRow]) -> list[str]:
    if not _measurable(parts):
        return []
    middle, last = (fmean(log(row["relative_latency"]) for row in some) for some in (parts[4:12], parts[12:]))
    change = exp(last - middle)
    if max(change, 1 / change) < NOTICEABLE:
        return []
    more = f"{change - 1:.0%} more time" if change > 1 else f"{1 - change:.0%} less time"
    return [f"was not steady: statements took {more} at the end of the run than in the middle."]


def _stalls(rows: list[StallsRow]) -> str:
    lengths = [row["long_ns"] for row in rows]
    text = f"had {count(len(rows))} stall{'s' if len(rows) > 1 else ''}, {duration(sum(lengths))} in total"
    if len(rows) > 1:
        text += f", the longest {duration(max(lengths))}"
    if period := period_s(rows):
        text += f", about every {period:.1f} s"
    return f"{text}."


def period_s(rows: list[StallsRow]) -> float | None:
    """Return the seconds between regular stalls, or None if the stalls are irregular."""
    starts = sorted(row["at_ns"] for row in rows if row["round"] == rows[0]["round"])
    gaps = [(after - before) / 1e9 for before, after in pairwise(starts)]
    if len(gaps) < MIN_PERIODIC - 1 or pstdev(gaps) > PERIODIC_SPREAD * fmean(gaps):
        return None
    return fmean(gaps)
