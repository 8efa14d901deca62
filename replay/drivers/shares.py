# SPDX-License-Identifier: Apache-2.0
"""Divide the tapes of a set among drivers by their number of events. Refuse options that need a single driver.

A driver must have the options of its lead process. Each side sends only a keyed hash of each option's value, because
values may be statements (--init) or account names.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ...common.errors import InputError
from ...common.units import plural
from ...schemas import Folder, tape_id
from ...schemas.tape_set import TapeSet, deal_command
from ..checks.preflight import listed
from ..options import ReplayOptions
from ..plan.table_uses import UNKNOWN, TableUse, shared_tables
from .launch import Launcher

OnLost = Literal["continue", "resume", "stop"]
# Options that may differ between machines, or that only the lead process uses.
OWN = frozenset(
    {"start_at_ns", "sample_ns", "host_metrics", "queue_bytes", "timer_probes", "connect_timeout_s", "reads_to"}
)
WORDS = 16  # hexadecimal digits of each hash


@dataclass(frozen=True)
class Drivers:
    """The value of `--drivers`: `count` drivers that are started on this machine, or `joined` from other hosts.

    - `launcher`: starts the drivers on other hosts. None means that users or other programs start them.
    - `listen`: the address at which the lead process waits for drivers. No host means all addresses of this machine.
    - `join_key`: a file with the key. None means that the environment variable contains the key.
    - `gather_s`: how long the lead process waits, in seconds.
    - `on_lost`: what the other drivers do after a driver is lost.
    """

    count: int
    joined: bool = False
    launcher: Launcher | None = None
    listen: tuple[str, int] = ("", 0)
    join_key: Path | None = None
    gather_s: float = 120.0
    on_lost: OnLost = "continue"


def tapes_of(tape: Folder) -> list[Folder]:
    """Return the tapes of a set, or the single tape."""
    return [member.tape for member in tape.members] if isinstance(tape, TapeSet) else [tape]


def deal(tape: Folder, drivers: int) -> list[list[str]]:
    """Return the names of each driver's tapes.

    The tapes are assigned in order of size, largest first. Each tape goes to the driver with the fewest events. Raises
    InputError if there are fewer tapes than drivers, because a session is never split.
    """
    tapes = tapes_of(tape)
    if len(tapes) < drivers:
        kind = f"a set of {plural(len(tapes), 'tape')}" if isinstance(tape, TapeSet) else "one tape"
        raise InputError(
            f"{tape.path}: {drivers:,} drivers need at least {drivers:,} tapes, found {kind}. Make a set first:"
            f" {deal_command(tape.path, drivers)}"
        )
    loads, names = [0] * drivers, [[] for _ in range(drivers)]  # type: ignore[var-annotated]
    for each in sorted(tapes, key=lambda one: (-int(one.info["counts"]["events"]), one.path.name)):
        least = loads.index(min(loads))
        loads[least] += int(each.info["counts"]["events"])
        names[least].append(each.path.name)
    return [sorted(mine) for mine in names]


def share_id(tape: Folder) -> str:
    """Return an id of a tape, or of a set and its division into tapes. Each deal of one tape has its own id."""
    named = [f"{each.path.name} {tape_id(each.info)}" for each in tapes_of(tape)]
    listed = named if isinstance(tape, TapeSet) else [tape_id(tape.info)]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def part_of(tape: Folder, names: Sequence[str]) -> Folder:
    """Return some tapes of a set as a smaller set. Session numbers and the set's name stay the same.

    Raises InputError if a tape is missing.
    """
    if not isinstance(tape, TapeSet):
        return tape
    kept = [number for number, member in enumerate(tape.members) if member.tape.path.name in names]
    if len(kept) != len(names):
        raise InputError(
            f"{tape.path}: expected the tapes {', '.join(names)}, which the lead process assigned to this driver"
        )
    members = tuple(tape.members[number] for number in kept)
    counts = dict(tape.info["counts"])
    for what in ("events", "sessions"):
        counts[what] = sum(int(member.tape.info["counts"][what]) for member in members)
    entries = tuple(tape.entries[number] for number in kept)
    return replace(tape, members=members, entries=entries, info={**tape.info, "counts": counts})


def refuse_what_needs_all(options: ReplayOptions, count: int) -> None:
    """Raise InputError for options that several drivers cannot support, because each driver knows only its own
    sessions.
    """
    if count == 1:
        return
    selection = options.selection
    wrong = {
        "max_concurrent_sessions": options.max_concurrent_sessions > 0,
        "--sessions NUMBER": selection.max_sessions is not None,
        "--max-errors": options.max_errors is not None,
        "--max-idle": options.pace.max_idle_ns is not None,
        "--allow-statement kill": "kill" in options.allow_statements,
    }
    if found := [name for name, given in wrong.items() if given]:
        raise InputError(
            f"{', '.join(found)} cannot be used with several drivers, because each driver has only its own sessions."
            " Replay with one driver, or change the options"
        )


def sharing_sentence(drivers: Sequence[Sequence[TableUse]]) -> str | None:
    """Return why the order of commits needs waits between drivers. Returns None if it needs none.

    A driver waits for another driver if it uses a table that the other driver writes or locks.
    """
    shared = shared_tables(drivers)
    if not shared:
        return None
    if shared[0] == UNKNOWN:
        why = "the tables of some statements are unknown (such as CALL, views and triggers)"
    else:
        why = f"several drivers use tables that one of them writes or locks: {listed(shared)}"
    return f"--order commit: the drivers wait for each other's commits, because {why}"


def part_options(options: ReplayOptions, count: int, **own: Any) -> ReplayOptions:
    """Return the options of one of `count` drivers.

    The lead process does one-time work. The connect rate is divided.
    """
    return replace(
        options,
        connect_rate=max(options.connect_rate // count, 1),
        start_at_ns=None,
        sample_ns=0,
        summaries=False,
        query_plans=False,
        schema_facts=False,
        host_metrics=None,
        **own,
    )


def prints_of(options: ReplayOptions, key: bytes) -> dict[str, str]:
    """Return a keyed hash of each option that must be equal on all drivers, by its name in `parameters` of run.json."""
    values = {name: value for name, value in options.as_json().items() if name not in OWN}
    values["reads_to"] = options.reads_to is not None
    return {name: _print(value, key) for name, value in values.items()}


def _print(value: object, key: bytes) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hmac.new(key, b"option\0" + text.encode(), hashlib.sha256).hexdigest()[:WORDS]


def differing(mine: Mapping[str, str], theirs: Mapping[str, object]) -> list[str]:
    """Return the names of the options that differ."""
    return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
