# SPDX-License-Identifier: Apache-2.0
"""The native parsers open files of any packing, and say which they cannot."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.common.errors import NativeFault
from querytape.native.bindings import inputs, parsers

from tests.helpers.reading import read_all

LOG = Path(__file__).parents[2] / "capture" / "sources" / "logs" / "mysql80_extra_admin_commands.log"
OPENERS = (
    parsers.open_slowlog,
    parsers.open_general,
    parsers.open_server_audit,
    parsers.open_binlog,
    parsers.open_proxysql,
    parsers.open_packets,
)


@pytest.mark.parametrize("opener", OPENERS)
def test_a_missing_file_is_named(opener: Callable[..., object], tmp_path: Path) -> None:
    """Every parser raises the native part's error with the file's name."""
    with pytest.raises(NativeFault, match="none"):
        opener([tmp_path / "none"])


def test_names_of_any_bytes(tmp_path: Path) -> None:
    """A file name need not be text."""
    path = tmp_path / "caf\udce9.log"
    path.write_bytes(LOG.read_bytes())
    assert len(read_all(parsers.open_slowlog([path])).events) == 4


def test_first_time() -> None:
    """The time of a slow log's first event; a file without one has none."""
    assert parsers.slowlog_first_time(LOG) // 1_000_000_000 == 1718000000
    with pytest.raises(NativeFault):
        parsers.slowlog_first_time(Path(__file__))


def test_xz_streams_one_after_another_and_cut_ones(tmp_path: Path) -> None:
    """`cat a.xz b.xz` is one log; a cut one gives what it has and says where it ends."""
    text = LOG.read_bytes()
    (tmp_path / "two.xz").write_bytes(lzma.compress(text) + lzma.compress(text))
    info = capture_source(SOURCES["slowlog"], [str(tmp_path / "two.xz")], tmp_path / "two.tape", Settings())
    assert info["counts"]["events"] == 8
    assert inputs.head(tmp_path / "two.xz") == text * 2
    noise = bytes(range(256)) * 400
    (tmp_path / "cut.xz").write_bytes(lzma.compress(text + b"#" + noise)[:-200])
    info = capture_source(SOURCES["slowlog"], [str(tmp_path / "cut.xz")], tmp_path / "cut.tape", Settings())
    assert info["problems"]["damaged_archive"] == 1
    assert info["counts"]["events"] >= 3
