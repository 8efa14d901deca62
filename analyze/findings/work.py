# SPDX-License-Identifier: Apache-2.0
"""Compare what the servers count for one execution of a read, or for one write of a run: pages, rows, syncs.

It is for statements whose plans agree: there the plan does not say why one server takes longer.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...common.units import count
from ..database import Row
from ..model import Report
from .plan_classes import AGREE

HANDLERS = tuple(f"Handler_read_{name}" for name in ("first", "key", "last", "next", "prev", "rnd", "rnd_next"))
# Classes of statements that wait for what durability costs.
DURABLE = frozenset({"write", "transaction", "ddl"})
MAX_NAMED = 2
WHOLE = 10  # numbers from here on have no decimals


@dataclass(frozen=True)
class Kind:
    """Something that servers count. `counters`: those that a server has are added up.

    `says`: a verb and what follows; `{}` is the number, `one|more` the form for 1 and for others. `least` and `times`:
    a difference, and a ratio, that matter. `settings`: those that it depends on, most likely first. `of_none`: whether
    none on one side is a number like others. MySQL 8.0 does not count the rows of COUNT(*) that it reads.
    """

    says: str
    counters: tuple[str, ...]
    least: float
    times: float = 2.0
    settings: tuple[str, ...] = ()
    of_none: bool = True


# Most telling first.
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
    """What one execution counts on both sides: `says` and `settings` of its kind, which of a list, and both numbers."""

    rank: int
    says: str
    settings: tuple[str, ...]
    a: float
    b: float


def differences(a: Mapping[str, float], b: Mapping[str, float], kinds: Iterable[Kind] = READS) -> list[Work]:
    """Return what the sides count differently by far, most telling first. A counter that one lacks is not compared."""
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
    """Return the counters of one execution by name, as the run of a read left them; empty where there are none."""
    try:
        found = json.loads(text or "")["counters"]
        return {str(name): float(value) for name, value in found.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def work_of(plan: Row | None) -> list[Work]:
    """Return what differs in the counters of a digest's reads, where its plans agree."""
    if not plan or plan.get("class") not in AGREE:
        return []
    a, b = (counted((plan.get(side) or {}).get("counters")) for side in ("a", "b"))
    return differences(a, b)


def work_sentence(plan: Row | None) -> str:
    """Return what differs in the counters of a digest's reads as one sentence, "" where nothing does."""
    works = work_of(plan)
    return f"plans agree; {work_text(works)}" if works else ""


def work_of_writes(report: Report) -> list[Work]:
    """Return what differs in the counters of the servers for each write of the runs."""
    a, b = (report.write_counters.get(side, {}) for side in ("a", "b"))
    return differences(a, b, WRITES)


def more_work(report: Report, entry: Row) -> tuple[list[Work], str]:
    """Return what B does more of for a digest, and for each of what: `execution` or `write`."""
    is_write = entry.get("class") in DURABLE
    works = work_of_writes(report) if is_write else work_of(report.query_plans.get(entry["digest"]))
    return [work for work in works if work.b > work.a], "write" if is_write else "execution"


def settings_of(works: Iterable[Work]) -> list[str]:
    """Return the settings that decide about these counters, most likely first."""
    return list(dict.fromkeys(name for work in works for name in work.settings))


def work_text(works: Iterable[Work], each: str = "execution") -> str:
    """Return at most MAX_NAMED differences as words: `for each execution B reads 225 pages from disk, A 0.2`.

    The same kind of several digests is one range.
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
    """Return what is said with its number; after 1 the first form, else the second."""
    words = says.format(_range(numbers).replace(" ", "\0")).split(" ")
    one = _range(numbers) == "1"
    return " ".join(word.partition("|")[0 if one or "|" not in word else 2] for word in words).replace("\0", " ")


def _range(numbers: list[float]) -> str:
    low, high = number(min(numbers)), number(max(numbers))
    return low if low == high else f"{low} to {high}"


def number(value: float) -> str:
    """Return a count: small ones with a decimal or two, unless they are whole."""
    if value >= WHOLE or value == round(value):
        return count(round(value))
    return f"{value:.1f}".removesuffix(".0") if value >= 0.1 else f"{value:.2g}"
