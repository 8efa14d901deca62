# SPDX-License-Identifier: Apache-2.0
"""Inspect input files before they are read."""

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


def test_file_preview_is_limited_and_unpacked(tmp_path: Path) -> None:
    """A missing file is refused."""
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"0123456789" * 100))
    assert head(tmp_path / "a.gz", 16) == b"0123456789012345"
    with pytest.raises(NativeFault, match="No such file"):
        head(tmp_path / "b")


@pytest.mark.parametrize(("packer", "begins"), [(gzip.compress, 10), (lzma.compress, 12)])
def test_damaged_file_has_a_partial_preview(packer: Callable[[bytes], bytes], begins: int, tmp_path: Path) -> None:
    """The damage is reported if no bytes precede the damage. A damaged file must not look empty."""
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
def test_pipe_is_opened_once(packed: bool, tmp_path: Path) -> None:
    """The bytes read for a preview remain available to the reader of the pipe. Previews may be repeated with different
    lengths.
    """
    statements = make_statements([100, 70_000, 300], 1)
    data = gzip.compress(slow_log(statements)) if packed else slow_log(statements)
    with fifo_with(tmp_path / "fifo", data, 1000) as path:
        name = as_input(str(path))
        assert isinstance(name, Pipe)
        assert head(name, 20) == slow_log(statements)[:20]
        assert head(name, 5_000) == slow_log(statements)[:5_000]
        assert [event["statement"] for event in read_all(open_slowlog([name])).events] == statements


def test_later_pipes_are_not_opened_early(tmp_path: Path) -> None:
    """The writer of a later pipe may wait until the earlier inputs are read."""
    (tmp_path / "a").write_bytes(b"first")
    os.mkfifo(tmp_path / "b")
    names = [as_input(str(tmp_path / name)) for name in "ab"]
    assert heads(names, 3) == [(names[0], b"fir")]


def test_packed_files_and_pipes_are_copied_to_a_plain_file(tmp_path: Path) -> None:
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


def test_longest_row_is_measured(tmp_path: Path) -> None:
    """A row is a line with its newline. With a quote character, newlines inside quotes belong to the row."""
    (tmp_path / "a").write_bytes(b'one\n"two\nand ""three"""\nfour')
    assert unpack(tmp_path / "a") == len(b'and ""three"""\n')
    assert unpack(tmp_path / "a", quote='"') == len(b'"two\nand ""three"""\n')
