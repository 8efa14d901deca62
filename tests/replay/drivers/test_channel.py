# SPDX-License-Identifier: Apache-2.0
"""Tests of the channel between lead and driver: whole messages, their order, and damaged or closed connections."""

import socket
import struct
import threading

import pytest
from querytape.replay.drivers.channel import MAX_JSON, Channel, ChannelClosed


def pair() -> tuple[Channel, Channel]:
    one, other = socket.socketpair()
    return Channel(one), Channel(other)


def test_messages_arrive_as_they_were_sent() -> None:
    """The messages contain values, bytes, or nothing."""
    one, other = pair()
    one.send("a", b"\0\xff" * 70_000, n=1, text="\u00fc", none=None)
    one.send("b")
    first, second = other.receive(5), other.receive(5)
    assert first is not None
    assert second is not None
    assert (first.kind, first.values, first.body) == ("a", {"n": 1, "text": "\u00fc", "none": None}, b"\0\xff" * 70_000)
    assert (second.kind, second.values, second.body) == ("b", {}, b"")
    assert first.at_ns <= second.at_ns
    assert other.receive(0) is None


def test_messages_of_several_threads_stay_whole() -> None:
    """Each message has 100,000 bytes."""
    one, other = pair()

    def send(n: int) -> None:
        for _ in range(10):
            one.send("x", bytes([n]) * 100_000, n=n)

    senders = [threading.Thread(target=send, args=(n,)) for n in range(4)]
    for sender in senders:
        sender.start()
    for _ in range(40):
        message = other.receive(30)
        assert message is not None
        assert message.body == bytes([message.values["n"]]) * 100_000
    for sender in senders:
        sender.join()


def test_closed_connection_ends_receive_and_send() -> None:
    """The connection closes in the middle of a message."""
    raw, other_socket = socket.socketpair()
    other = Channel(other_socket)
    raw.sendall(struct.pack(">II", 20, 0) + b'{"kind"')
    raw.close()
    with pytest.raises(ChannelClosed, match=r"was (closed|lost)"):
        other.receive(5)
    with pytest.raises(ChannelClosed, match=r"was (closed|lost)"):
        other.send("a")
    assert other.closed


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">II", MAX_JSON + 1, 0),
        struct.pack(">II", 2, 1 << 30),
        struct.pack(">II", 2, 0) + b"[]",
        struct.pack(">II", 2, 0) + b"{}",
        struct.pack(">II", 3, 0) + b"\xff\xff\xff",
        struct.pack(">II", 200_000, 0) + b"[" * 200_000,
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_invalid_message_closes_the_channel(data: bytes) -> None:
    """Invalid messages have an impossible length, invalid JSON or no kind."""
    raw, other_socket = socket.socketpair()
    other = Channel(other_socket)
    raw.sendall(data)
    with pytest.raises(ChannelClosed, match="is not a message"):
        other.receive(5)
    assert other.closed


def test_message_that_is_too_large_is_not_sent() -> None:
    one, other = pair()
    with pytest.raises(ChannelClosed, match="too large"):
        one.send("a", text="x" * MAX_JSON)
    one.send("b")
    message = other.receive(5)
    assert message is not None
    assert message.kind == "b"


def test_peer_that_stops_reading_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that stops reading blocks the sender only for a short time."""
    monkeypatch.setattr("querytape.replay.drivers.channel.SEND_S", 0.2)
    one, _other = pair()
    with pytest.raises(ChannelClosed, match="accepted no data"):
        one.send("a", b"x" * 10_000_000)


def test_close_wakes_a_waiting_receiver() -> None:
    """The waiting thread belongs to the side that closes the channel."""
    one, _other = pair()
    told: list[str] = []

    def receive() -> None:
        with pytest.raises(ChannelClosed):
            one.receive()
        told.append("told")

    thread = threading.Thread(target=receive)
    thread.start()
    one.close()
    thread.join(10)
    assert told == ["told"]
