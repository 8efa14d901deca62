# SPDX-License-Identifier: Apache-2.0
"""Every line of sample logs is altered. The samples contain every feature of their kind of log. The reader must reach
the end of the file, and the place of each event must be inside the file. Few statements may be lost silently. An
altered line is removed, repeated, shortened by a character, or has another number, word or letter. `told` returns all
results of a read, so that two versions of querytape can be compared.
"""

import random
import re
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.native.bindings.parsers import open_proxysql

from tests.capture.sources.test_logs_golden import HERE, NAMES, OPENERS, plain
from tests.capture.sources.test_proxysql import record, values
from tests.helpers.reading import check_places, read_quickly

pytestmark = pytest.mark.slow

RECORDED = sorted((Path(__file__).parent / "logs").iterdir())
LOGS = [*(HERE / name for name in NAMES), *RECORDED]
NUMBERS = (
    b"0",
    b"1",
    b"9",
    b"00",
    b"59",
    b"60",
    b"255",
    b"4294967296",
    b"9223372036854775807",
    b"18446744073709551616",
    b"-1",
    b"",
)
LETTERS = b" \t\n\r#;:'\"`\\/*-.,@[](){}=+0x\0\xff"
IN_SILENCE = 4  # maximum of statements lost without a problem: an altered header can join two statements
BYTES = (0, 1, 2, 16, 0x7F, 0x80, 250, 251, 252, 253, 254, 255)
Lines = list[bytes]


def replace_number(chance: random.Random, line: bytes) -> bytes:
    """Return a line in which one number is replaced."""
    found = list(re.finditer(rb"\d+", line))
    if not found:
        return line + chance.choice(NUMBERS)
    one = chance.choice(found)
    near = [str(int(one[0]) + step).encode() for step in (-1, 1)]
    return line[: one.start()] + chance.choice([*NUMBERS, *near]) + line[one.end() :]


def change_word(chance: random.Random, line: bytes) -> bytes:
    """Return a line with one word removed, two words swapped, or one word in another case."""
    words = re.split(rb"(\s+|[:=,])", line)
    at, other = chance.randrange(len(words)), chance.randrange(len(words))
    way = chance.randrange(3)
    if way == 0:
        del words[at]
    elif way == 1:
        words[at], words[other] = words[other], words[at]
    else:
        words[at] = words[at].swapcase()
    return b"".join(words)


def change_letter(chance: random.Random, line: bytes) -> bytes:
    """Return a line with one character added, removed or replaced."""
    at, new = chance.randrange(len(line) + 1), bytes([chance.choice(LETTERS)])
    return chance.choice([line[:at] + new + line[at:], line[:at] + line[at + 1 :], line[:at] + new + line[at + 1 :]])


IN_A_LINE: list[Callable[[random.Random, bytes], bytes]] = [
    replace_number, replace_number, change_word, change_letter, change_letter, lambda _, line: line[1:], lambda _, line: line[:-1], lambda _, line: line + b"\r",
    lambda chance, line: line[: chance.randrange(len(line) + 1)], lambda chance, line: line[chance.randrange(len(line) + 1) :],
]  # fmt: skip
OF_LINES: list[Callable[[Lines, int], Lines]] = [
    lambda lines, at: lines[:at] + lines[at + 1 :],
    lambda lines, at: lines[: at + 1] + lines[at:],
    lambda lines, at: [*lines[:at], *lines[at + 1 : at + 2], lines[at], *lines[at + 2 :]],
    lambda lines, at: [*lines[:at], b"", *lines[at:]],
    lambda lines, at: [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]],
]


def altered(chance: random.Random, whole: bytes, at: int) -> bytes:
    """Return a log with one of its lines altered."""
    lines = whole.split(b"\n")
    if chance.random() < 0.25:
        return b"\n".join(chance.choice(OF_LINES)(lines, at))
    return b"\n".join([*lines[:at], chance.choice(IN_A_LINE)(chance, lines[at]), *lines[at + 1 :]])


def read_checked(opener: Callable[..., Any], path: Path) -> dict[str, Any]:
    """Return all results of reading a file. Check the places of all events and problems first."""
    found = plain(read_quickly(opener([path])))
    check_places(found, path)
    return found


def statements(found: dict[str, Any]) -> Counter[tuple[str, str | None]]:
    """Count each pair of command and statement among the events."""
    return Counter((event["command"], event.get("statement")) for event in found["events"])


def loss_is_reported(found: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Return whether the altered file gives more problems than the original file."""
    more = found["not_understood"] > whole["not_understood"] or len(found["problems"]) > len(whole["problems"])
    return more or found["description"] != whole["description"]


def kind_of(path: Path) -> str:
    """Return the kind of log of a file."""
    return path.name.split(".")[0].split("_")[0] if path.parent == HERE else "slow"


@pytest.mark.sampled
@pytest.mark.parametrize("path", LOGS, ids=[path.name for path in LOGS])
def test_altered_lines_lose_few_statements_silently(path: Path, tmp_path: Path) -> None:
    text, opener, file = path.read_bytes(), OPENERS[kind_of(path)], tmp_path / "log"
    whole = read_checked(opener, path)
    count = text.count(b"\n") + 1
    for turn in range(10 if count > 60 else 20 if count > 20 else 40):
        for at in range(count):
            file.write_bytes(altered(random.Random(f"{path.name} {turn} {at}"), text, at))
            found = read_checked(opener, file)
            lost = statements(whole) - statements(found)
            assert lost.total() <= IN_SILENCE or loss_is_reported(found, whole), (turn, at, lost)


@pytest.mark.long
def test_altered_proxysql_log_loses_no_event_silently(tmp_path: Path) -> None:
    """Each byte of each record is replaced, removed or repeated. Only one byte is altered at a time."""
    at = 1_718_000_000_000_000
    some = values((3, b"42"), (253, b"text"), (10, None), (12, b"0x00"))
    head = [record(0, 7, at, b"SELECT 'x'", 3), record(16, 300, at + 30, b"SELECT ?, ?, ?, ?", 3, some)]
    whole, file = b"".join([*head, record(0, 9, at + 60, b"SELECT 3", 2)]), tmp_path / "log"
    for place in range(len(whole) * 2):
        chance, here = random.Random(place), place // 2
        new = chance.choice([bytes([chance.choice(BYTES)]), b"", whole[here : here + 1] * 2, struct.pack("<H", place)])
        file.write_bytes(whole[:here] + new + whole[here + 1 :])
        try:
            found = read_checked(open_proxysql, file)
        except InputError:
            assert here < 16, place  # the altered file no longer counts as a log
            continue
        assert len(found["events"]) == 3 or found["problems"] or found["not_understood"], place
