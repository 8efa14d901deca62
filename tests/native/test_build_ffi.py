# SPDX-License-Identifier: Apache-2.0
"""The declarations that the native build extracts from its own sources."""

from querytape.native import build_ffi


def test_every_function_group_is_declared() -> None:
    """cffi reads only the marked part of the header."""
    text = build_ffi.declarations()
    for name in ("qt_reader_part", "qt_normalize", "qt_engine_new", "qt_pseudonyms_stream"):
        assert f"{name}(" in text
    assert "cffi:" not in text
