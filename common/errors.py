# SPDX-License-Identifier: Apache-2.0
"""The few things that can go wrong and that a caller can do something about.

The command line turns each into one line on stderr and exit code 1, or 2 for an option; anything else is a bug and
shows its traceback.
"""


class QuerytapeError(Exception):
    """A sentence for the user: what was expected, what was found, what to do."""


class InputError(QuerytapeError):
    """A log, tape, run or option is not what it is used as."""


class NoEventError(InputError):
    """The input of a capture has no events."""


class OptionError(InputError):
    """An option says what cannot be: wrong usage, exit code 2."""


class TargetError(QuerytapeError):
    """The target cannot be reached, or cannot carry this replay."""


class RefusedError(QuerytapeError):
    """The safety rules forbid this; the message names the option that would allow it."""


class FolderError(QuerytapeError):
    """A folder is not the tape or run that it is used as."""


class NativeFault(QuerytapeError):
    """An error that the native part reported; `code` is one of enum qt_code (native/querytape.h)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
