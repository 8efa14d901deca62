# SPDX-License-Identifier: Apache-2.0
"""Drive the native replay engine: sessions and events in, outcomes out, all as Arrow streams."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType
from typing import Any, Self

from ...schemas.names import CHOICES, NONES, EngineAddress, EngineCounts, PlainEngineOptions
from .._querytape import ffi, lib
from .errors import check
from .meters import DigestTime, Doing, Meters, read_doing, read_meters, read_slowest
from .streams import Stream, stream_pointer


class State(IntEnum):
    """Progress of a run: enum qt_engine_state."""

    NEW = 0
    OPENING = 1
    READY = 2
    RUNNING = 3
    DRAINING = 4
    DONE = 5


class EndedBy(IntEnum):
    """Reason why the engine stopped by itself: enum qt_ended_by."""

    NOTHING = 0
    ERRORS = 1
    LOSS = 2
    OVERLOAD = 3


@dataclass(frozen=True, kw_only=True)
class EngineOptions(PlainEngineOptions):
    """Options of one replay. Each is explained in schemas/names.toml.

    `accounts` are pairs (user, password); sessions name them by their place. `read_target` answers reads outside
    transactions, from the same data.
    """

    accounts: tuple[tuple[str, str | None], ...] = ()
    read_target: EngineAddress | None = None


@dataclass(frozen=True)
class EngineStats(EngineCounts):
    """Counters and quantiles as `struct qt_engine_stats` gives them; quantiles are None where nothing was measured."""

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


# Quantiles of the whole run's lateness, None where there is none: of the tool's own share, and of the timer probes.
LATENESS = ("tool_p50_ns", "tool_p99_ns", "tool_p999_ns", "probe_p50_ns", "probe_p99_ns", "probe_p999_ns")


def _text(value: str) -> Any:
    """Return a text of C's, which lives as long as what is returned."""
    return ffi.new("char[]", value.encode("utf-8", "surrogateescape"))


def _fill(struct: Any, options: Any, keep: list[Any]) -> None:
    """Set the plain fields of a C struct; `keep` holds what they point to."""
    for name, value in vars(options).items():
        number = NONES.get(name) if value is None else CHOICES[name][value] if name in CHOICES else value
        if isinstance(number, str):
            keep.append(_text(number))
            setattr(struct, name, keep[-1])
        elif isinstance(number, int):
            setattr(struct, name, number)


class Engine:
    """One replay. `feed` may run in a thread of its own; every call releases the interpreter while it waits in C."""

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
        """Return the engine in C. Raises ValueError once it is closed."""
        if self._engine == ffi.NULL:
            raise ValueError("the engine is closed")
        return self._engine

    def sessions(self, source: Any) -> None:
        """Take all sessions from anything with `__arrow_c_stream__`. Raises NativeFault for other columns.

        Where the engine follows, more may come while it runs, from the thread that feeds.
        """
        error = ffi.new("struct qt_error *")
        stream, keep = stream_pointer(source)
        check(lib.qt_engine_sessions(self._open, stream, error), error)
        del keep

    def start(self) -> None:
        """Start the engine's threads; returns at once. Raises NativeFault where there is no thread for it."""
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_start(self._open, error), error)

    def go(self, zero_ns: int) -> None:
        """Let the run's zero be at this time of CLOCK_MONOTONIC, where the engine `holds` and is READY.

        Raises NativeFault where it is neither, was told before, or the time is past or too near.
        """
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_go(self._open, zero_ns, error), error)

    def feed(self, source: Any) -> None:
        """Take planned events until the stream ends; blocks while the memory budget is full."""
        error = ffi.new("struct qt_error *")
        stream, keep = stream_pointer(source)
        check(lib.qt_engine_feed(self._open, stream, error), error)
        del keep

    def feed_end(self) -> None:
        """Tell the engine that the plan has ended."""
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_feed_end(self._open, error), error)

    def outcomes(self, slice_ns: int) -> Stream:
        """Return a stream of outcomes that ends after about `slice_ns`, or with the run."""

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_engine_outcomes(self._open, slice_ns, out, error), error)

        return Stream(fill, self)

    def session_results(self) -> Stream:
        """Return a stream of one row a session, after the end of the run. Raises NativeFault before it."""

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_engine_session_results(self._open, out, error), error)

        return Stream(fill, self)

    def stats(self) -> EngineStats:
        """Return counters; the interval's quantiles are those since the previous call."""
        return self._stats(lib.qt_engine_stats)

    def peek(self) -> EngineStats:
        """Return counters as `stats` does, but without the interval's quantiles, whose interval goes on."""
        return self._stats(lib.qt_engine_peek)

    def meters(self) -> Meters:
        """Return histograms of the run so far by class and cause, and errors by number."""
        return read_meters(self._open)

    def slowest(self, most: int) -> list[DigestTime]:
        """Return up to `most` digests on which the target has spent most time so far, the most first."""
        return read_slowest(self._open, most)

    def doing(self) -> list[Doing]:
        """Return what each open session is doing."""
        return read_doing(self._open)

    def due(self) -> int | None:
        """Return how many of the events fed are due by now, to within a 2048th of the run; None where none is due."""
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

    def set_speed(self, factor: float) -> None:
        """Let due times come `factor` times as fast as planned from now on. Raises NativeFault where nothing is due."""
        error = ffi.new("struct qt_error *")
        check(lib.qt_engine_set_speed(self._open, factor, error), error)

    def stop(self, how: int = 1) -> None:
        """Stop; 1: send nothing more, wait for answers as long as the drain allows; 2: cut the connections now."""
        if self._engine != ffi.NULL:
            lib.qt_engine_stop(self._engine, how)

    def close(self) -> None:
        """Free the engine; ends what still runs."""
        if self._engine != ffi.NULL:
            lib.qt_engine_free(self._engine)
            self._engine = ffi.NULL
