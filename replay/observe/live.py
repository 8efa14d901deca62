# SPDX-License-Identifier: Apache-2.0
"""Shows a run to others while it goes on: counters and histograms, read when somebody asks.

The engine is freed at the run's end; what was read last stays.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ...native.bindings.engine import Engine, EngineStats
from ...native.bindings.meters import DigestTime, Meters
from ..plan.rules import Plan

Samples = Mapping[tuple[str, str], float]
KEPT_SLOWEST = 20  # after the end


@dataclass(frozen=True)
class Moment:
    """A run at one moment. `samples`: newest values of the target's counters, by source and name.

    `planned`: events to be sent. `paced`: whether events are due at all.
    """

    stats: EngineStats
    meters: Meters
    samples: Samples
    planned: int
    paced: bool


class LiveRun:
    """A run that can be looked at from any thread, inside its block and after it.

    `name`: of its folder. `target`: name of the server. `stop_after_ns`: after this it sends nothing more. `counters`:
    the engine's of the last tick, None before the first.
    """

    def __init__(
        self,
        name: str,
        engine: Engine,
        plan: Plan,
        samples: Callable[[], Samples],
        target: str = "",
        stop_after_ns: int | None = None,
    ) -> None:
        self.name = name
        self.target = target
        self.stop_after_ns = stop_after_ns
        self.counters: EngineStats | None = None
        self._slowest: list[DigestTime] = []
        self._plan = plan
        self._samples = samples
        self._engine: Engine | None = engine
        self._lock = threading.Lock()
        self._last: Moment | None = None

    def read(self) -> Moment:
        """Return the run as it is now, or as it was when its block ended."""
        with self._lock:
            if self._engine is None:
                assert self._last is not None
                return self._last
            return self._look(self._engine)

    def slowest(self, most: int) -> list[DigestTime]:
        """Return up to `most` digests with the most service time so far, most first; after the end, KEPT_SLOWEST."""
        with self._lock:
            return self._slowest[:most] if self._engine is None else self._engine.slowest(most)

    def due(self) -> int | None:
        """Return how many events are due by now, of those fed, to within a 2048th of the run; None where none is due.

        After the end it is None as well.
        """
        with self._lock:
            return None if self._engine is None else self._engine.due()

    def _look(self, engine: Engine) -> Moment:
        plan = self._plan
        return Moment(engine.peek(), engine.meters(), self._samples(), plan.planned, plan.rules.pace.paced)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._engine is not None:
                self._slowest = self._engine.slowest(KEPT_SLOWEST)
                self._last, self._engine = self._look(self._engine), None
