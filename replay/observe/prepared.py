# SPDX-License-Identifier: Apache-2.0
"""Ends the XA transactions that a replay has prepared and not ended, for what was sent ended first.

A prepared transaction outlives its session. Its locks would make the next replay wait for ever.
"""

from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from ...common.units import plural
from ...schemas import Folder
from ...servers.prepared import Xid, end_prepared, prepared_transactions, xid_of
from ...servers.target import Target
from ..storage import open_storage

STATEMENTS = (
    "SELECT DISTINCT statement FROM {events} SEMI JOIN (FROM {digests} WHERE normalized LIKE 'xa prepare %')"
    " USING (digest) SEMI JOIN (FROM {outcomes} WHERE status = 'executed' AND coalesce(errno, 0) = 0)"
    " USING (session, seq) WHERE statement IS NOT NULL"
)
AT_ONCE = 10_000
SHOWN = 5


def end_own_prepared(
    tape: Folder, outcomes: str, target: Target, before: Collection[str], spill: Path, timeout_s: int
) -> dict[str, list[str]] | None:
    """Roll back what the replay has prepared and the target had not before; None where there is no such transaction.

    `outcomes`: the run's, as DuckDB reads them. `before`: literals. `rolled_back` of the answer has names, `left` the
    literals of those that the target did not let go. Raises TargetError where the target can't be asked.
    """
    with closing(target.connect(timeout_s)) as con:
        new = {xid for xid in prepared_transactions(con) or () if xid.literal not in before}
        own = sorted(_own_xids(tape, outcomes, new, spill)) if new else []
        left = end_prepared(con, own)
    names = {"rolled_back": [str(xid) for xid in own if xid not in left], "left": [xid.literal for xid in left]}
    return names if own else None


def _own_xids(tape: Folder, outcomes: str, wanted: set[Xid], spill: Path) -> set[Xid]:
    """Return those transactions that the replay has prepared."""
    found: set[Xid] = set()
    with open_storage(spill) as con:
        texts = con.execute(
            STATEMENTS.format(events=tape.source("events"), digests=tape.source("digests"), outcomes=outcomes)
        )
        while rows := texts.fetchmany(AT_ONCE):
            found |= wanted & {xid for (text,) in rows if (xid := xid_of(bytes(text).decode("utf-8", "replace")))}
    return found


def prepared_warnings(prepared: dict[str, list[str]] | None) -> Iterator[str]:
    """Return a sentence each on what was rolled back, and on what is left."""
    if prepared is None:
        return
    if names := prepared["rolled_back"]:
        yield (
            f"XA: {plural(len(names), 'transaction')} that the replay prepared had no end when it ended"
            f" ({', '.join(names[:SHOWN])}): rolled back, so the data may differ from the original's"
        )
    if literals := prepared["left"]:
        yield (
            f"XA: {plural(len(literals), 'transaction')} that the replay prepared could not be rolled back, and the"
            f" locks stay on the target: XA ROLLBACK {literals[0]}"
        )
