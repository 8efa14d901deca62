# SPDX-License-Identifier: Apache-2.0
"""Set a server's settings back, and wait for the sessions that still carry the capture's.

take_back: own slow log held off (where it was on) -> settings back -> settle: sessions watched -> own log on again
"""

import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pymysql
from pymysql.connections import Connection

from ...common.errors import RefusedError, TargetError
from ...common.signals import stop_on_signals
from ...common.units import plural
from ...servers.queries import query_or_none, whole
from ...servers.target import Target
from .carriers import Carrier, Span, carriers, end_idle, listed
from .restore_file import RestoreFile, replace_restore_file
from .settings import BEGIN, CONTROL, COPIED, HOLD, Change, Left, global_value, restore, same, set_global

POLL_S = 1.0
T = TypeVar("T")


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
            text = f"{change.name} was {change.before!r} and somebody else set it to {now!r} meanwhile: it is left so"
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
            lines.append("the watch was stopped by hand")
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
            carry = "an unknown number of sessions still carry"
            if found is not None:
                carry = f"{plural(len(found), 'session')} still {'carries' if len(found) == 1 else 'carry'}"
            watch.say(f"{carry} the capture's settings; waiting {rest:,.0f} s at most")
            time.sleep(min(POLL_S, rest))
            with suppress(TargetError):
                found = _look(target, span)
    finally:
        if ended:
            lines.append(f"--end-sessions ended {len(ended):,} idle sessions: {', '.join(map(str, sorted(ended)))}")
    return found


def _describe(found: list[Carrier] | None, held: bool) -> list[str]:
    """Return who carries what, and what holds meanwhile."""
    off = "; the server's own slow log waits for them" if held else ""
    if found is None:
        return [f"this account cannot see the sessions that still carry long_query_time = 0: it needs PROCESS{off}"]
    return [f"{_carry(found)}{off}"]


def _carry(found: list[Carrier]) -> str:
    sure = all(carrier.certain for carrier in found)
    verb = "still carries" if len(found) == 1 else "still carry"
    return f"{verb if sure else 'may still carry'} long_query_time = 0 until they disconnect: {listed(found)}"


def _still(target: Target, found: list[Carrier] | None, saved: RestoreFile) -> list[str]:
    """Return what stays as it should not, and what ends it."""
    who = "sessions that cannot be seen" if found is None else listed(found)
    hold = "; ".join(
        f"{change.name} stays {change.wanted!r} (was {change.before!r})" for change in saved.of(CONTROL, HOLD)
    )
    return [
        f"NOT AS BEFORE: {hold}: otherwise these would write every statement into the server's own slow log: {who}",
        "what ends it: recycle the clients' pool, or KILL these sessions (--end-sessions ends the idle ones); then"
        f" `querytape capture server {saved.server} --restore`; --log-again does not wait for them",
    ]


def _ended(found: list[Carrier] | None, held: bool) -> list[str]:
    """Return how the sessions that carried the settings ended, or why they do no harm."""
    if found == []:
        return ["no session carries the capture's settings any more"] if held else []
    who = "sessions that cannot be seen carry" if found is None else f"{_carry(found)};"
    if held:
        return [f"{who} EACH WRITES EVERY STATEMENT into the server's own slow log (--log-again)"]
    return [f"{who} the slow log is off again, so they write nothing"]
