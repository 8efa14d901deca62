# SPDX-License-Identifier: Apache-2.0
"""Tests of the lead's record of a driver: its clock, and its loss by end, silence or invalid messages."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import QuerytapeError
from querytape.replay.drivers import member as members
from querytape.replay.drivers.channel import Channel, ChannelClosed
from querytape.replay.drivers.member import TRIPS, Member

pytestmark = pytest.mark.slow

AHEAD = 10**15


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for the time often, and allow a long silence on a busy machine."""
    monkeypatch.setattr(members, "BEAT_S", 0.05)
    monkeypatch.setattr(members, "SILENT_S", 30)


def joined(tmp_path: Path) -> tuple[Member, Channel]:
    """Return the lead's record of a driver, and the driver's end of the connection."""
    ours, theirs = socket.socketpair()
    member = Member(3, ["03.tape"], tmp_path, threading.Condition())
    member.connect(Channel(ours))
    return member, Channel(theirs)


def answer(channel: Channel, silent: threading.Event) -> threading.Thread:
    """Answer clock requests with the time of a clock that is ahead, until `silent` is set."""

    def run() -> None:
        try:
            while (message := channel.receive(20)) is not None:
                if message.kind == "clock" and not silent.is_set():
                    channel.send("clock", sent=message.values["sent"], there=time.monotonic_ns() + AHEAD)
        except ChannelClosed:
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def wait_for_loss(member: Member) -> str:
    with member.news:
        assert member.news.wait_for(lambda: member.lost is not None, 20)
    assert member.lost is not None
    return member.lost


def test_driver_that_joins_after_its_dismissal_is_disconnected(tmp_path: Path) -> None:
    """Otherwise the driver would wait for a lead process that has already failed."""
    ours, theirs = socket.socketpair()
    member = Member(3, ["03.tape"], tmp_path, threading.Condition())
    member.dismiss(0, merged=False)
    member.connect(Channel(ours))
    with pytest.raises(ChannelClosed):
        Channel(theirs).receive(20)


def test_silent_driver_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the silence, the measured offset is within its bound. The connection of the silent driver stays open."""
    monkeypatch.setattr(members, "SILENT_S", 3)
    member, there = joined(tmp_path)
    silent = threading.Event()
    answer(there, silent)
    offset = member.measure()
    assert abs(offset.offset_ns - AHEAD) <= offset.bound_ns
    assert TRIPS == 64
    time.sleep(0.3)
    said = member.as_json()
    assert said["number"] == 3
    assert abs(said["end_offset_ns"] - AHEAD) <= said["end_bound_ns"]
    assert not member.over
    silent.set()
    assert wait_for_loss(member) == "the driver sent nothing for 3 s"
    assert member.died_ns is None  # the driver may still be running
    with pytest.raises(QuerytapeError, match=r"driver 3 \(unknown host\) does not answer: the driver sent nothing"):
        member.measure()


def test_messages_of_a_driver_are_kept(tmp_path: Path) -> None:
    """The messages keep their order. A connection that closes after its driver has ended is not a loss."""
    member, there = joined(tmp_path)
    there.send("hello", host="h", cores=2)
    there.send("span", first=1, last=2)
    there.send("planned", planned=5, events=7)
    there.send("tick", done=1)
    there.send("tick", done=2)
    there.send("ready")
    there.send("going")
    there.send("late", text="too late")
    there.send("ended", info={"partial": "why"})
    with member.news:
        assert member.news.wait_for(lambda: member.over, 20)
    there.close()
    time.sleep(0.2)
    assert member.lost is None
    assert (member.span, member.ready, member.going, member.late) == ((1, 2), True, True, "too late")
    assert [tick["done"] for tick in member.ticks] == [1, 2]
    assert member.name == "driver 3 (h)"
    said = member.as_json()
    assert (said["host"], said["tapes"], said["planned"], said["events"], said["partial"]) == (
        "h",
        ["03.tape"],
        5,
        7,
        "why",
    )


@pytest.mark.parametrize(
    ("kind", "values"),
    [("span", {"first": "x", "last": 1}), ("file", {"name": "../x", "at": 0, "size": 1}), ("clock", {})],
)
def test_driver_that_sends_an_invalid_message_is_lost(kind: str, values: dict[str, Any], tmp_path: Path) -> None:
    member, there = joined(tmp_path)
    there.send(kind, **values)
    assert "the driver sent an invalid message" in wait_for_loss(member)


def test_end_of_a_local_driver_process_counts_as_a_loss(tmp_path: Path) -> None:
    """The lead records the time at which a local driver died and the signal that ended it."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], pass_fds=[theirs.fileno()])
    theirs.close()
    member = Member(1, ["01.tape"], tmp_path, threading.Condition())
    member.connect(Channel(ours), process)
    before = time.monotonic_ns()
    process.kill()
    assert wait_for_loss(member) == "the driver's process ended (signal 9)"
    assert member.died_ns is not None
    assert before < member.died_ns < time.monotonic_ns()
    member.dismiss(1, merged=False)
    assert member.name == "driver 1"


def test_local_process_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed driver cannot send anything more."""
    monkeypatch.setattr(members, "SILENT_LOCAL_S", 0.6)
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], pass_fds=[theirs.fileno()])
    theirs.close()
    member = Member(1, ["01.tape"], tmp_path, threading.Condition())
    member.connect(Channel(ours), process)
    assert wait_for_loss(member) == "the driver sent nothing for 0.6 s; the driver's process was killed"
    assert process.poll() == -9
    assert member.died_ns is not None
