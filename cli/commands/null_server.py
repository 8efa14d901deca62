# SPDX-License-Identifier: Apache-2.0
"""`querytape null-server`: answers every command with OK, so that only the client is measured."""

import sys
import time

import click

from ..param_types import Duration

LONGEST_WAIT_S = 0.2


@click.command(
    "null-server",
    epilog="\b\nExamples:\n  querytape null-server\n  querytape null-server --threads 2 --delay 1ms",
)
@click.option("--threads", type=click.IntRange(1, 64), default=1, show_default=True, help="Threads that answer.")
@click.option("--delay", type=Duration(), default="0s", show_default=True, help="Time to wait before each answer.")
@click.option("--until-eof", is_flag=True, help="Stop at the end of standard input instead of at Ctrl-C.")
def null_server_command(threads: int, delay: int, until_eof: bool) -> None:
    """Run a server that answers every command with OK.

    The server listens on a free port of 127.0.0.1 and prints the port. The server does no work, so a measurement shows
    only the cost of the client.
    """
    from ...native.bindings.null_server import NullServer
    from ...replay.checks.machine import raise_file_limit

    raise_file_limit()
    with NullServer(threads=threads, delay_ns=delay) as server:
        click.echo(f"port {server.port}")
        sys.stdout.flush()
        if until_eof:
            sys.stdin.read()
        else:
            # A signal that arrives just before a wait is handled only after the wait. Each wait is therefore short.
            while True:
                time.sleep(LONGEST_WAIT_S)
