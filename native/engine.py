# SPDX-License-Identifier: Apache-2.0
"""The replay engine, from Python: sessions and events go in as Arrow streams, outcomes come out as one."""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

from ._querytape import ffi, lib
from .errors import NativeFault, check, text_of
from .streams import Stream, stream_pointer


class State(IntEnum):
    """How far a run is."""

    NEW = 0
    OPENING = 1
    RUNNING = 2
    DRAINING = 3
    DONE = 4


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where to replay and how; `querytape.h` tells each field's meaning. Give either `host` or `socket`."""

    user: str
    host: str | None = None
    socket: str | None = None
    port: int = 3306
    password: str | None = None
    db: str | None = None
    charset: str = "utf8mb4"
    init: str | None = None
    connect_timeout_s: int = 10
    max_pace: bool = False
    canaries: int = 0
    connect_rate: int = 500
    lead_ns: int = 2_000_000_000
    queue_bytes: int = 64 << 20
    drain_ns: int = 30_000_000_000
    stack_bytes: int = 128 << 10


@dataclass(frozen=True)
class EngineStats:
    """Counters since the start, as `querytape.h` tells them. -1 in a quantile: nothing happened."""

    fed: int
    executed: int
    not_sent: int
    reads: int
    writes: int
    others: int
    errors: int
    injected: int
    sessions_open: int
    sessions_opened: int
    sessions_failed: int
    sessions_lost: int
    queued_bytes: int
    now_ns: int
    engine_cpu_ns: int
    p95_ns: int
    late_p99_ns: int
    tool_p50_ns: int
    tool_p99_ns: int
    canary_p50_ns: int
    canary_p99_ns: int
    drain_cut: int
    zero_real_ns: int
    state: State


def _native_options(options: EngineOptions) -> tuple[Any, list[Any]]:
    """Return the C struct and what must live as long as it is read."""
    native = ffi.new("struct qt_engine_options *")
    texts = []
    for field in fields(options):
        value = getattr(options, field.name)
        if isinstance(value, str):
            value = ffi.new("char[]", value.encode())
            texts.append(value)
        setattr(native, field.name, ffi.NULL if value is None else value)
    return native, texts


class Engine:
    """One run. `feed` blocks while the memory budget is full: call it in a thread of its own."""

    def __init__(self, options: EngineOptions) -> None:
        native, texts = _native_options(options)
        error = ffi.new("struct qt_error *")
        self._engine = lib.qt_engine_new(native, error)
        texts.clear()
        if self._engine == ffi.NULL:
            raise NativeFault(error.code, text_of(error.message))

    def _call(self, function: Any, *arguments: Any) -> None:
        error = ffi.new("struct qt_error *")
        check(function(self._alive(), *arguments, error), error)

    def _alive(self) -> Any:
        if self._engine == ffi.NULL:
            raise ValueError("the engine is closed")
        return self._engine

    def sessions(self, source: Any) -> None:
        """Take all sessions, sorted by when they open, from anything with `__arrow_c_stream__`."""
        pointer, _keep = stream_pointer(source)
        self._call(lib.qt_engine_sessions, pointer)

    def start(self) -> None:
        """Start connecting; events may be fed from now on."""
        self._call(lib.qt_engine_start)

    def feed(self, source: Any) -> None:
        """Take planned events, sorted by due time; returns early after a stop."""
        pointer, _keep = stream_pointer(source)
        self._call(lib.qt_engine_feed, pointer)

    def feed_end(self) -> None:
        """Tell that no more events will come."""
        self._call(lib.qt_engine_feed_end)

    def outcomes(self, slice_ns: int) -> Stream:
        """Return a stream of the outcomes of the next `slice_ns`; it ends sooner where the run is done."""
        return Stream(lambda stream: self._call(lib.qt_engine_outcomes, slice_ns, stream), self)

    def session_results(self) -> Stream:
        """Return a stream with one row a session, once the run is done."""
        return Stream(lambda stream: self._call(lib.qt_engine_session_results, stream), self)

    def stats(self) -> EngineStats:
        """Return the counters; `p95_ns` and `late_p99_ns` are of the time since the previous call."""
        native = ffi.new("struct qt_engine_stats *")
        lib.qt_engine_stats(self._alive(), native)
        values: dict[str, Any] = {field.name: getattr(native, field.name) for field in fields(EngineStats)}
        return EngineStats(**{**values, "state": State(native.state)})

    def stop(self, how: int = 1) -> None:
        """1: send nothing more and let answers come; 2: end at once. May be called from a signal handler."""
        if self._engine != ffi.NULL:
            lib.qt_engine_stop(self._engine, how)

    def close(self) -> None:
        """Stop what still runs and free everything; streams of this engine must not be read any more."""
        engine, self._engine = self._engine, ffi.NULL
        if engine != ffi.NULL:
            lib.qt_engine_free(engine)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
