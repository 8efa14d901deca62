# SPDX-License-Identifier: Apache-2.0
"""Executions of prepared statements: their format without a login, types from earlier executions, and damaged packets."""

import random
import struct
from pathlib import Path

import pytest
from querytape.native.bindings.parsers import open_packets

from tests.capture.sources.test_packets_protocol import prepare_ok
from tests.helpers.command_line import run_here
from tests.helpers.dialogue import CLIENT, MYSQL_CAPS, SERVER, Dialogue, lenenc, ok, packet, write_pcap
from tests.helpers.reading import events, read_all

TEXT = b"\xfd\0"


def body(values: list[bytes | None], types: bool, counted: bool) -> bytes:
    """Return the body of an EXECUTE with text values. If `counted`, it has a parameter count and names, as clients with
    query attributes send them.
    """
    count = len(values)
    nulls = sum(1 << n for n, value in enumerate(values) if value is None).to_bytes((count + 7) // 8, "little")
    out = struct.pack("<IBI", 1, 8 if counted else 0, 1) + (bytes([count]) if counted else b"") + nulls + bytes([types])
    if types:
        out += (TEXT + (b"\0" if counted else b"")) * count
    return out + b"".join(lenenc(value) for value in values if value is not None)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_execution_format_is_found_without_a_login(seed: int, counted: bool, tmp_path: Path) -> None:
    """An execution has one of two packet formats. Some value bytes are valid in both formats. Other values are random."""
    chance = random.Random(seed)
    executions: list[list[bytes | None]] = [[b"a", b"b"], [b"\1a\0", None], [b"\2ab\1c", None], [b"", b"\0\0"]]
    for _ in range(40):
        executions.append(
            [chance.choice([None, bytes(chance.choices(range(5), k=chance.randrange(6)))]) for _ in range(2)]
        )
    dialogue = Dialogue().logged_in()
    before = len(dialogue.segments)
    dialogue.say(CLIENT, packet(0, b"\x16SELECT ?, ?")).say(SERVER, prepare_ok(1, 0, 2))
    for number, values in enumerate(executions):
        sent = packet(0, b"\x17" + body(values, number == 0, counted))
        dialogue.say(CLIENT, sent).say(SERVER, ok(1))
    dialogue.close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [(dialogue, s) for s in dialogue.segments[before:]]))
    assert problems == ["joined_midway"]
    assert [event["params"] for event in found if event["command"] == "execute"] == [
        b"E\2\0" + struct.pack("<I", 1)
        + bytes([sum(1 << n for n, value in enumerate(values) if value is None), 1]) + TEXT * 2
        + b"".join(lenenc(value) for value in values if value is not None)
        for values in executions
    ]  # fmt: skip


def test_cut_bulk_execution_keeps_its_bytes(tmp_path: Path) -> None:
    """MariaDB sends many executions in one bulk command. A complete bulk command is decoded. If a bulk command is cut
    inside a value, its bytes are kept unchanged.
    """
    rows = [(b"\0" + struct.pack("<i", 7), b"\0" + lenenc(b"text")), (b"\1", b"\0" + lenenc(b"more")), (b"\1", b"\1")]
    types = b"\3\0\xfd\0"
    head, values = struct.pack("<IH", 1, 128), b"".join(a + b for a, b in rows)
    edges = {0, *(sum(len(a) + len(b) for a, b in rows[:n]) for n in range(1, len(rows) + 1))}
    dialogue = Dialogue().logged_in()
    dialogue.say(CLIENT, packet(0, b"\x16SELECT ?, ?")).say(SERVER, prepare_ok(1, 0, 2))
    for cut in range(len(values) + 1):
        dialogue.say(CLIENT, packet(0, b"\xfa" + head + types + values[:cut])).say(SERVER, ok(1))
    dialogue.close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [event["params"] for event in found if event["command"] == "bulk_execute"] == [
        b"B\2" + struct.pack("<H", 128) + types + values[:cut] if cut in edges else b"R" + head + types + values[:cut]
        for cut in range(len(values) + 1)
    ]
    assert set(problems) == {"execution_does_not_fit"}


def test_execute_minus_one_uses_the_last_prepared_statement(tmp_path: Path) -> None:
    """MariaDB clients send EXECUTE with the id -1 before they know the statement id. Id -1 means the statement that was
    prepared last.
    """
    dialogue = Dialogue().logged_in()
    for number, text in enumerate((b"SELECT ?, 1", b"SELECT ?, 2"), 1):
        sent = packet(0, b"\x16" + text) + packet(0, b"\x17\xff\xff\xff\xff" + body([b"v"], True, False)[4:])
        dialogue.say(CLIENT, sent).say(SERVER, prepare_ok(number, 0, 1) + ok(1))
    for id_, types in ((1, False), (0xFFFFFFFF, False), (2, False), (0xFFFFFFFE, True)):
        sent = packet(0, b"\x17" + struct.pack("<I", id_) + body([b"w"], types, False)[4:])
        dialogue.say(CLIENT, sent).say(SERVER, ok(1))
    dialogue.close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    executed = [(event["statement"], event["params"]) for event in found if event["command"] == "execute"]
    assert [text for text, _ in executed] == [
        b"SELECT ?, 1",
        b"SELECT ?, 2",
        b"SELECT ?, 1",
        b"SELECT ?, 2",
        b"SELECT ?, 2",
        None,
    ]
    assert all(params.startswith(b"E") for _, params in executed[:5])
    assert problems == ["params_not_understood"]


def execution(values: bytes) -> Dialogue:
    """Return a connection that executes a statement with two parameters twice. `value` holds the value bytes of the
    second execution.
    """
    dialogue = Dialogue().logged_in()
    dialogue.say(CLIENT, packet(0, b"\x16SELECT ?, ?")).say(SERVER, prepare_ok(1, 0, 2))
    dialogue.say(CLIENT, packet(0, b"\x17" + body([b"a", b"b"], True, False))).say(SERVER, ok(1))
    head = b"\x17" + struct.pack("<IBI", 1, 0, 1) + b"\0\0"
    return dialogue.say(CLIENT, packet(0, head + values)).say(SERVER, ok(1)).close()


@pytest.mark.parametrize("cut", range(14))
def test_offset_of_the_first_incomplete_value_is_reported(cut: int, tmp_path: Path) -> None:
    """The first incomplete value begins at byte 13 or 18. Extra bytes after the last value are skipped."""
    values = (lenenc(b"text") + lenenc(b"more") + b"\0\0\0")[:cut]
    path = write_pcap(tmp_path / "a.pcap", [execution(values)])
    read = read_all(open_packets([path], (3306,)))
    params = [event["params"] for event in read.events if event["command"] == "execute"][1]
    if cut >= 10:
        assert params == b"E\2\0" + struct.pack("<I", 1) + b"\0\1" + TEXT * 2 + values[:10]
        assert (read.kinds, read.description["executions_that_do_not_fit"]) == ([], 0)
        return
    where = f"prepared statement (parameters: 2). The mismatch begins at byte {13 if cut < 5 else 18} of {12 + cut}: "
    assert params[:1] == b"R"
    assert where in read.problems[0]["detail"]
    assert (read.kinds, read.description["executions_that_do_not_fit"]) == (["execution_does_not_fit"], 1)


def test_execution_that_does_not_fit_its_statement_is_a_loss(tmp_path: Path) -> None:
    """The summary has a separate reason for such executions. The exit code is 4."""
    path = write_pcap(tmp_path / "a.pcap", [execution(b"\7short")])
    done = run_here("capture", "packets", str(path), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    assert "NOT ALL OF THE INPUT IS ON THE TAPE: 1 execution does not match its prepared statement" in done.out
    assert "1 execution of prepared statements with unknown values. The packets do not match" in done.out
    assert "before the capture" not in done.out


def prepared(text: bytes, caps: int = MYSQL_CAPS) -> Dialogue:
    """Return a connection that prepared a statement with two parameters. The statement id is 1."""
    dialogue = Dialogue(client_port=40000 + len(text)).logged_in(caps)
    return dialogue.say(CLIENT, packet(0, b"\x16" + text)).say(SERVER, prepare_ok(1, 0, 2))


def executed(dialogue: Dialogue, types: bytes, nulls: int, values: bytes) -> Dialogue:
    """Add an execution. If `types` is empty, the packet has no parameter types."""
    body = struct.pack("<IBI", 1, 0, 1) + bytes([nulls, bool(types)]) + types + values
    return dialogue.say(CLIENT, packet(0, b"\x17" + body)).say(SERVER, ok(1))


@pytest.mark.parametrize("case", ["same text", "another text", "do not fit", "in doubt", "all null"])
def test_types_are_taken_from_another_connection(tmp_path: Path, case: str) -> None:
    """Another connection sent parameter types for the same statement text. These types are used only if the values fit
    and no connection sent different types.
    """
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
    executed(late, mixed, 0, value)  # types of the connection itself have priority
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
