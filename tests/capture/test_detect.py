# SPDX-License-Identifier: Apache-2.0
"""Files are known by their first bytes."""

import gzip
import lzma
from pathlib import Path

import pytest
from querytape.capture import SOURCES, detect_source
from querytape.common.errors import InputError

LOG = Path(__file__).parent / "sources" / "logs" / "mysql80_extra_admin_commands.log"


def test_a_file_is_known_by_what_it_holds_not_by_its_name(tmp_path: Path) -> None:
    """Packed or not, a slow log is one; a text that is nothing we know is refused with its first bytes."""
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


def test_the_first_marks_decide(tmp_path: Path) -> None:
    """A general log that quotes a slow log's header later is a general log."""
    path = tmp_path / "a.log"
    path.write_text("2026-11-20T15:21:05.000001Z\t    7 Query\tSELECT '\n# User@Host: a[a] @ b []'\n")
    assert detect_source(str(path), SOURCES.values()).name == "general"


def test_a_missing_file(tmp_path: Path) -> None:
    """A file that cannot be read is a sentence."""
    with pytest.raises(InputError, match="none"):
        detect_source(str(tmp_path / "none"), SOURCES.values())
