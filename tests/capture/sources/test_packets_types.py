# SPDX-License-Identifier: Apache-2.0
"""Types of parameters that a connection sent before the capture: those of others with the same text, or none."""

import struct
from pathlib import Path

import pytest

from ...helpers.dialogue import CLIENT, MYSQL_CAPS, SERVER, Dialogue, lenenc, ok, packet, write_pcap
from ...helpers.reading import events
from .test_packets_protocol import prepare_ok


def prepared(text: bytes, caps: int = MYSQL_CAPS) -> Dialogue:
    """Return a connection with a statement of two parameters that has been prepared, its id 1."""
    dialogue = Dialogue(client_port=40000 + len(text)).logged_in(caps)
    return dialogue.say(CLIENT, packet(0, b"\x16" + text)).say(SERVER, prepare_ok(1, 0, 2))


def executed(dialogue: Dialogue, types: bytes, nulls: int, values: bytes) -> Dialogue:
    """Add an execution, without types where there are none."""
    body = struct.pack("<IBI", 1, 0, 1) + bytes([nulls, bool(types)]) + types + values
    return dialogue.say(CLIENT, packet(0, b"\x17" + body)).say(SERVER, ok(1))


@pytest.mark.parametrize("case", ["same text", "another text", "do not fit", "in doubt", "all null"])
def test_types_that_were_sent_before(tmp_path: Path, case: str) -> None:
    """They are those that another connection sent with the same text, where the values fit and nobody sent others."""
    ints, mixed = b"\3\0\3\0", b"\3\0\xfd\0"
    text = b"SELECT ?, ?"
    first = executed(prepared(text), mixed, 0, struct.pack("<i", 1) + lenenc(b"one"))
    second = executed(prepared(text + b" "), ints, 0, struct.pack("<ii", 1, 2))
    if case == "in doubt":
        second = executed(prepared(text), ints, 0, struct.pack("<ii", 1, 2))
        second.client_port = 50000
    late = prepared(b"SELECT ?,?" if case in ("another text", "all null") else text)
    late.client_port = 51000
    value = struct.pack("<i", 7) + lenenc(b"seven")
    if case == "all null":
        executed(late, b"", 3, b"")
    else:
        executed(late, b"", 0, value[:-1] if case == "do not fit" else value)
    executed(late, mixed, 0, value)  # its own types are taken again whatever came before
    executed(late, b"", 2, struct.pack("<i", 8))
    path = write_pcap(tmp_path / "a.pcap", [first.close(), second.close(), late.close()])
    found, problems, description = events(path)
    params = [e["params"] for e in found if e["command"] == "execute" and e["session"] == 3]
    head = struct.pack("<I", 1)
    expected = {
        "same text": b"E\2\0" + head + b"\0\1" + mixed + value,
        "all null": b"E\2\0" + head + b"\3\1\6\0\6\0",
    }
    assert params[0][:1] == (b"E" if case in expected else b"R")
    assert params[0] == expected.get(case, params[0])
    assert params[1:] == [
        b"E\2\0" + head + b"\0\1" + mixed + value,
        b"E\2\0" + head + b"\2\1" + mixed + struct.pack("<i", 8),
    ]
    assert description["types_of_others"] == (case in expected)
    assert problems == ([] if case in expected else ["params_not_understood"])
