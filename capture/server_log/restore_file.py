# SPDX-License-Identifier: Apache-2.0
"""Keep on disk what a capture changes on a server: the restore file.

It is on the disk, whole, before the first change, and removed when everything is set back: whatever kills this process,
`capture server URL --restore` finds what to do.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...common.errors import InputError
from .settings import BEGIN, CONTROL, HOLD, RESET, Change

RDS = "rds"  # the method of a capture that changed a parameter group


@dataclass(frozen=True)
class RestoreFile:
    """What a restore file holds: the server, what was changed there and when, the path of our own log there.

    `method`: how the log is read. `first_id`: sessions with a larger id connected after the capture began; `last_id`:
    with a larger one, after its settings were back, 0 = they are not yet. `already`: sessions whose long_query_time
    was the capture's before it began. `started`: when the server was. `held`: whether the changes of role HOLD are
    made. `group`: the parameter group that was changed, where it is a managed server's; `method` is rds then, and
    `server` its instance.
    """

    server: str
    identity: str
    at: str
    changes: tuple[Change, ...]
    log_file: str | None
    method: str = "file"
    first_id: int = 0
    last_id: int = 0
    already: tuple[int, ...] = ()
    started: int = 0
    held: bool = False
    group: str = ""

    def of(self, *roles: str) -> tuple[Change, ...]:
        """Return the changes of these roles, in the order of setting."""
        return tuple(change for change in self.changes if change.role in roles)


def default_restore_file(identity: str) -> Path:
    """Return the path of a server's restore file, in the user's state folder (XDG)."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "querytape" / "restore" / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def pending_sentence(path: Path) -> str | None:
    """Return that an earlier capture was not restored, and what to do; None where there is no restore file."""
    if not os.path.lexists(path):
        return None
    try:
        saved = read_restore_file(path)
        what = f"{'rds' if saved.method == RDS else 'server'} {saved.server}"
    except InputError:
        what = "server URL"
    return f"{path}: an earlier capture of this server was not restored: run `querytape capture {what} --restore` first"


def write_restore_file(path: Path, saved: RestoreFile) -> None:
    """Write a restore file; it is on the disk when this returns. Raises InputError where one exists."""
    with _written(path, saved) as whole:
        try:
            os.link(whole, path)  # unlike a rename, this fails where there is one; and it is never half of one
        except FileExistsError as error:
            raise InputError(pending_sentence(path) or f"{path}: exists") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def replace_restore_file(path: Path, saved: RestoreFile) -> None:
    """Put a restore file in the place of the one before, at once and on the disk."""
    with _written(path, saved) as whole:
        whole.replace(path)


@contextmanager
def _written(path: Path, saved: RestoreFile) -> Iterator[Path]:
    """Yield a file next to `path` that has the text, on the disk; it goes at the end, and the folder is synced."""
    whole = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(json.dumps(asdict(saved), indent=1) + "\n")
            out.flush()
            os.fsync(out.fileno())
        yield whole
    finally:
        whole.unlink(missing_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def read_restore_file(path: Path) -> RestoreFile:
    """Return what a restore file holds. Raises InputError where it is missing or damaged."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        changes = tuple(_change(change) for change in values.pop("changes"))
        saved = RestoreFile(changes=changes, **{**values, "already": tuple(map(int, values.get("already", ())))})
        texts = (saved.server, saved.identity, saved.at, saved.method, saved.log_file or "", saved.group)
        if not all(isinstance(text, str) for text in texts) or any(
            type(n) is not int for n in (saved.first_id, saved.last_id, saved.started)
        ):
            raise ValueError("a value is of another type")
        return saved
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is nothing to restore: no capture of this server was cut off") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not a restore file: {error}") from error


def _change(values: Mapping[str, Any]) -> Change:
    """Return a change. Raises ValueError for what no capture writes: its name becomes a part of a statement."""
    change = Change(**values)
    if not all(isinstance(text, str) for text in values.values()) or not change.name.replace("_", "a").isalnum():
        raise ValueError(f"no change of a variable: {values}")
    if change.role not in (BEGIN, CONTROL, HOLD, RESET):
        raise ValueError(f"unknown role {change.role!r}")
    return change
