# SPDX-License-Identifier: Apache-2.0
"""The few things that can go wrong and that a caller can do something about.

The command line turns each into one line on stderr and exit code 1; anything else is a bug and shows its traceback.
"""


class QuerytapeError(Exception):
    """A sentence for the user: what was expected, what was found, what to do."""


class InputError(QuerytapeError):
    """A log, tape or run can't be read as what it was given as."""


class TargetError(QuerytapeError):
    """The target can't be reached, or can't carry this replay."""


class RefusedError(QuerytapeError):
    """The safety rules forbid this; the message names the option that would allow it."""
