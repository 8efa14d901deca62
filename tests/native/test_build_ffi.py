# SPDX-License-Identifier: Apache-2.0
"""What the build of the native part reads of its own sources."""

from querytape.native import build_ffi


def test_declarations() -> None:
    """cffi gets the part of the header between its marks, which declares every group of functions."""
    text = build_ffi.declarations()
    for name in ("qt_reader_part", "qt_normalize", "qt_engine_new", "qt_pseudonyms_stream"):
        assert f"{name}(" in text
    assert "cffi:" not in text
