# SPDX-License-Identifier: Apache-2.0
"""Tests of the listener. It admits each driver once. Surplus drivers and other tapes are refused with a reason."""

import socket
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from querytape.common.errors import InputError, QuerytapeError
from querytape.replay.drivers import secured
from querytape.replay.drivers.channel import Channel
from querytape.replay.drivers.listener import MAX_WAITING, Expected, Listener
from querytape.replay.drivers.member import Member
from querytape.replay.drivers.secured import client_context, join

KEY = b"0123456789abcdef0123456789abcdef"
PRINTS = {"speed": "ab", "pace": "cd"}


def members(folder: Path, count: int) -> list[Member]:
    """Return drivers that have not joined yet."""
    news = threading.Condition()
    return [Member(number, [f"{number:02d}.tape"], folder, news) for number in range(1, count + 1)]


def joining(listener: Listener, tape: str = "t", prints: object = PRINTS) -> Channel:
    """Return the connection of a driver that joins with the given tape and option fingerprints."""
    host, _, port = listener.address.rpartition(":")
    return join((host, int(port)), KEY, host="h", pid=7, cores=2, part="p.run", tape=tape, prints=prints)


def answer(channel: Channel) -> dict[str, object]:
    """Return the lead's answer to a driver."""
    message = channel.receive(20)
    assert message is not None
    return {"kind": message.kind, **message.values}


def test_drivers_are_admitted_one_after_another(tmp_path: Path) -> None:
    """Each driver gets its own number and tapes. If only two drivers are allowed, the third driver is refused."""
    wanted = members(tmp_path, 2)
    with Listener(("127.0.0.1", 0), KEY, wanted, Expected("t", PRINTS, "r")) as listener:
        there = [joining(listener) for _ in range(2)]
        welcomes = [answer(channel) for channel in there]
        assert sorted(str(welcome["names"]) for welcome in welcomes) == ["['01.tape']", "['02.tape']"]
        assert {welcome["kind"] for welcome in welcomes} == {"welcome"}
        assert {welcome["count"] for welcome in welcomes} == {2}
        assert answer(joining(listener)) == {"kind": "refused", "text": "all drivers have already joined"}
        with wanted[0].news:
            assert wanted[0].news.wait_for(lambda: bool(wanted[0].hello and wanted[1].hello), 20)
        assert wanted[1].hello == {"host": "h", "pid": 7, "cores": 2, "part": "p.run"}
    for channel in there:
        channel.close()


@pytest.mark.parametrize(
    ("tape", "prints", "why"),
    [
        ("other", PRINTS, "differs from the tape of the lead process"),
        ("t", {"speed": "xx", "pace": "cd"}, "differ from the options of the lead process: speed "),
        ("t", {"speed": "ab", "pace": "cd", "new": "x"}, "differ from the options of the lead process: new "),
        ("t", None, "differ from the options of the lead process: pace, speed "),
    ],
)
def test_refusal_of_a_driver_is_reported_on_both_sides(tape: str, prints: object, why: str, tmp_path: Path) -> None:
    """Another driver can take the place of the refused driver."""
    wanted = members(tmp_path, 1)
    with Listener(("127.0.0.1", 0), KEY, wanted, Expected("t", PRINTS, "r")) as listener:
        assert why in str(answer(joining(listener, tape, prints))["text"])
        channel = joining(listener)
        assert answer(channel)["kind"] == "welcome"
        assert why in listener.refused[0]
        channel.close()


def test_used_address_is_an_error(tmp_path: Path) -> None:
    """After the end of the listener, no driver can join."""
    with Listener(("127.0.0.1", 0), KEY, members(tmp_path, 1), Expected("t", PRINTS, "r")) as listener:
        port = int(listener.address.rpartition(":")[2])
        with pytest.raises(InputError, match=f"--listen 127.0.0.1:{port}: .*in use"):
            Listener(("127.0.0.1", port), KEY, [], Expected("t", PRINTS, "r"))
    with pytest.raises(QuerytapeError):
        joining(listener)


@pytest.mark.parametrize("says", ["nothing", "TLS"])
def test_driver_joins_in_spite_of_idle_connections(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest connections without a proof are closed when there are too many, and all of them after some time."""
    monkeypatch.setattr(secured, "HANDSHAKE_S", 2.0)
    expected = Expected("t", PRINTS, "r")
    with Listener(("127.0.0.1", 0), KEY, members(tmp_path, 1), expected) as listener, ExitStack() as open_:
        port = int(listener.address.rpartition(":")[2])
        idle = []
        for _ in range(MAX_WAITING + 6):
            sock = socket.create_connection(("127.0.0.1", port))
            idle.append(client_context().wrap_socket(sock) if says == "TLS" else sock)
            open_.callback(idle[-1].close)
        channel = joining(listener)
        assert answer(channel)["kind"] == "welcome"
        channel.close()
        for sock in idle:
            sock.settimeout(20)
            with suppress(ConnectionError):
                while sock.recv(1000):
                    pass
        assert list(listener.refused)
