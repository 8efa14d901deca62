# SPDX-License-Identifier: Apache-2.0
"""The kind of a file is detected from its first bytes."""

import gzip
import lzma
from pathlib import Path

import pytest
from querytape.capture import SOURCES, detect_source
from querytape.common.errors import InputError

LOG = Path(__file__).parent / "sources" / "logs" / "mysql80_extra_admin_commands.log"


def test_file_kind_depends_on_content_not_on_name(tmp_path: Path) -> None:
    """A compressed slow log is detected as well. A text of unknown kind is refused, and the message shows its first
    bytes.
    """
    text = LOG.read_bytes()
    for name, packed in (("a", text), ("b.txt", gzip.compress(text)), ("c", lzma.compress(text))):
        (tmp_path / name).write_bytes(packed)
        assert detect_source(str(tmp_path / name), SOURCES.values()).name == "slowlog"
    (tmp_path / "d").write_bytes(b"\x7fELF and so on")
    with pytest.raises(InputError, match="ELF"):
        detect_source(str(tmp_path / "d"), SOURCES.values())
    (tmp_path / "e").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        detect_source(str(tmp_path / "e"), SOURCES.values())


def test_first_recognized_line_decides_the_kind(tmp_path: Path) -> None:
    """A general log may contain a slow log's header in a later statement."""
    path = tmp_path / "a.log"
    path.write_text("2026-11-20T15:21:05.000001Z\t    7 Query\tSELECT '\n# User@Host: a[a] @ b []'\n")
    assert detect_source(str(path), SOURCES.values()).name == "general"


def test_unreadable_file_gives_a_message(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none"):
        detect_source(str(tmp_path / "none"), SOURCES.values())
