# SPDX-License-Identifier: Apache-2.0
"""Roll back XA transactions that a replay prepared and left open, because the replay ended too early.

A prepared transaction outlives its session. Its locks would block the next replay forever.
"""

from collections.abc import Collection, Iterator
from contextlib import closing
from typing import Any

from ...common.duck import small_database
from ...common.units import plural
from ...schemas import PROPERTIES, Folder
from ...servers.prepared import Xid, end_prepared, prepared_transactions, xa_statements
from ..options import ReplayOptions
from ..run_folder import RunFolder, open_storage

# Executed XA statements in the order of their answers. Errors 1402, 1613 and 1614 mean that the server rolled the
# transaction back.
STATEMENTS = (
    "SELECT statement, coalesce(errno, 0) IN (0, 1402, 1613, 1614) AS done"
    " FROM (SELECT session, seq, digest, statement FROM {events})"
    " JOIN (SELECT digest, normalized FROM {digests}"
    f" WHERE properties & {PROPERTIES['prepares_xa'] | PROPERTIES['ends_xa']} <> 0) USING (digest)"
    " JOIN (SELECT session, seq, errno, done_ns FROM {outcomes} WHERE status = 'executed') USING (session, seq)"
    " WHERE statement IS NOT NULL AND (done OR contains(normalized, '; ')) ORDER BY done_ns, session, seq"
)
MAY_NOT_SEE = "the account may not see prepared transactions (GRANT XA_RECOVER_ADMIN ON *.*)"
AT_ONCE = 10_000
SHOWN = 5


def end_own_prepared(
    tape: Folder, run: RunFolder, options: ReplayOptions, before: Collection[str] | None
) -> dict[str, Any] | None:
    """Roll back the transactions that the replay prepared and that were not on the target before.

    Returns None if there are no such transactions. `before`: literals of the transactions prepared before the replay.
    None means that the account could not see them. Fields of the result:

    - `rolled_back`: names of the transactions that were rolled back.
    - `left`: literals of the transactions that the target did not release.
    - `unseen`: the number of names that the replay prepared, if the account cannot see prepared transactions. In this
      case,
      transactions without an end in the replay are rolled back.

    Raises TargetError if the target cannot be queried.
    """
    with closing(options.target.connect(options.connect_timeout_s)) as con:
        now = prepared_transactions(con)
        seen = before is not None and now is not None
        new = {xid for xid in now or () if xid.literal not in (before or ())}
        prepared, not_ended = _own_xids(tape, run) if new or not seen else (set(), set())
        own = sorted(new & prepared if seen else not_ended)
        left = end_prepared(con, own)
    unseen = len(prepared) if not seen else 0
    names = {"rolled_back": [str(xid) for xid in own if xid not in left], "left": [xid.literal for xid in left]}
    return {**names, "unseen": unseen} if own or unseen else None


def _own_xids(tape: Folder, run: RunFolder) -> tuple[set[Xid], set[Xid]]:
    """Return two sets: transactions that the replay prepared, and those whose last statement was the PREPARE.

    A text of several statements may prepare a transaction and then fail. Only the first set contains such a
    transaction.
    """
    prepared, not_ended = set[Xid](), set[Xid]()
    with small_database() as con:
        holds = f"properties & {PROPERTIES['prepares_xa']} <> 0"
        if not con.execute(f"FROM {tape.source('digests')} WHERE {holds} LIMIT 1").fetchall():
            return prepared, not_ended
    outcomes = run.open().source("outcomes")
    with open_storage(run.spill) as con:
        texts = con.execute(
            STATEMENTS.format(events=tape.source("events"), digests=tape.source("digests"), outcomes=outcomes)
        )
        while rows := texts.fetchmany(AT_ONCE):
            for text, done in rows:
                for verb, xid in xa_statements(bytes(text).decode("utf-8", "replace")):
                    if verb == "prepare":
                        prepared.add(xid)
                    if verb == "prepare" and done:
                        not_ended.add(xid)
                    elif verb in ("commit", "rollback"):
                        not_ended.discard(xid)
    return prepared, not_ended


def prepared_warnings(prepared: dict[str, Any] | None) -> Iterator[str]:
    """Yield warnings about prepared transactions that were invisible, rolled back, or left on the target."""
    if prepared is None:
        return
    if unseen := prepared["unseen"]:
        ended = len(prepared["rolled_back"]) + len(prepared["left"])
        yield (
            f"XA: {MAY_NOT_SEE}. According to the target's answers, the replay prepared"
            f" {plural(unseen, 'transaction')}, and {ended or 'none'} of them remained open"
        )
    if names := prepared["rolled_back"]:
        yield (
            f"XA: querytape rolled back {plural(len(names), 'transaction')} that the replay had prepared but not"
            f" ended ({', '.join(names[:SHOWN])}). The data may differ from the original data"
        )
    if literals := prepared["left"]:
        yield (
            f"XA: could not roll back {plural(len(literals), 'transaction')} that the replay had prepared. The locks"
            f" remain on the target until you end each transaction: XA ROLLBACK {literals[0]}"
        )
