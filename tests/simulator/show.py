# SPDX-License-Identifier: Apache-2.0
"""Search for a small history that fails in the same way, and print the history for a reader."""

from collections.abc import Callable, Sequence

from .history import History, Mix, make_history
from .reference import Reference
from .target import Outcome, Planned, replay

SIZES = ((2, 2), (2, 4), (3, 3), (3, 6), (4, 6), (4, 12))  # sessions, statements per session
SEEDS = 300


def smallest(mix: Mix, source: str, overlap_ns: int, is_bad: Callable[[Outcome], bool]) -> str:
    """Search for the failure in growing histories. Return the first failing history and its plan as text."""
    for sessions, statements in SIZES:
        for seed in range(SEEDS):
            history = make_history(seed, mix, sessions, statements)
            plan = Reference(history, source, overlap_ns).plan()
            for number in range(3):
                outcome = replay(history, plan, number)
                if is_bad(outcome):
                    head = f"{sessions} sessions, {statements} statements, seed {seed}, replay {number}: {outcome}"
                    return "\n".join((head, *lines(history, plan)))
    return "no small history has it"


def lines(history: History, plan: Sequence[Planned]) -> list[str]:
    """Return one line for each event with its times, its waits and its marks."""
    return [
        f"{event.number} session {event.session} transaction {event.transaction}"
        f" {event.sent}-{event.granted or event.released}-{event.answered} {event.statement}"
        f"{' victim' if event.victim else ' failed' if event.failed else ''}: waits {planned.waits}, is {planned.marks}"
        for event, planned in zip(history.events, plan, strict=True)
    ]
