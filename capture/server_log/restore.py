# SPDX-License-Identifier: Apache-2.0
"""Restore the settings of a server after a capture, even after a crash.

The restore file lists the changes of a capture. The file is completely on disk before the first change. It is removed
when all settings are restored. After a kill, `capture server URL --restore` reads the file.

take_back: disable the server's slow log (if on) -> restore settings -> settle: watch sessions -> enable the slow log
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pymysql
from pymysql.connections import Connection

from ...common.errors import InputError, RefusedError, TargetError
from ...common.signals import stop_on_signals
from ...common.units import plural
from ...servers.queries import query_or_none, whole
from ...servers.target import Target
from .sessions import Carrier, Span, carriers, end_idle, listed
from .settings import BEGIN, CONTROL, COPIED, HOLD, RESET, Change, Left, global_value, restore, same, set_global

RDS = "rds"  # method name of captures that changed a parameter group
POLL_S = 1.0
T = TypeVar("T")


@dataclass(frozen=True)
class RestoreFile:
    """Content of a restore file: the server, its changed settings, the time, and the path of querytape's log.

    The path is a path on the server. `method`: the way to read the log. `first_id`: sessions with a larger id connected
    after the capture began. `last_id`: sessions with a larger id connected after the settings were restored. 0 means
    not yet restored. `already`: sessions that had the capture's long_query_time before the capture. `started`: start
    time of the server. `held`: whether the changes with role HOLD were made.

    `group`: the changed parameter group of a managed server. For such a server, `method` is "rds" and `server` is the
    instance.
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
        """Return the changes with these roles, in the order in which they are set."""
        return tuple(change for change in self.changes if change.role in roles)


def default_restore_file(identity: str) -> Path:
    """Return the path of the restore file of a server, in the user's state folder (XDG)."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "querytape" / "restore" / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def pending_sentence(path: Path) -> str | None:
    """Return a message that an earlier capture must be restored first, or None if there is no restore file."""
    if not os.path.lexists(path):
        return None
    try:
        saved = read_restore_file(path)
        what = f"{'rds' if saved.method == RDS else 'server'} {saved.server}"
    except InputError:
        what = "server URL"
    return (
        f"{path}: an earlier capture did not restore the settings of this server. Run `querytape capture {what}"
        " --restore` first"
    )


def write_restore_file(path: Path, saved: RestoreFile) -> None:
    """Write a new restore file and sync it to disk. Raises InputError if the file exists."""
    with _written(path, saved) as whole:
        try:
            os.link(whole, path)  # atomic, and unlike a rename it fails if the file exists
        except FileExistsError as error:
            raise InputError(pending_sentence(path) or f"{path}: exists") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def replace_restore_file(path: Path, saved: RestoreFile) -> None:
    """Replace a restore file atomically and sync it to disk."""
    with _written(path, saved) as whole:
        whole.replace(path)


@contextmanager
def _written(path: Path, saved: RestoreFile) -> Iterator[Path]:
    """Yield a synced temporary file with the new content next to `path`.

    Remove the file and sync the folder at the end.
    """
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
    """Return the content of a restore file. Raises InputError if the file is missing or damaged."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        changes = tuple(_change(change) for change in values.pop("changes"))
        saved = RestoreFile(changes=changes, **{**values, "already": tuple(map(int, values.get("already", ())))})
        texts = (saved.server, saved.identity, saved.at, saved.method, saved.log_file or "", saved.group)
        if not all(isinstance(text, str) for text in texts) or any(
            type(n) is not int for n in (saved.first_id, saved.last_id, saved.started)
        ):
            raise ValueError("a value has the wrong type")
        return saved
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no restore file. There is nothing to restore, because no capture of this server was interrupted"
        ) from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not a restore file: {error}") from error


def _change(values: Mapping[str, Any]) -> Change:
    """Return a validated change.

    Raises ValueError if a value is invalid. The check is strict because the name is inserted into an SQL statement.
    """
    change = Change(**values)
    if not all(isinstance(text, str) for text in values.values()) or not change.name.replace("_", "a").isalnum():
        raise ValueError(f"expected the change of a variable, found {values}")
    if change.role not in (BEGIN, CONTROL, HOLD, RESET):
        raise ValueError(f"unknown role {change.role!r}")
    return change


@dataclass(frozen=True)
class WatchOptions:
    """Options of the wait until no session has the settings of the capture.

    `watch_s`: maximum wait in seconds. `end_sessions`: end sessions that are idle and outside transactions.
    `log_again`: enable the server's own log after the wait, even if sessions with the settings remain. `say` receives
    the number of remaining sessions once per second.
    """

    watch_s: float = 600.0
    end_sessions: bool = False
    log_again: bool = False
    say: Callable[[str], None] = field(default=lambda text: None)


@dataclass(frozen=True)
class HandedBack:
    """Messages about the restored settings. `done`: whether every setting is restored and nothing is pending."""

    lines: tuple[str, ...]
    done: bool


def connection_id(con: "Connection[Any]") -> int:
    """Return the connection id of this session. Raises TargetError if the server does not report it."""
    rows = query_or_none(con, "SELECT CONNECTION_ID()")
    number = whole(rows[0][0]) if rows else None
    if number is None:
        raise TargetError("SELECT CONNECTION_ID(): no answer")
    return number


def server_started(con: "Connection[Any]") -> int:
    """Return the start time of the server in seconds of the server's clock, or 0 if unknown."""
    uptime = query_or_none(con, "SHOW GLOBAL STATUS LIKE 'Uptime'", 2)
    now = query_or_none(con, "SELECT CAST(UNIX_TIMESTAMP() AS UNSIGNED)")
    return (whole(now[0][0]) or 0) - (whole(uptime[0][1]) or 0) if now and uptime else 0


def take_back(con: "Connection[Any]", path: Path, saved: RestoreFile) -> tuple[RestoreFile, Left]:
    """Restore the settings that can be restored immediately.

    Returns the updated restore file and the settings that were not restored. The server's own slow log is disabled
    before the other settings are restored. This log stays disabled until `settle`.
    """
    left = Left()
    for change in saved.of(HOLD):
        now = global_value(con, change.name)
        on = now is not None and same(now, change.before)
        # If the log is on and other changes are still active, the process was killed before it disabled the log. At
        # that time, the process had already written the restore file. If no other change is active, someone else has
        # enabled the log again.
        if saved.held and not (on and _any_changed(con, saved.of(BEGIN))):
            continue
        if not on:
            saved = replace(saved, changes=tuple(c for c in saved.changes if c is not change))
            replace_restore_file(path, saved)
            text = (
                f"somebody else changed {change.name} from {change.before!r} to {now!r}, so querytape keeps the new"
                " value"
            )
            left += Left(changed=(text,))
            continue
        saved = replace(saved, held=True)
        replace_restore_file(path, saved)
        try:
            set_global(con, change.name, change.wanted)
        except RefusedError as error:
            left += Left(refused=(str(error),))
    return saved, left + restore(con, saved.of(BEGIN))


def _any_changed(con: "Connection[Any]", changes: tuple[Change, ...]) -> bool:
    """Return whether any of the changes is still active on the server."""
    values = [(change, global_value(con, change.name)) for change in changes]
    return any(now is not None and same(now, change.wanted) for change, now in values)


def settle(target: Target, path: Path, saved: RestoreFile, span: Span, watch: WatchOptions) -> HandedBack:
    """Wait until no session has the capture's settings, restore the remaining settings and remove the restore file.

    Ctrl-C has the same effect as the timeout: the wait ends. Settings that were not restored stay in the restore file.
    """
    lines: list[str] = []
    waiting = saved.of(CONTROL, HOLD)
    may_carry = any(change.name in COPIED for change in saved.changes)
    found = _look(target, span) if may_carry else []
    if found != [] and (waiting or watch.end_sessions):
        lines += _describe(found, waiting != ())
        try:
            found = _wait(target, span, watch, lines, found)
        except KeyboardInterrupt:
            lines.append("the wait for open sessions was interrupted")
    if waiting and found != [] and not watch.log_again:
        return HandedBack((*lines, *_still(target, found, saved)), done=False)
    with stop_on_signals(lambda: None):
        left = with_connection(target, lambda con: restore(con, waiting))
        if not left.refused:
            path.unlink(missing_ok=True)
    lines += [*left.changed, *left.refused, *_ended(found, waiting != ())]
    return HandedBack(tuple(lines), done=not left.refused)


def with_connection(target: Target, act: Callable[["Connection[Any]"], T], tries: int = 20) -> T:
    """Call `act` with a new connection and return its result. Reconnects after errors.

    Raises TargetError after the last attempt.
    """
    for attempt in range(tries):
        try:
            with closing(target.connect(timeout_s=5)) as con:
                return act(con)
        except (TargetError, pymysql.MySQLError, OSError) as error:
            if attempt == tries - 1:
                raise TargetError(f"{target.name}: {error}") from error
            time.sleep(min(0.25 * (attempt + 1), 2))
    raise AssertionError("unreachable")


def _look(target: Target, span: Span) -> list[Carrier] | None:
    return with_connection(target, lambda con: carriers(con, span))


def _wait(
    target: Target, span: Span, watch: WatchOptions, lines: list[str], found: list[Carrier] | None
) -> list[Carrier] | None:
    """Check once per second until no session has the capture's settings or the time is over.

    End idle sessions if requested.
    """
    until = time.monotonic() + watch.watch_s
    ended: set[int] = set()
    try:
        while found != []:
            if watch.end_sessions and found:
                now = list(found)
                ended.update(with_connection(target, lambda con, now=now: end_idle(con, now)))  # type: ignore[misc]
            rest = until - time.monotonic()
            if rest <= 0:
                break
            text = "an unknown number of sessions still have the settings of the capture"
            if found is not None:
                have = "has" if len(found) == 1 else "have"
                text = f"{plural(len(found), 'session')} still {have} the settings of the capture"
            watch.say(f"{text}. Waiting at most {rest:,.0f} s for these sessions to disconnect")
            time.sleep(min(POLL_S, rest))
            with suppress(TargetError):
                found = _look(target, span)
    finally:
        if ended:
            lines.append(
                f"--end-sessions ended {plural(len(ended), 'idle session')}: {', '.join(map(str, sorted(ended)))}"
            )
    return found


def _describe(found: list[Carrier] | None, held: bool) -> list[str]:
    """Return a message about the sessions that still have the capture's settings."""
    off = ". The server's own slow log stays off until these sessions disconnect" if held else ""
    if found is None:
        return [f"this account needs PROCESS to see the sessions that still have long_query_time = 0{off}"]
    return [f"{_carry(found)}{off}"]


def _carry(found: list[Carrier]) -> str:
    sure = all(carrier.certain for carrier in found)
    verb = "still has" if len(found) == 1 else "still have"
    return f"{plural(len(found), 'session')} {verb if sure else 'may still have'} long_query_time = 0: {listed(found)}"


def _still(target: Target, found: list[Carrier] | None, saved: RestoreFile) -> list[str]:
    """Return messages about settings that are not restored, and the remedy."""
    hold = "; ".join(
        f"{change.name} stays {change.wanted!r} (was {change.before!r})" for change in saved.of(CONTROL, HOLD)
    )
    if found is None:
        who = "sessions that this account cannot see may write every statement into the server's own slow log"
    else:
        who = f"these sessions would write every statement into the server's own slow log: {listed(found)}"
    return [
        f"NOT RESTORED: {hold}. With the old value, {who}",
        "to restore the settings, restart the clients' connection pool or KILL these sessions (or use --end-sessions),"
        f" then run `querytape capture server {saved.server} --restore` (with --log-again: restore now)",
    ]


def _ended(found: list[Carrier] | None, held: bool) -> list[str]:
    """Return a message about the sessions that still have the capture's settings, and about their effect."""
    if found == []:
        return ["no session still has the settings of the capture"] if held else []
    who = "sessions that this account cannot see may have long_query_time = 0" if found is None else _carry(found)
    if held:
        return [f"{who}. EACH OF THESE SESSIONS WRITES EVERY STATEMENT into the server's own slow log (--log-again)"]
    return [f"{who}. These sessions write nothing, because the slow log is off again"]
