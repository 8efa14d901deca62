# SPDX-License-Identifier: Apache-2.0
"""Drive the native replay engine. Sessions and events are its input, outcomes are its output, all as Arrow streams."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType
from typing import Any, Self

from ...schemas.names import CHOICES, NONES, EngineAddress, EngineCounts, PlainEngineOptions
from .._querytape import ffi, lib
from .errors import check
from .meters import DigestTime, Doing, Meters, read_doing, read_meters, read_slowest
from .streams import Stream, stream_pointer

MOST_COMMITS = 4096  # commits of one call
NEVER = (1 << 63) - 1


class State(IntEnum):
    """The progress of a run, with the values of enum qt_engine_state."""

    NEW = 0
    OPENING = 1
    READY = 2
    RUNNING = 3
    DRAINING = 4
    DONE = 5


class EndedBy(IntEnum):
    """The reason why the engine stopped by itself, with the values of enum qt_ended_by."""

    NOTHING = 0
    ERRORS = 1
    LOSS = 2
    OVERLOAD = 3


@dataclass(frozen=True, kw_only=True)
class EngineOptions(PlainEngineOptions):
    """Options of one replay. schemas/names.toml explains each option.

    `accounts`: pairs (user, password). Sessions refer to an account by its index. `read_target`: a second server with
    the same data. It answers reads outside transactions.
    """

    accounts: tuple[tuple[str, str | None], ...] = ()
    read_target: EngineAddress | None = None


@dataclass(frozen=True)
class EngineStats(EngineCounts):
    """Counters and quantiles of `struct qt_engine_stats`. A quantile is None if it has no measurements."""

    sessions_open: int
    queued_bytes: int
    now_ns: int
    engine_cpu_ns: int
    p95_ns: int | None
    late_p99_ns: int | None
    tool_p50_ns: int | None
    tool_p99_ns: int | None
    tool_p999_ns: int | None
    probe_p50_ns: int | None
    probe_p99_ns: int | None
    probe_p999_ns: int | None
    zero_real_ns: int
    state: State
    ended_by: EndedBy


# Quantiles of lateness over the whole run: lateness that querytape caused, and lateness of the timer probes. A quantile
# is None if it is unknown.
LATENESS = ("tool_p50_ns", "tool_p99_ns", "tool_p999_ns", "probe_p50_ns", "probe_p99_ns", "probe_p999_ns")


def _text(value: str) -> Any:
    """Return a C string that lives as long as the returned object."""
    return ffi.new("char[]", value.encode("utf-8", "surrogateescape"))


def _fill(struct: Any, options: Any, keep: list[Any]) -> None:
    """Set the plain fields of a C struct. `keep` collects the objects that pointers in the struct refer to."""
    for name, value in vars(options).items():
        number = NONES.get(name) if value is None else CHOICES[name][value] if name in CHOICES else value
        if isinstance(number, str):
            keep.append(_text(number))
            setattr(struct, name, keep[-1])
        elif isinstance(number, int):
            setattr(struct, name, number)


class Engine:
    """One replay.

    `feed` may run in a separate thread. Each method releases the interpreter lock while it waits in C.
    """

    def __init__(self, options: EngineOptions) -> None:
        error = ffi.new("struct qt_error *")
        struct = ffi.new("struct qt_engine_options *")
        keep: list[Any] = []
        _fill(struct, options, keep)
        if options.read_target is not None:
            keep.append(ffi.new("struct qt_address *"))
            struct.read_target = keep[-1]
            _fill(struct.read_target, options.read_target, keep)
        accounts = ffi.new("struct qt_account[]", max(len(options.accounts), 1))
        for place, (user, password) in enumerate(options.accounts):
            keep += [_text(user), _text(password or "")]
            accounts[place].user, accounts[place].password = keep[-2:]
        struct.accounts, struct.n_accounts = accounts, len(options.accounts)
        self._engine = lib.qt_engine_new(struct, error)
        if self._engine == ffi.NULL:
            check(error.code, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _open(self) -> Any:
        """The C engine. Raises ValueError after `close`."""
        if self._engine == ffi.NULL:
            raise ValueError("the engine is closed")
        return self._engine

    def sessions(self, source: Any) -> None:
        """Pass all sessions from an object with `__arrow_c_stream__` to the engine.

        If the engine follows a growing tape, the feeding thread may add more sessions during the run. Raises
        NativeFault if the columns are wrong.
        """
        error = ffi.new("struct qt_error *")
        stream, keep = stream_pointer(source)
        check(lib.qt_engine_sessions(self._open, stream, error), error)
        del keep

    def start(self) -> None:
        """Start the threads of the engine and return immediately. Raises NativeFault if a thread cannot be created."""
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_start(self._open, error), error)

    def go(self, zero_ns: int) -> None:
        """Set the start of the run to a time of CLOCK_MONOTONIC. Requires the option `holds` and the state READY.

        Raises NativeFault if the engine is in another state, the start is already set, or the time is past or too near.
        """
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_go(self._open, zero_ns, error), error)

    def feed(self, source: Any) -> None:
        """Pass planned events to the engine until the stream ends. Blocks while the memory budget is full."""
        error = ffi.new("struct qt_error *")
        stream, keep = stream_pointer(source)
        check(lib.qt_engine_feed(self._open, stream, error), error)
        del keep

    def feed_end(self) -> None:
        """Mark the end of the plan."""
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_feed_end(self._open, error), error)

    def outcomes(self, slice_ns: int) -> Stream:
        """Return a stream of outcomes that ends after about `slice_ns`, or at the end of the run."""

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_engine_outcomes(self._open, slice_ns, out, error), error)

        return Stream(fill, self)

    def session_results(self) -> Stream:
        """Return a stream with one row per session. Raises NativeFault before the end of the run."""

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_engine_session_results(self._open, out, error), error)

        return Stream(fill, self)

    def stats(self) -> EngineStats:
        """Return the counters. The interval quantiles cover the time since the previous call."""
        return self._stats(lib.qt_engine_stats)

    def peek(self) -> EngineStats:
        """Return the counters like `stats`, but without interval quantiles. The interval of `stats` continues."""
        return self._stats(lib.qt_engine_peek)

    def meters(self) -> Meters:
        """Return the metrics of the run so far.

        These are histograms by statement kind, histograms by lateness cause, and error counts by error number.
        """
        return read_meters(self._open)

    def slowest(self, most: int) -> list[DigestTime]:
        """Return up to `most` digests with the longest total service time so far, longest first."""
        return read_slowest(self._open, most)

    def doing(self) -> list[Doing]:
        """Return the current activity of each open session."""
        return read_doing(self._open)

    def share(self, tables: Sequence[int]) -> None:
        """Name the tables whose commits other engines need. Call it once, after `start` and before `go`.

        Only `let_go` then breaks stuck waits. Raises NativeFault for an unknown table or after the start of the run.
        """
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_share(self._open, ffi.new("int32_t[]", list(tables)), len(tables), error), error)

    def finished(self, wait_ns: int) -> bytes:
        """Return the commits of shared tables that have finished since the last call, as `settle` needs them.

        Waits up to `wait_ns` for the first commit. Returns empty bytes if there is none.
        """
        pairs = ffi.new("int64_t[]", 2 * MOST_COMMITS)
        n = lib.qt_engine_finished(self._open, pairs, MOST_COMMITS, wait_ns)
        return bytes(ffi.buffer(pairs, 2 * n * ffi.sizeof("int64_t")))

    def settle(self, commits: bytes) -> None:
        """Mark commits as finished that other engines have finished. Raises NativeFault for an unknown table."""
        error = ffi.new("struct qt_error *")
        pairs = ffi.from_buffer("int64_t[]", commits)
        check(lib.qt_engine_settle(self._open, pairs, len(pairs) // 2, error), error)

    def stuck(self) -> tuple[int, bool] | None:
        """Return the next stuck wait to break: its due time in ns, and whether it may be the cause. None: no wait is
        stuck.
        """
        cause = ffi.new("int32_t *")
        due = int(lib.qt_engine_stuck(self._open, cause))
        return None if due == NEVER else (due, bool(cause[0]))

    def send_until(self, until_ns: int) -> None:
        """Stop the engine instead of sending an event after this time of CLOCK_MONOTONIC. 0 means no limit."""
        lib.qt_engine_send_until(self._open, until_ns)

    def let_go(self) -> None:
        """Break the next stuck wait."""
        lib.qt_engine_let_go(self._open)

    def due(self) -> int | None:
        """Return the number of fed events whose due time has come, with a precision of 1/2048 of the run.

        Returns None if the pace gives events no due time.
        """
        found = int(lib.qt_engine_due(self._open))
        return None if found < 0 else found

    def _stats(self, read: Callable[[Any, Any], None]) -> EngineStats:
        s = ffi.new("struct qt_engine_stats *")
        read(self._open, s)
        optional = ("p95_ns", "late_p99_ns", *LATENESS)
        counted = EngineCounts.__dataclass_fields__
        values: dict[str, Any] = {
            name: int(getattr(s.counts if name in counted else s, name)) for name in EngineStats.__dataclass_fields__
        }
        values["state"] = State(s.state)
        values["ended_by"] = EndedBy(s.ended_by)
        values.update({name: None for name in optional if values[name] < 0})
        return EngineStats(**values)

    def connect_error(self) -> str | None:
        """Return the error of the first session that could not connect. None: each session could connect."""
        number = ffi.new("int32_t *")
        text = lib.qt_engine_connect_error(self._open, number)
        return None if text == ffi.NULL else f"{number[0]} {ffi.string(text).decode('utf-8', 'replace')}"

    def set_speed(self, factor: float) -> None:
        """Change the speed from now on. `factor` is relative to the planned speed.

        Raises NativeFault if the factor is out of range or the pace gives events no due time.
        """
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_set_speed(self._open, factor, error), error)

    def stop(self, how: int = 1) -> None:
        """Stop the run.

        - 1: send no more events, and wait for answers during the drain time
        - 2: cut all connections now
        """
        if self._engine != ffi.NULL:
            lib.qt_engine_stop(self._engine, how)

    def close(self) -> None:
        """Free the engine. Ends a run that is still active."""
        if self._engine != ffi.NULL:
            lib.qt_engine_free(self._engine)
            self._engine = ffi.NULL
