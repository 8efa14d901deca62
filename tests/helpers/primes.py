# SPDX-License-Identifier: Apache-2.0
"""A workload whose numbers are known: session n sends as many statements of each kind as a prime of its own says."""

import json
from pathlib import Path
from typing import Any

from querytape.capture.tools.deal import deal
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import outcomes

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
WRITTEN = dict(enumerate(PRIMES, 1))
EVENTS = 2 * sum(PRIMES)


def prime_set(folder: Path, tapes: int, gap_ns: int = 10 * MS, stagger_ns: int = 0) -> Path:
    """Make a tape whose session n notes itself PRIMES[n - 1] times and reads as often; deal it; return the set.

    Each session begins `stagger_ns` after the one before it, and has an event every `gap_ns`. The tape is next to the
    set: `primes.tape`.
    """
    events = []
    for session, prime in enumerate(PRIMES, 1):
        for number in range(2 * prime):
            note = f"INSERT INTO log (conn, session, seq) VALUES (CONNECTION_ID(), {session}, {number + 1})"
            text = note if number % 2 == 0 else f"SELECT {session}, count(*) FROM log WHERE session = {session}"
            events.append(
                {
                    "session": session,
                    "statement": text,
                    "class": "write" if number % 2 == 0 else "read",
                    "start_ns": T0 + session * stagger_ns + number * gap_ns,
                    "duration_ns": MS // 10,
                    "db": "shop",
                }
            )
    events.sort(key=lambda event: (event["start_ns"], event["session"]))
    make_tape(folder / "primes.tape", events)
    deal(folder / "primes.tape", tapes, folder / "primes.set")
    return folder / "primes.set"


def written(server: Server) -> dict[int, int]:
    """Return how many rows each session has noted, as the server counts them."""
    rows = server.execute("SELECT session, count(*) FROM shop.log GROUP BY session ORDER BY session")
    return {int(session): int(n) for session, n in rows}


def balanced(run: Path) -> dict[str, Any]:
    """Return the accounting of a run of all tapes, which balances."""
    counts: dict[str, Any] = json.loads((run / "run.json").read_text())["accounting"]
    assert counts["balanced"]
    assert counts["tape_events"] == EVENTS == len(outcomes(run))
    return counts
