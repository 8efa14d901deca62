# SPDX-License-Identifier: Apache-2.0
"""Says what a capture has come to: the reader's counters, and what a live capture lost."""

from collections.abc import Iterator

from ..capture.live import LiveCapture
from .collector import Value

DROPPED_BY = ("kernel", "interface", "ring")


def capture_values(live: LiveCapture) -> Iterator[Value]:
    """Yield what a capture says of itself now."""
    moment = live.read()
    stats = moment.stats
    yield _of("running", float(not stats.finished))
    yield _of("events", stats.events)
    yield _of("sessions", stats.sessions)
    yield _of("problems", stats.problems)
    yield _of("not_understood_bytes", stats.not_understood)
    yield _of("read_bytes", stats.bytes_read)
    if moment.total is not None:
        yield _of("input_bytes", moment.total)
    if stats.last_ns is not None:
        yield _of("last_event_timestamp_seconds", stats.last_ns / 1e9)
    if "packets_received" in moment.described:
        yield _of("received_packets", moment.described["packets_received"])
        yield from (_of("dropped_packets", moment.described[f"dropped_by_{by}"], by) for by in DROPPED_BY)


def coverage_value(share: float) -> Value:
    """Return how much of what a server executed is in its log."""
    return _of("coverage_ratio", share)


def _of(name: str, value: float, *labels: str) -> Value:
    return Value(f"querytape_capture_{name}", value, labels)
