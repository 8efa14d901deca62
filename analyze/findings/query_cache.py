# SPDX-License-Identifier: Apache-2.0
"""Say how much of its SELECTs a side answered from its query cache: such times are not those of its queries."""

from typing import NamedTuple

from ..model import Report


class CacheUse(NamedTuple):
    """What the rounds of one side did with the query cache: SELECTs of the whole server, and those from the cache."""

    hits: int
    selects: int

    @property
    def share(self) -> float:
        """The part of the SELECTs that the cache answered."""
        return min(1.0, self.hits / self.selects) if self.selects else 0.0


def cache_use(report: Report) -> dict[str, CacheUse]:
    """Return it for each side whose servers have a query cache and were asked, all rounds together.

    MySQL does not count a hit in Com_select, MariaDB does.
    """
    found: dict[str, CacheUse] = {}
    for letter, rounds in report.sides.items():
        for run in rounds:
            kept = run.info.get("query_cache") or {}
            before, after = kept.get("before"), kept.get("after")
            if not before or not after:
                continue
            hits, selects = (_more(before, after, name) for name in ("qcache_hits", "com_select"))
            server = run.info.get("read_target") or run.info.get("target") or {}
            if "mariadb" not in str(server.get("version")).lower():
                selects += hits
            total = found.get(letter, CacheUse(0, 0))
            found[letter] = CacheUse(total.hits + hits, total.selects + selects)
    return found


def _more(before: dict[str, int], after: dict[str, int], name: str) -> int:
    """Return by how much a counter grew; a server that was restarted counts from zero."""
    grown = after.get(name, 0) - before.get(name, 0)
    return grown if grown >= 0 else after.get(name, 0)


def cache_sentence(report: Report) -> str | None:
    """Return what is to be said of the query caches above the answer, None where they answered nothing."""
    said = [
        f"{letter.upper()} answered {_percent(use.share)} of its SELECTs from its query cache ({use.hits:,} of"
        f" {use.selects:,})"
        for letter, use in cache_use(report).items()
        if use.hits
    ]
    if not said:
        return None
    remedy = "querytape compare --no-query-cache compares without it"
    return f"{'; '.join(said)}: those times are the cache's, not the queries'. {remedy}."


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"
