# SPDX-License-Identifier: Apache-2.0
"""Exceptions for errors that a caller can handle.

The command line prints such an error as one line on stderr. The exit code is 1, or 2 for an invalid option. Any other
exception is a bug, and the command line prints its traceback.
"""


class QuerytapeError(Exception):
    """An error with a message for the user: the expected value, the actual value, and the next step."""


class InputError(QuerytapeError):
    """A log, tape, run or option cannot be used for its purpose."""


class NoEventError(InputError):
    """The input of a capture has no events."""


class OptionError(InputError):
    """An option has an invalid value. The exit code is 2."""


class TargetError(QuerytapeError):
    """The target cannot be reached, or cannot run this replay."""


class RefusedError(QuerytapeError):
    """The safety rules forbid the action. The message names the option that allows it."""


class FolderError(QuerytapeError):
    """A folder is not a valid tape or run."""


class NativeFault(QuerytapeError):
    """An error of the native library. `code` is a value of enum qt_code (native/querytape.h)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
