# SPDX-License-Identifier: Apache-2.0
"""The command line: one group, each command in a file of its own."""

import sys

import click

from . import __version__
from .cli_capture import capture_group
from .cli_capture_server import server_command
from .cli_demo import demo_command
from .cli_export import export_command
from .cli_fingerprint import fingerprint_command
from .cli_inspect import inspect_command
from .cli_replay import replay_command
from .cli_report import report_command
from .cli_tape import tape_group
from .errors import QuerytapeError
from .native.errors import NativeFault
from .schemas import FolderError

COMMANDS = (
    capture_group,
    inspect_command,
    replay_command,
    report_command,
    tape_group,
    export_command,
    fingerprint_command,
    demo_command,
)
capture_group.add_command(server_command)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  querytape capture slowlog /var/log/mysql/slow.log -o shop.tape
  querytape inspect shop.tape
  querytape replay shop.tape --target mysql://app@10.0.0.7:3306/shop -o a.run
  querytape report shop.tape a.run b.run --html report.html
""",
)
@click.version_option(__version__, prog_name="querytape")
def group() -> None:
    """Record MySQL traffic, replay it against other servers, compare what came back."""


for command in COMMANDS:
    group.add_command(command)


def main() -> None:
    """Run the command line; what a user can mend becomes one line on stderr and exit code 1."""
    try:
        status = group.main(standalone_mode=False)
    except click.ClickException as fault:
        fault.show()
        sys.exit(fault.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("querytape: stopped", err=True)
        sys.exit(130)
    except (QuerytapeError, NativeFault, FolderError) as fault:
        click.echo(f"querytape: {fault}", err=True)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
