# SPDX-License-Identifier: Apache-2.0
"""Tests of the delivery of a run's part to the lead. The files arrive unchanged, and a driver cannot write any other
file.
"""

import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.replay.drivers.channel import Channel, ChannelClosed, Message
from querytape.replay.drivers.delivery import PIECE_BYTES, Receiver, Sender


def piece(name: str, at: int, size: int, body: bytes) -> Message:
    """Return a message that contains a piece of a file."""
    return Message("file", {"name": name, "at": at, "size": size}, body, 0)


def test_files_of_a_part_arrive_unchanged(tmp_path: Path) -> None:
    """Each file is sent once, including large and empty files. Foreign and incomplete files are not sent."""
    part, there = tmp_path / "part", tmp_path / "there"
    (part / "outcomes").mkdir(parents=True)
    files = {
        "outcomes/part-run-00000.parquet": b"a" * (2 * PIECE_BYTES + 5),
        "outcomes/part-run-00001.parquet": b"",
        "sessions.parquet": b"s",
        "ticks.parquet": b"t" * PIECE_BYTES,
    }
    for name, text in files.items():
        (part / name).write_bytes(text)
    (part / "outcomes" / "part-run-00002.parquet.tmp").write_bytes(b"not whole")
    (part / "run.json").write_text("{}")
    one, other = map(Channel, socket.socketpair())
    receiver = Receiver(there)
    names: list[str] = []

    def receive() -> None:
        with suppress(ChannelClosed):
            while (message := other.receive(20)) is not None:
                receiver.take(message)
                names.append(message.values["name"])

    thread = threading.Thread(target=receive)
    thread.start()
    sender = Sender(one, part)
    sender.send_new()
    sender.finish()
    one.close()
    thread.join(30)
    assert {str(path.relative_to(there)): path.read_bytes() for path in there.rglob("*") if path.is_file()} == files
    assert len(names) == 6


@pytest.mark.parametrize(
    "name", ["../a.parquet", "run.json", "/etc/x.parquet", "outcomes/../x.parquet", "outcomes/part-A.parquet", ""]
)
def test_a_driver_cannot_write_outside_its_part(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a valid file name for a run"):
        Receiver(tmp_path).take(piece(name, 0, 1, b"x"))
    assert list(tmp_path.iterdir()) == []


def test_piece_of_a_file_that_is_out_of_order_is_refused(tmp_path: Path) -> None:
    """If a file is sent again from its beginning, it replaces its first version."""
    receiver = Receiver(tmp_path)
    receiver.take(piece("ticks.parquet", 0, 4, b"ab"))
    assert not (tmp_path / "ticks.parquet").exists()
    with pytest.raises(InputError, match="expected data from byte 2, received data from byte 3"):
        receiver.take(piece("ticks.parquet", 3, 4, b"d"))
    receiver.take(piece("ticks.parquet", 0, 2, b"xy"))
    assert (tmp_path / "ticks.parquet").read_bytes() == b"xy"
