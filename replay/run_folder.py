# SPDX-License-Identifier: Apache-2.0
"""Makes the folder of a run: private, with run.json from the first moment, complete only at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..common.files import hold, new_folder, remove_folder, write_json
from ..common.signals import held
from ..common.version import __version__
from ..schemas import FORMAT_VERSION, Folder, open_folder, tape_id
from ..servers.facts import Facts
from ..servers.target import Target
from .options import ReplayOptions
from .plan.rules import Plan


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
        """Remove the files that only the replay itself needed."""
        with held():
            remove_folder(self.spill)


@contextmanager
def new_run(path: Path) -> Iterator[RunFolder]:
    """Make an empty run folder, held while the block lives; where that fails before run.json, the folder is removed.

    Raises InputError where something of that name is there.
    """
    folder, made = RunFolder(path), False
    try:
        with held():  # a signal finds it made or not made
            new_folder(path, folder.outcomes.name, folder.spill.name)
            made = True
        with hold(path):
            yield folder
    finally:
        if made and not (path / "run.json").exists():
            with held():
                remove_folder(path)


def first_info(plan: Plan, options: ReplayOptions, facts: Facts, read_target: Facts | None = None) -> dict[str, Any]:
    """Return run.json as it is written before anything is sent."""
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "finished": False,
        "tape": tape_info(plan),
        "target": {
            **_server(options.target, facts),
            "prepared": None if facts.prepared is None else [xid.literal for xid in facts.prepared],
        },
        "read_target": _server(options.reads_to, read_target) if options.reads_to and read_target else None,
        "parameters": options.as_json(),
        "measuring_point": "client",
        "plan": plan.as_json(),
    }


def tape_info(plan: Plan) -> dict[str, Any]:
    """Return what run.json says of the tape."""
    tape = plan.tape
    return {
        "path": str(tape.path.absolute()),
        "id": tape_id(tape.info),
        "events": plan.events,
        "sessions": (tape.info.get("counts") or {}).get("sessions"),
        "first_ns": tape.info.get("first_ns"),
        "last_ns": tape.info.get("last_ns"),
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
