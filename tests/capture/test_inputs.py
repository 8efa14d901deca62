# SPDX-License-Identifier: Apache-2.0
"""Files before they are parsed: what they are packed in, what they are, what is wrong with them."""

import gzip
import lzma
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture, guess
from querytape.errors import InputError
from querytape.native.inputs import head

LOG = Path(__file__).parent / "logs" / "mysql80_extra_admin_commands.log"


def test_a_file_is_known_by_what_it_holds_not_by_its_name(tmp_path: Path) -> None:
    """Packed or not, a slow log is one; a text that is nothing we know is refused with its first bytes."""
    text = LOG.read_bytes()
    for name, packed in (("a", text), ("b.txt", gzip.compress(text)), ("c", lzma.compress(text))):
        (tmp_path / name).write_bytes(packed)
        assert guess(str(tmp_path / name), SOURCES.values()).name == "slowlog"
    (tmp_path / "d").write_bytes(b"\x7fELF and so on")
    with pytest.raises(InputError, match="ELF"):
        guess(str(tmp_path / "d"), SOURCES.values())
    (tmp_path / "e").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        guess(str(tmp_path / "e"), SOURCES.values())


def test_xz_streams_one_after_another_and_cut_ones(tmp_path: Path) -> None:
    """`cat a.xz b.xz` is one log; a cut one gives what it has and says where it ends."""
    text = LOG.read_bytes()
    (tmp_path / "two.xz").write_bytes(lzma.compress(text) + lzma.compress(text))
    info = capture(SOURCES["slowlog"], [str(tmp_path / "two.xz")], tmp_path / "two.tape", Settings())
    assert info["counts"]["events"] == 8
    assert head(tmp_path / "two.xz") == text * 2
    noise = bytes(range(256)) * 400
    (tmp_path / "cut.xz").write_bytes(lzma.compress(text + b"#" + noise)[:-200])
    info = capture(SOURCES["slowlog"], [str(tmp_path / "cut.xz")], tmp_path / "cut.tape", Settings())
    assert info["problems"]["damaged_archive"] == 1
    assert info["counts"]["events"] >= 3
