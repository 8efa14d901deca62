# SPDX-License-Identifier: Apache-2.0
"""Looking at files before they are read."""

import gzip
import lzma
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.inputs import Pipe, as_input, head, heads, plain_file, unpack
from querytape.native.bindings.parsers import open_slowlog

from tests.helpers.log_writers import fifo_with, make_statements, slow_log
from tests.helpers.reading import read_all


def test_head_is_bounded(tmp_path: Path) -> None:
    """No more than the room is given, unpacked; a file that is not there is refused."""
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"0123456789" * 100))
    assert head(tmp_path / "a.gz", 16) == b"0123456789012345"
    with pytest.raises(NativeFault, match="No such file"):
        head(tmp_path / "b")


@pytest.mark.parametrize(("packer", "begins"), [(gzip.compress, 10), (lzma.compress, 12)])
def test_a_damaged_packed_file(packer: Callable[[bytes], bytes], begins: int, tmp_path: Path) -> None:
    """The head is what comes before the damage; where nothing does, the damage is told: such a file isn't empty."""
    plain, path = random.Random(1).randbytes(300_000), tmp_path / "a"
    whole = packer(plain)
    for at in (begins, begins + 1, 1000, len(whole) // 2):
        path.write_bytes(whole[:at] + b"\xff" * 40 + whole[at + 40 :])
        if at > begins + 1:
            assert head(path, 1 << 19)[:900] == plain[:900]
        else:
            with pytest.raises(NativeFault, match="damaged"):
                head(path, 1 << 19)


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_opened_once(packed: bool, tmp_path: Path) -> None:
    """What was looked at, twice and at different lengths, is read again by who goes on with it."""
    statements = make_statements([100, 70_000, 300], 1)
    data = gzip.compress(slow_log(statements)) if packed else slow_log(statements)
    with fifo_with(tmp_path / "fifo", data, 1000) as path:
        name = as_input(str(path))
        assert isinstance(name, Pipe)
        assert head(name, 20) == slow_log(statements)[:20]
        assert head(name, 5_000) == slow_log(statements)[:5_000]
        assert [event["statement"] for event in read_all(open_slowlog([name])).events] == statements


def test_later_pipes_are_left_alone(tmp_path: Path) -> None:
    """Who fills them may wait until the ones before are read."""
    (tmp_path / "a").write_bytes(b"first")
    os.mkfifo(tmp_path / "b")
    names = [as_input(str(tmp_path / name)) for name in "ab"]
    assert heads(names, 3) == [(names[0], b"fir")]


def test_plain_copies(tmp_path: Path) -> None:
    """A plain file is itself; of packed ones and pipes a copy is made."""
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "b").write_bytes(gzip.compress(b"packed"))
    folder = tmp_path / "copies"
    folder.mkdir()
    assert plain_file(str(tmp_path / "a"), folder) == str(tmp_path / "a")
    assert Path(plain_file(str(tmp_path / "b"), folder)).read_bytes() == b"packed"
    with fifo_with(tmp_path / "fifo", b"piped" * 1000, 7) as path:
        name = as_input(str(path))
        head(name, 3)
        assert Path(plain_file(name, folder)).read_bytes() == b"piped" * 1000


def test_the_longest_row(tmp_path: Path) -> None:
    """A line with its newline; with a quote a record, in which newlines between quotes end nothing."""
    (tmp_path / "a").write_bytes(b'one\n"two\nand ""three"""\nfour')
    assert unpack(tmp_path / "a") == len(b'and ""three"""\n')
    assert unpack(tmp_path / "a", quote='"') == len(b'"two\nand ""three"""\n')
