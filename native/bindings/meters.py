# SPDX-License-Identifier: Apache-2.0
"""Read the metrics of a running replay.

The metrics are histograms by statement kind and by lateness cause, and counts of errors by number. They also include
the service time by digest and the activity of each session.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...schemas.names import LATENESS
from .._querytape import ffi, lib

# Upper bounds of the histogram buckets in nanoseconds.
BOUNDS_NS = tuple(1 << (lib.QT_METER_FIRST + place) for place in range(lib.QT_METER_BOUNDS))
# Names of enum qt_kind and enum qt_lateness, in the order of their values.
KINDS = ("read", "write", "other")
CAUSES = tuple(LATENESS)


@dataclass(frozen=True)
class Meter:
    """A histogram of durations.

    `below`: cumulative counts for each bound in BOUNDS_NS. `count`: number of durations. `sum_ns`: sum of the
    durations.
    """

    below: tuple[int, ...]
    count: int
    sum_ns: int


@dataclass(frozen=True)
class Meters:
    """The metrics of `struct qt_engine_meters`.

    `service`: service time by statement kind. `late`: lateness (send time minus due time). `delay`: parts of the
    lateness by cause. `errors`: counts by error number. `errors_elsewhere`: count of errors with all other numbers.
    `last_due_ns`: due time of the last event that was fed.
    """

    service: Mapping[str, Meter]
    late: Meter
    delay: Mapping[str, Meter]
    errors: Mapping[int, int]
    errors_elsewhere: int
    last_due_ns: int


@dataclass(frozen=True)
class DigestTime:
    """The service time of one digest so far, see `struct qt_digest_time`.

    `unsure_ns`: time that may be missing from `sum_ns`. It is greater than 0 only on tapes with thousands of digests,
    because not all of these digests fit into memory.
    """

    digest: str
    count: int
    sum_ns: int
    max_ns: int
    unsure_ns: int


@dataclass(frozen=True)
class Doing:
    """The activity of an open session, see `struct qt_doing`. None means that a value does not apply.

    `seq`: number of the last event that the session started. `connection`: connection id of the session on the target.
    `table`: the event waits for commits on this table. `commit`: number of the first unfinished commit of the table, or
    0 without a table. `asleep`: whether the session is not waiting for an answer.
    """

    session: int
    seq: int | None
    connection: int | None
    table: int | None
    commit: int
    asleep: bool


def read_doing(engine: Any) -> list[Doing]:
    """Return the activity of each open session. `engine`: the C engine."""
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
    """Return up to `most` digests with the longest total service time, longest first. `engine`: the C engine."""
    found = ffi.new("struct qt_digest_time[]", max(most, 1))
    n = lib.qt_engine_slowest(engine, found, most)
    return [DigestTime(f"{one.digest:016x}", one.count, one.sum_ns, one.max_ns, one.unsure_ns) for one in found[0:n]]


def read_meters(engine: Any) -> Meters:
    """Return the metrics of an engine. `engine`: the C engine."""
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
