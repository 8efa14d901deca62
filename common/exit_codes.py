# SPDX-License-Identifier: Apache-2.0
"""Exit codes of all commands. Each code has one meaning."""

import textwrap
from enum import IntEnum

HELP_COLUMNS = 78


class ExitCode(IntEnum):
    """An exit code. `MEANINGS` describes each code."""

    SUCCESS = 0
    ERROR = 1
    USAGE = 2
    CONDITION = 3
    INCOMPLETE = 4
    UNKNOWN = 5
    STOPPED = 130


# A short name for the help of commands, and a description for the page of all commands.
MEANINGS = {
    ExitCode.SUCCESS: ("success", "The result is complete."),
    ExitCode.ERROR: ("error", "The command failed, or a replay is partial. The output gives the reason."),
    ExitCode.USAGE: ("wrong usage", "An option or argument is invalid."),
    ExitCode.CONDITION: ("--fail-on holds", "The condition of `--fail-on` holds."),
    ExitCode.INCOMPLETE: (
        "incomplete result",
        "The command wrote a result that lacks a part or has uncertain parts. The first lines of the output list them.",
    ),
    ExitCode.UNKNOWN: ("unknown", "A driver was lost. It is unknown whether its last statements were sent."),
    ExitCode.STOPPED: ("stopped", "A signal ended the command before it had a result."),
}


def help_of_codes(*more: ExitCode) -> str:
    """Return the line of a command's help that lists the codes 0, 1 and 2, and `more`."""
    codes = (ExitCode.SUCCESS, ExitCode.ERROR, ExitCode.USAGE, *more)
    text = "Exit codes: " + ", ".join(f"{code:d} {MEANINGS[code][0]}" for code in codes) + "."
    return textwrap.fill(text, HELP_COLUMNS)


def table_of_codes() -> str:
    """Return the Markdown table of all exit codes."""
    rows = [f"| {code:d} | {name} | {meaning} |" for code, (name, meaning) in MEANINGS.items()]
    return "\n".join(["| code | name | meaning |", "|---|---|---|", *rows])
