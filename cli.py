# SPDX-License-Identifier: Apache-2.0
"""The command line: one group, each command in a file of its own."""

import sys

import click

from . import __version__
from .errors import QuerytapeError
from .lazy import LazyGroup
from .native.errors import NativeFault
from .schemas import FolderError

COMMANDS = {
    "capture": ".cli_capture:capture_group",
    "inspect": ".cli_inspect:inspect_command",
    "replay": ".cli_replay:replay_command",
    "sweep": ".cli_sweep:sweep_command",
    "speed": ".cli_speed:speed_command",
    "calibrate": ".cli_calibrate:calibrate_command",
    "null-server": ".cli_calibrate:null_server_command",
    "report": ".cli_report:report_command",
    "compare": ".cli_compare:compare_command",
    "sql": ".cli_sql:sql_command",
    "tape": ".cli_tape:tape_group",
    "export": ".cli_export:export_command",
    "fingerprint": ".cli_fingerprint:fingerprint_command",
    "demo": ".cli_demo:demo_command",
}


@click.group(
    cls=LazyGroup,
    later=COMMANDS,
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
