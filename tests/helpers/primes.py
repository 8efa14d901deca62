# SPDX-License-Identifier: Apache-2.0
"""A workload with known counts: session n sends a prime number of statements of each kind."""

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
    """Create a tape whose session n writes PRIMES[n - 1] rows and reads as often. Split the tape into a set and return
    the set.

    Each session begins `stagger_ns` after the previous session and has an event every `gap_ns`. The tape is
    `primes.tape` next to the set.
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
    """Return the number of rows that each session has written, as counted by the server."""
    rows = server.execute("SELECT session, count(*) FROM shop.log GROUP BY session ORDER BY session")
    return {int(session): int(n) for session, n in rows}


def balanced(run: Path) -> dict[str, Any]:
    """Return the accounting of a run of all tapes. Fails if the accounting does not balance."""
    counts: dict[str, Any] = json.loads((run / "run.json").read_text())["accounting"]
    assert counts["balanced"]
    assert counts["tape_events"] == EVENTS == len(outcomes(run))
    return counts
