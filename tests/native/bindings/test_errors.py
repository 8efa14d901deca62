# SPDX-License-Identifier: Apache-2.0
"""Errors of the native library as Python exceptions."""

import pytest
from querytape.common.errors import NativeFault
from querytape.native._querytape import ffi
from querytape.native.bindings.errors import check, text_of


def test_error_codes_raise_with_code_and_message() -> None:
    error = ffi.new("struct qt_error *")
    check(0, error)
    error.message = b"x.log: caf\xe9"
    with pytest.raises(NativeFault, match=r"x\.log: caf\\xe9") as raised:
        check(3, error)
    assert raised.value.code == 3


def test_invalid_utf8_is_shown_escaped() -> None:
    assert text_of(ffi.new("char[]", "ä".encode() + b"\xff")) == "ä\\xff"
