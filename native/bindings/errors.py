# SPDX-License-Identifier: Apache-2.0
"""Turn error codes of the native part into Python exceptions."""

from typing import Any

from ...common.errors import NativeFault
from .._querytape import ffi, lib

NO_PERMISSION: int = lib.QT_EACCES  # this process lacks a privilege


def text_of(chars: Any) -> str:
    r"""Return a C string as text. Bytes that are not UTF-8 become \xNN."""
    return bytes(ffi.string(chars)).decode("utf-8", "backslashreplace")


def check(code: int, error: Any) -> None:
    """Raise NativeFault unless `code` is QT_OK."""
    if code:
        raise NativeFault(code, text_of(error.message))


def check_code(code: int) -> None:
    """Raise MemoryError or NativeFault unless `code` is QT_OK.

    For C functions that return no error message.
    """
    if code == lib.QT_ENOMEM:
        raise MemoryError
    if code:
        raise NativeFault(code, "invalid argument")
