# SPDX-License-Identifier: Apache-2.0
"""A replay that may begin: its plan, options, servers and folder. The module also builds run.json at the start."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..common.staged import full_name
from ..common.version import __version__
from ..schemas import FORMAT_VERSION, tape_id
from ..servers.clock import ServerClock
from ..servers.facts import Facts
from ..servers.target import Target
from .follow import Pieces
from .observe.host import Host
from .observe.sampler import cache_counters, server_counters
from .options import ReplayOptions
from .plan.rules import Plan
from .run_folder import RunFolder
from .watcher import ALONE, ReplayGroup, Watcher


@dataclass(frozen=True)
class ReplayTask:
    """A replay that has passed its pre-flight.

    - `facts`: facts of the target.
    - `read_facts`: facts of the read target, if there is one.
    - `hosts`: the machines whose counters are sampled.
    - `pieces`: the later pieces of a followed tape.
    - `group`: the replays that begin at the same moment.
    - `clock`: how far the target's clock is ahead of this machine's, if known.
    """

    plan: Plan
    options: ReplayOptions
    folder: RunFolder
    facts: Facts
    read_facts: Facts | None = None
    watcher: Watcher = field(default_factory=Watcher)
    hosts: Sequence[Host] = ()
    pieces: Pieces | None = None
    group: ReplayGroup = ALONE
    clock: ServerClock | None = None


def first_info(task: ReplayTask) -> dict[str, Any]:
    """Return run.json before any event is sent."""
    options, facts, reads = task.options, task.facts, task.read_facts
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "finished": False,
        "tape": tape_info(task.plan),
        "target": {
            **_server(options.target, facts),
            "prepared": None if facts.prepared is None else [xid.literal for xid in facts.prepared],
        },
        "read_target": _server(options.reads_to, reads) if options.reads_to and reads else None,
        "parameters": options.as_json(),
        "measuring_point": "client",
        "target_clock": asdict(task.clock) if task.clock else None,
        "plan": task.plan.as_json(),
        **task.group.about(),
    }


def ask_counters(task: ReplayTask) -> dict[str, Any]:
    """Return `query_cache` and `server_counters` of run.json with the counters before the run.

    Counters that the replay cannot affect are omitted.
    """
    options, found = task.options, {}
    if "query_cache_type" in (task.read_facts or task.facts).variables:
        counters = cache_counters(options.reads_to or options.target, options.connect_timeout_s)
        found["query_cache"] = {"before": counters, "after": None}
    if options.allow_writes:
        written = server_counters(options.target, options.connect_timeout_s)
        found["server_counters"] = {"before": written, "after": None}
    return found


def tape_info(plan: Plan) -> dict[str, Any]:
    """Return `tape` of run.json."""
    tape = plan.tape
    return {
        "path": full_name(tape.path),
        "id": tape_id(tape.info),
        "events": plan.events,
        "sessions": (tape.info.get("counts") or {}).get("sessions"),
        "first_ns": tape.info.get("first_ns"),
        "last_ns": tape.info.get("last_ns"),
    }


def _server(target: Target, facts: Facts) -> dict[str, Any]:
    names = ("version", "version_comment", "variables", "identity")
    where = {name: getattr(target, name) for name in ("name", "host", "port", "socket", "user", "db")}
    return where | {name: getattr(facts, name) for name in names}
