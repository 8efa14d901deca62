# SPDX-License-Identifier: Apache-2.0
"""Capture on a network interface without a database server. The test controls both ends of each loopback conversation.
Each capture runs in its own process, because opening an interface gives up root's privileges. A process that hangs is
killed.
"""

import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from querytape.native.bindings.parsers import open_packets

from tests.helpers.dialogue import MYSQL_CAPS, greeting, login, ok, packet, query, rows
from tests.helpers.live import may_capture
from tests.helpers.reading import arrow_rows as rows_of

pytestmark = pytest.mark.slow

PATIENCE_S = 60


@pytest.fixture(autouse=True, scope="module")
def _may_capture(request: pytest.FixtureRequest) -> None:
    """Skip the test if this user cannot capture on an interface."""
    may_capture(request)


def run_in_process(work: Callable[..., Any], *args: Any) -> Any:
    """Run a function in its own process and return its result."""
    mine, others = os.pipe()
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException), os.fdopen(others, "wb") as out:
            out.write(pickle.dumps(work(*args)))
        os._exit(0)
    os.close(others)
    ending = threading.Timer(PATIENCE_S, os.kill, (pid, signal.SIGKILL))
    ending.start()
    try:
        with os.fdopen(mine, "rb") as told:
            return pickle.loads(told.read())
    finally:
        ending.cancel()
        os.waitpid(pid, 0)


class Talk:
    """A TCP connection over the loopback interface. The test is both client and server."""

    def __init__(self, port: int, listener: socket.socket) -> None:
        self.client = socket.create_connection(("127.0.0.1", port))
        self.server, _ = listener.accept()
        self.carry(self.server, self.client, greeting(MYSQL_CAPS))
        self.carry(self.client, self.server, login(MYSQL_CAPS))
        self.carry(self.server, self.client, ok(2))

    @staticmethod
    def carry(sender: socket.socket, taker: socket.socket, data: bytes) -> None:
        """Send bytes from one end, and receive them at the other end."""
        sending = threading.Thread(target=sender.sendall, args=(data,))
        sending.start()
        left = len(data)
        while left > 0:
            left -= len(taker.recv(left))
        sending.join()

    def ask(self, text: bytes) -> None:
        """Send a query from the client, and answer it with one row."""
        self.carry(self.client, self.server, query(text))
        self.carry(self.server, self.client, rows([b"1"], MYSQL_CAPS))

    def close(self) -> None:
        """Send COM_QUIT, and close both directions of the connection."""
        self.carry(self.client, self.server, packet(0, b"\1"))
        self.client.close()
        self.server.close()


@contextmanager
def listening() -> Iterator[tuple[int, socket.socket]]:
    """Yield a loopback port and its listening socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1], listener


def texts(events: list[dict[str, Any]]) -> list[bytes]:
    """Return the queries of some events, in the order of sessions."""
    ordered = sorted(events, key=lambda event: (event["session"], event["seq"]))
    return [event["statement"] for event in ordered if event["command"] == "query"]


def rest_of(reader: Any) -> tuple[list[dict[str, Any]], list[str], dict[str, Any], int]:
    """Stop a reader. Return its remaining events, the kinds of its problems, its description and the number of lost
    packets.
    """
    reader.stop()
    events = []
    while not reader.stats().finished:
        events += rows_of(reader.part(1000, 1 << 20))
    kinds = [problem["kind"] for problem in rows_of(reader.problems())]
    found = events, kinds, reader.describe(), reader.stats().lost
    reader.close()
    return found


def two_ports() -> Any:
    """Send queries to three ports, and capture two of the ports."""
    with listening() as first, listening() as second, listening() as other:
        reader = open_packets([], (first[0], second[0]), interface="lo")
        talks = [Talk(*one) for one in (first, second, other)]
        for turn in range(5):
            for place, talk in enumerate(talks):
                talk.ask(b"SELECT %d, %d" % (place, turn))
        for talk in talks:
            talk.close()
        return *rest_of(reader), f"{first[0]} {second[0]}"


def test_only_packets_of_the_given_ports_are_captured() -> None:
    """A stopped capture keeps all packets from before the stop, and reports their number."""
    events, kinds, description, lost, ports = run_in_process(two_ports)
    assert texts(events) == [b"SELECT %d, %d" % (place, turn) for place in (0, 1) for turn in range(5)]
    assert {event["command"] for event in events} == {"connect", "query", "quit"}
    assert all(0 <= event["duration_ns"] < 60_000_000_000 for event in events if event["command"] == "query")
    assert (kinds, lost, description["ports"], description["connections"]) == ([], 0, ports, 2)
    assert description["packets_received"] >= 2 * 5 * 2
    assert [description[f"dropped_by_{who}"] for who in ("kernel", "interface", "ring")] == [0, 0, 0]


def in_parts() -> Any:
    """Read each query from the capture before the test sends the next query."""
    with listening() as (port, listener):
        reader = open_packets([], (port,), interface="lo", part_s=0.05)
        talk, found = Talk(port, listener), []
        for turn in range(4):
            talk.ask(b"SELECT %d" % turn)
            some: list[dict[str, Any]] = []
            while not any(event["statement"] == b"SELECT %d" % turn for event in some):
                some += rows_of(reader.part(1000, 1 << 20))
            found.append((texts(some), reader.stats().finished))
        talk.close()
        return found, rest_of(reader)


def test_live_events_are_returned_during_the_capture() -> None:
    found, (events, kinds, _, _) = run_in_process(in_parts)
    assert found == [([b"SELECT %d" % turn], False) for turn in range(4)]
    assert (texts(events), [event["command"] for event in events], kinds) == ([], ["quit"], [])


def large(turn: int) -> bytes:
    """Return a large statement whose text is unique."""
    return b"SELECT '%s'" % (b"%07d," % turn * (9000 + 517 * turn % 5000))


def fill_ring_repeatedly(count: int) -> Any:
    """Read each large statement from the capture before the test sends the next one."""
    with listening() as (port, listener):
        reader = open_packets([], (port,), interface="lo", ring_bytes=1, part_s=0.05)
        talk = Talk(port, listener)
        events: list[dict[str, Any]] = []
        for turn in range(count):
            talk.ask(large(turn))
            while not any(event["statement"] == large(turn) for event in events[-3:]):
                events += rows_of(reader.part(1000, 1 << 20))
        talk.close()
        more, *others = rest_of(reader)
        return texts(events + more) == [large(turn) for turn in range(count)], others


def test_ring_buffer_of_a_live_capture_is_reused() -> None:
    """Several megabytes pass through a ring buffer of one megabyte without loss."""
    whole, (kinds, description, lost) = run_in_process(fill_ring_repeatedly, 60)
    assert (whole, kinds, lost, description["dropped_by_ring"]) == (True, [], 0, 0)


def overflow_ring(looked: bool) -> Any:
    """Send more data than the ring buffer holds while nobody reads it. If `looked`, read one part before that."""
    with listening() as (port, listener):
        reader = open_packets([], (port,), interface="lo", ring_bytes=1, part_s=0.05)
        talk = Talk(port, listener)
        talk.ask(b"SELECT 'first'")
        before: list[dict[str, Any]] = []
        while looked and not texts(before):
            before += rows_of(reader.part(1000, 1 << 20))
        for turn in range(30):
            talk.ask(large(turn))
        events, *others = rest_of(reader)
        return before + events, *others


@pytest.mark.parametrize("looked", [False, True], ids=["first", "after-a-part"])
def test_full_ring_buffer_is_reported(looked: bool) -> None:
    """Packets are lost when the ring buffer is full. The summary reports their number and the missing bytes, even if
    the loss is in the last second of a capture.
    """
    events, kinds, description, lost = run_in_process(overflow_ring, looked)
    assert texts(events)[0] == b"SELECT 'first'"
    assert 2 < len(texts(events)) < 31
    assert description["dropped_by_ring"] > 0
    assert lost == sum(description[f"dropped_by_{who}"] for who in ("kernel", "interface", "ring"))
    assert "packets_dropped" in kinds
