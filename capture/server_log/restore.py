# SPDX-License-Identifier: Apache-2.0
"""Set a server's settings back after a capture, whatever ended it.

The restore file has what a capture changes. It is on the disk, whole, before the first change, and is removed when all
is set back. So `capture server URL --restore` finds what to do after a kill.

take_back: own slow log held off (where it was on) -> settings back -> settle: sessions watched -> own log on again
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

RDS = "rds"  # the method of a capture that changed a parameter group
POLL_S = 1.0
T = TypeVar("T")


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
    return (
        f"{path}: an earlier capture did not restore the settings of this server. Run `querytape capture {what}"
        " --restore` first"
    )


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
            raise ValueError("a value has the wrong type")
        return saved
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no restore file. There is nothing to restore, because no capture of this server was interrupted"
        ) from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not a restore file: {error}") from error


def _change(values: Mapping[str, Any]) -> Change:
    """Return a change. Raises ValueError for what no capture writes: its name becomes a part of a statement."""
    change = Change(**values)
    if not all(isinstance(text, str) for text in values.values()) or not change.name.replace("_", "a").isalnum():
        raise ValueError(f"expected the change of a variable, found {values}")
    if change.role not in (BEGIN, CONTROL, HOLD, RESET):
        raise ValueError(f"unknown role {change.role!r}")
    return change


@dataclass(frozen=True)
class WatchOptions:
    """How sessions are watched that carry the capture's settings.

    `watch_s`: how long at most. `end_sessions`: end those that are idle and outside transactions. `log_again`: switch
    the server's own log on at the end whatever sessions are left. `say`: called once a second with how many are left.
    """

    watch_s: float = 600.0
    end_sessions: bool = False
    log_again: bool = False
    say: Callable[[str], None] = field(default=lambda text: None)


@dataclass(frozen=True)
class HandedBack:
    """What became of the settings, in sentences; `done`: all are as before, and nothing waits."""

    lines: tuple[str, ...]
    done: bool


def connection_id(con: "Connection[Any]") -> int:
    """Return the server's number of this session. Raises TargetError where it does not say."""
    rows = query_or_none(con, "SELECT CONNECTION_ID()")
    number = whole(rows[0][0]) if rows else None
    if number is None:
        raise TargetError("SELECT CONNECTION_ID(): no answer")
    return number


def server_started(con: "Connection[Any]") -> int:
    """Return when the server was started, in seconds of its own clock; 0 where it does not say."""
    uptime = query_or_none(con, "SHOW GLOBAL STATUS LIKE 'Uptime'", 2)
    now = query_or_none(con, "SELECT CAST(UNIX_TIMESTAMP() AS UNSIGNED)")
    return (whole(now[0][0]) or 0) - (whole(uptime[0][1]) or 0) if now and uptime else 0


def take_back(con: "Connection[Any]", path: Path, saved: RestoreFile) -> tuple[RestoreFile, Left]:
    """Set back all that need not wait for sessions; return the restore file as it is now, and what was not set back.

    The server's own slow log is held off before its settings are back, and stays off until settle().
    """
    left = Left()
    for change in saved.of(HOLD):
        now = global_value(con, change.name)
        on = now is not None and same(now, change.before)
        # Killed between the restore file and the change: nothing is back yet. Else somebody has switched it on again.
        if saved.held and not (on and _any_changed(con, saved.of(BEGIN))):
            continue
        if not on:
            saved = replace(saved, changes=tuple(c for c in saved.changes if c is not change))
            replace_restore_file(path, saved)
            text = (
                f"{change.name} is now {now!r}: somebody else changed it from {change.before!r}, so querytape keeps the"
                " new value"
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
    """Return whether any of the changes is still made."""
    values = [(change, global_value(con, change.name)) for change in changes]
    return any(now is not None and same(now, change.wanted) for change, now in values)


def settle(target: Target, path: Path, saved: RestoreFile, span: Span, watch: WatchOptions) -> HandedBack:
    """Wait until no session carries the capture's settings, set the rest back and remove the restore file.

    Ctrl-C ends the waiting as the time does. What was not set back stays in the restore file.
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
    """Return what `act` makes of a new connection; where it breaks, of another one. Raises TargetError at last."""
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
    """Look once a second until none is left or the time is over; end those that may be ended, where asked."""
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
            watch.say(f"{text}. Waiting at most {rest:,.0f} s for them to disconnect")
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
    """Return who carries what, and what holds meanwhile."""
    off = ". The server's own slow log stays off until these sessions disconnect" if held else ""
    if found is None:
        return [f"this account needs PROCESS to see the sessions that still have long_query_time = 0{off}"]
    return [f"{_carry(found)}{off}"]


def _carry(found: list[Carrier]) -> str:
    sure = all(carrier.certain for carrier in found)
    verb = "still has" if len(found) == 1 else "still have"
    return f"{plural(len(found), 'session')} {verb if sure else 'may still have'} long_query_time = 0: {listed(found)}"


def _still(target: Target, found: list[Carrier] | None, saved: RestoreFile) -> list[str]:
    """Return what stays as it should not, and what ends it."""
    hold = "; ".join(
        f"{change.name} stays {change.wanted!r} (was {change.before!r})" for change in saved.of(CONTROL, HOLD)
    )
    if found is None:
        who = "sessions that this account cannot see may write every statement into the server's own slow log"
    else:
        who = f"these sessions would write every statement into the server's own slow log: {listed(found)}"
    return [
        f"NOT RESTORED: {hold}. With the old value, {who}",
        "to restore the settings, restart the clients' connection pool or KILL these sessions (--end-sessions ends idle"
        f" ones). Then run `querytape capture server {saved.server} --restore`. --log-again does not wait for the"
        " sessions",
    ]


def _ended(found: list[Carrier] | None, held: bool) -> list[str]:
    """Return how the sessions that carried the settings ended, or why they do no harm."""
    if found == []:
        return ["no session has the settings of the capture any longer"] if held else []
    who = "sessions that this account cannot see may have long_query_time = 0" if found is None else _carry(found)
    if held:
        return [f"{who}. EACH OF THESE SESSIONS WRITES EVERY STATEMENT into the server's own slow log (--log-again)"]
    return [f"{who}. These sessions write nothing, because the slow log is off again"]
