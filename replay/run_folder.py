# SPDX-License-Identifier: Apache-2.0
"""A run's folder while it is written: made private, described from the first moment, complete only at the end."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InputError
from ..schemas import FORMAT_VERSION, Folder, make_private, open_folder, tape_id, write_json
from ..servers.facts import Facts
from ..servers.target import Target
from .options import ReplayOptions
from .rules import Plan


class RunFolder:
    """The paths of a run that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes = path / "outcomes"
        self.ticks = path / "ticks"
        self.spill = path / "spill"

    def open(self) -> Folder:
        """Return it as a folder that can be read."""
        return open_folder("run", self.path)

    def write(self, info: dict[str, Any]) -> None:
        """Write run.json."""
        write_json(self.path / "run.json", info)

    def clean(self) -> None:
        """Remove what only the replay itself needed."""
        shutil.rmtree(self.spill, ignore_errors=True)


@contextmanager
def new_run(path: Path) -> Iterator[RunFolder]:
    """Make an empty run folder; where the block fails before run.json is written, nothing is left behind.

    Raises InputError where something of that name is there.
    """
    if path.exists():
        raise InputError(f"{path} already exists: choose another name with -o, or remove it first")
    try:
        make_private(path)
    except OSError as fault:
        raise InputError(f"{path}: can't be created: {fault.strerror}") from fault
    folder = RunFolder(path)
    for inner in (folder.outcomes, folder.spill):
        make_private(inner)
    try:
        yield folder
    finally:
        if not (path / "run.json").exists():
            shutil.rmtree(path, ignore_errors=True)


def first_info(plan: Plan, options: ReplayOptions, facts: Facts, reader: Facts | None = None) -> dict[str, Any]:
    """Return run.json as it is written before anything is sent."""
    tape = plan.tape
    counts = tape.info.get("counts") or {}
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "finished": False,
        "tape": {
            "path": str(tape.path.absolute()),
            "id": tape_id(tape.info),
            "events": plan.events,
            "sessions": counts.get("sessions"),
            "first_ns": tape.info.get("first_ns"),
            "last_ns": tape.info.get("last_ns"),
        },
        "target": _server(options.target, facts),
        "reader": _server(options.reads_to, reader) if options.reads_to and reader else None,
        "parameters": options.as_json(),
        "measuring_point": "client",
        "plan": plan.as_json(),
    }


def _server(target: Target, facts: Facts) -> dict[str, Any]:
    return {
        "name": target.name,
        "host": target.host,
        "port": target.port,
        "socket": target.socket,
        "user": target.user,
        "db": target.db,
        "version": facts.version,
        "version_comment": facts.version_comment,
        "variables": facts.variables,
        "identity": facts.identity,
    }
