# SPDX-License-Identifier: Apache-2.0
"""Compares without the query caches of servers that have one (MySQL before 8.0, MariaDB)."""

from contextlib import closing
from dataclasses import replace

from ..common.errors import TargetError
from ..replay import ReplayOptions
from ..replay.observe.counting import WITHOUT_CACHE
from ..servers.queries import query_or_none
from ..servers.target import Target


def without_query_cache(options: ReplayOptions) -> ReplayOptions:
    """Return options with a first statement that switches the query cache off for each session.

    The options are returned unchanged if no server uses a query cache. The statement needs no right, and changes
    nothing on the server. Raises TargetError if only one of target and read target has a query cache: both get the
    same first statements.
    """
    targets = [target for target in (options.target, options.reads_to) if target is not None]
    uses = [_uses_cache(target) for target in targets]
    if True not in uses:
        return options
    if None in uses:
        other = targets[uses.index(None)]
        raise TargetError(f"--no-query-cache: {other.name} has no query cache, but the other server has one")
    return replace(options, init=(*options.init, WITHOUT_CACHE))


def _uses_cache(target: Target) -> bool | None:
    """Return whether the server's query cache is on and has memory; None if the server has no query cache."""
    with closing(target.connect()) as con:
        rows = query_or_none(
            con, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('query_cache_type', 'query_cache_size')", 2
        )
    found = {str(row[0]).lower(): str(row[1]).upper() for row in rows or ()}
    kind = found.get("query_cache_type")
    return None if kind is None else kind != "OFF" and found.get("query_cache_size") != "0"
