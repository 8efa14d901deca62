# SPDX-License-Identifier: Apache-2.0
"""Run the command line inside the test process, in the same way as the installed program."""

import io
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

import click
from querytape.cli.main import main

# Texts that must never appear in the output for users.
RAW = re.compile(
    r"Traceback|Exception ignored|KeyboardInterrupt|Fatal Python|terminate called|Query interrupted|nanobind"
    r"|(Binder|Catalog|Conversion|Invalid Input|INTERNAL|IO|Out of Range|Parser|Fatal) Error|read_parquet|/proc/self"
)


@dataclass(frozen=True)
class Ended:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


def run_here(*arguments: str) -> Ended:
    """Run a command and return its exit code and output. The signal handlers of the test stay unchanged."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = 0
    try:
        with patch.object(sys, "argv", ["querytape", *arguments]), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ending:
        code = ending.code
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    said = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]
    return Ended(code if isinstance(code, int) else int(code is not None), *said)


def commands_of(parent: click.Command, whole: tuple[str, ...] = (), name: str = "") -> Iterator[str]:
    """Yield the name of every command. A group listed in `whole` counts as one command."""
    assert isinstance(parent, click.Group)
    context = click.Context(parent)
    for each in parent.list_commands(context):
        command = parent.get_command(context, each)
        if isinstance(command, click.Group) and each not in whole:
            yield from commands_of(command, whole, f"{each} ")
        else:
            yield name + each
