# SPDX-License-Identifier: Apache-2.0
"""The one place where an error of the native part becomes a Python exception."""

from typing import Any

from ._querytape import ffi


class NativeFault(Exception):
    """An error that the native part reported; `code` is one of enum qt_code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def text_of(chars: Any) -> str:
    """Return a C text as Python's, bad bytes shown as such."""
    return bytes(ffi.string(chars)).decode("utf-8", "backslashreplace")


def check(code: int, error: Any) -> None:
    """Raise NativeFault unless `code` is QT_OK."""
    if code:
        raise NativeFault(code, text_of(error.message))
