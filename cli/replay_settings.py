# SPDX-License-Identifier: Apache-2.0
"""Makes the ReplayOptions of one replay from the command line. `options` are the values parsed by click."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..replay import ReplayOptions, Target, parse_target
from ..replay.plan.overrides import Overrides
from ..replay.plan.pacing import Amplification, Pace
from ..replay.plan.selection import Selection
from ..schemas import open_folder
from ..servers.option_files import Account, read_accounts
from ..servers.sandbox_url import Sandbox
from .option_sections import SectionedCommand, taken
from .replay_options import all_sections
from .server_options import server_of


@click.command("replay", cls=SectionedCommand)
@all_sections
def _options_alone(**options: Any) -> None:
    """Parse `querytape replay` options for other commands that receive them as a list of words."""


def parse_replay_options(words: Sequence[str]) -> dict[str, Any]:
    """Return the parsed options of `querytape replay`. Raises click.UsageError for an invalid option."""
    params = _options_alone.make_context("replay", list(words)).params
    if params["follow"]:
        raise click.UsageError(
            "--follow works only with `querytape replay`, because a comparison needs the same events in each run"
        )
    if params["metrics"] is not None:
        raise click.UsageError("--metrics applies to the whole command: put --metrics before the --")
    if not params["live"]:
        raise click.UsageError("--no-live applies to the whole command: put --no-live before the --")
    return params


def target_of(options: dict[str, Any], stack: ExitStack) -> Target:
    """Return the target. A sandbox is started, and is stopped when the stack ends."""
    target = options["target"]
    if not isinstance(target, Sandbox):
        return server_of(target, options)
    server = stack.enter_context(target.start())
    return replace(parse_target(server.url(), environ={}), password=server.password or None)


def first_ns(tape: Path, has_parts: bool = True) -> int:
    """Return the time of the tape's first event, in ns since 1970. `has_parts`: see `open_folder`."""
    return int(open_folder("tape", tape, has_parts).info.get("first_ns") or 0)


def options_of(options: dict[str, Any], target: Target, tape_first_ns: int) -> ReplayOptions:
    """Return the ReplayOptions of one replay from the options of the command line."""
    made = {
        "target": target,
        "reads_to": server_of(options["reads_to"], options) if options["reads_to"] else None,
        "pace": pace_of(options),
        "selection": selection_of(options, tape_first_ns),
        "amplification": Amplification(**taken(Amplification, options)),
        "overrides": overrides_of(options, target.password),
        "commit_order": options["order"] == "commit",
        "target_is_disposable": options["target_is_disposable"] or isinstance(options["target"], Sandbox),
        "allow_statements": frozenset(options["allow_statements"]),
    }
    return ReplayOptions(**{**taken(ReplayOptions, options), **made})


def pace_of(options: dict[str, Any]) -> Pace:
    """Return the requested pace."""
    scaled = taken(Pace, options)
    if options["pace"] == "none":
        del scaled["speed"]
        if any(scaled.values()) or scaled["max_idle_ns"] is not None:
            raise click.UsageError(
                "--pace none cannot be combined with --connect-speed, --think-speed, --ramp or --max-idle, because"
                " events have no due times"
            )
        return Pace("none")
    return Pace(options["pace"], **scaled)


def selection_of(options: dict[str, Any], first_ns: int) -> Selection:
    """Return the selection of events. Relative times count from the tape's first event."""

    def at(moment: tuple[bool, int] | None) -> int | None:
        return None if moment is None else moment[1] + (first_ns if moment[0] else 0)

    part = options["part"]
    return Selection(
        **taken(Selection, options),
        sample=None if isinstance(part, int) else part,
        max_sessions=part if isinstance(part, int) else None,
        from_ns=at(options["from_at"]),
        to_ns=at(options["to_at"]),
    )


def overrides_of(options: dict[str, Any], password: str | None) -> Overrides:
    """Return the overrides of the replay. Users that are only renamed get the password of the run."""
    accounts = read_accounts(options["accounts_file"]) if options["accounts_file"] else {}
    for name, there in options["map_user"]:
        accounts[name] = Account(there, accounts[name].password if name in accounts else password)
    return Overrides(
        options["now"] == "original", options["insert_id"] == "original", dict(options["map_db"]), accounts
    )
