# SPDX-License-Identifier: Apache-2.0
"""Show a running replay to other threads: counters and histograms that are read on demand.

The engine is freed at the end of the run. The last values stay available.
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
KEPT_SLOWEST = 20  # number of digests kept after the end of the run


@dataclass(frozen=True)
class Moment:
    """The state of a run at one moment. `samples`: newest values of the target's counters, by source and name.

    `planned`: the number of events to send. `paced`: whether events have due times.
    """

    stats: EngineStats
    meters: Meters
    samples: Samples
    planned: int
    paced: bool


class LiveRun:
    """A run that any thread can inspect, inside its `with` block and afterwards.

    - `name`: the name of the run's folder.
    - `target`: the name of the server.
    - `stop_after_ns`: the run sends no events after this time.
    - `counters`: the engine's counters at the last tick, None before the first tick.
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
        """Return the current state of the run. After the `with` block, return the last state of the run."""
        with self._lock:
            if self._engine is None:
                assert self._last is not None
                return self._last
            return self._look(self._engine)

    def slowest(self, most: int) -> list[DigestTime]:
        """Return up to `most` digests with the highest service time so far, in descending order.

        After the end of the run, KEPT_SLOWEST of these digests stay available.
        """
        with self._lock:
            return self._slowest[:most] if self._engine is None else self._engine.slowest(most)

    def due(self) -> int | None:
        """Return how many of the fed events are due by now. The resolution is 1/2048 of the run.

        Returns None if events have no due times, or after the end of the run.
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
