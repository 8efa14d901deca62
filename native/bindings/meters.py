# SPDX-License-Identifier: Apache-2.0
"""Read what a run does while it goes on.

Histograms by class and cause, errors by number, time by digest, and what each session is doing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...schemas.names import LATENESS
from .._querytape import ffi, lib

# Bounds of the histograms.
BOUNDS_NS = tuple(1 << (lib.QT_METER_FIRST + place) for place in range(lib.QT_METER_BOUNDS))
# Names of enum qt_kind and enum qt_lateness, in their order.
KINDS = ("read", "write", "other")
CAUSES = tuple(LATENESS)


@dataclass(frozen=True)
class Meter:
    """Counts of durations: `below` each of BOUNDS_NS, `count` in all, `sum_ns` of all together."""

    below: tuple[int, ...]
    count: int
    sum_ns: int


@dataclass(frozen=True)
class Meters:
    """What `struct qt_engine_meters` holds. `service`: by kind; `late`: sent less due; `delay`: its parts by cause.

    `errors`: how many by number; `errors_elsewhere`: of further numbers. `last_due_ns`: of what was fed.
    """

    service: Mapping[str, Meter]
    late: Meter
    delay: Mapping[str, Meter]
    errors: Mapping[int, int]
    errors_elsewhere: int
    last_due_ns: int


@dataclass(frozen=True)
class DigestTime:
    """What one digest has cost so far; `struct qt_digest_time`.

    `unsure_ns`: how much more `sum_ns` may be; only on tapes of thousands of digests, which are not all kept in memory.
    """

    digest: str
    count: int
    sum_ns: int
    max_ns: int
    unsure_ns: int


@dataclass(frozen=True)
class Doing:
    """What an open session is doing; `struct qt_doing`.

    `seq`: of its last event that was begun; `connection`: its id on the target; `table`: whose commits the event waits
    for, and `commit`: which is not done; None = there is none. `asleep`: it does not wait for the target's answer.
    """

    session: int
    seq: int | None
    connection: int | None
    table: int | None
    commit: int
    asleep: bool


def read_doing(engine: Any) -> list[Doing]:
    """Return what each open session is doing; `engine` is C's."""
    most = lib.qt_engine_doing(engine, ffi.NULL, 0)
    found = ffi.new("struct qt_doing[]", max(most, 1))
    n = min(lib.qt_engine_doing(engine, found, most), most)

    def there(number: int) -> int | None:
        return None if number < 0 else number

    return [
        Doing(one.session, there(one.seq), there(one.connection), there(one.table), one.commit, bool(one.asleep))
        for one in found[0:n]
    ]


def read_slowest(engine: Any, most: int) -> list[DigestTime]:
    """Return up to `most` digests with the most service time, the most first; `engine` is C's."""
    found = ffi.new("struct qt_digest_time[]", max(most, 1))
    n = lib.qt_engine_slowest(engine, found, most)
    return [DigestTime(f"{one.digest:016x}", one.count, one.sum_ns, one.max_ns, one.unsure_ns) for one in found[0:n]]


def read_meters(engine: Any) -> Meters:
    """Return an engine's meters; `engine` is C's."""
    found = ffi.new("struct qt_engine_meters *")
    lib.qt_engine_meters(engine, found)

    def meter(one: Any) -> Meter:
        return Meter(tuple(one.below), one.all, one.sum_ns)

    return Meters(
        service={name: meter(found.service[place]) for place, name in enumerate(KINDS)},
        late=meter(found.late),
        delay={name: meter(found.delay[place]) for place, name in enumerate(CAUSES)},
        errors={found.error_number[place]: found.error_count[place] for place in range(found.n_errors)},
        errors_elsewhere=found.errors_elsewhere,
        last_due_ns=found.last_due_ns,
    )
