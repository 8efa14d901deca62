# SPDX-License-Identifier: Apache-2.0
"""`querytape capture rds`: captures the slow log or audit log of a managed server through the cloud's API."""

from pathlib import Path
from typing import Any

import click

from ...capture.cloud import Cloud, RdsOptions, RdsPlan, plan_rds, record_rds, restore_rds
from ...capture.source import Settings
from ...common.errors import RefusedError
from ...common.exit_codes import ExitCode, help_of_codes
from ...common.files import refuse_existing
from ...common.signals import unwind_on_signals
from ..option_sections import taken
from ..output import exit_code, say_tape
from ..param_types import Duration, Size
from ..progress import CaptureProgress
from ..server_options import login_options, server_of
from ..stored_folders import NewFolder


@click.command(
    "rds",
    epilog="""\b
Examples:
  querytape capture rds shop-1 --dry-run
  querytape capture rds shop-1 --duration 30m -o shop.tape
  querytape capture rds shop-1 --cloudwatch --duration 30m -o shop.tape
  querytape capture rds shop-1 --audit --duration 30m -o shop.tape
  querytape capture rds shop-1 --restore                  after a kill

\b
The command requires boto3 (pip install 'querytape[rds]'), which finds the
credentials in the same places as the aws command. The account needs
rds:Describe*, rds:DownloadDBLogFilePortion, rds:ModifyDBParameterGroup and
rds:ResetDBParameterGroup (for a cluster's group: ...DBClusterParameterGroup).
--cloudwatch also needs logs:GetLogEvents, and with --audit it needs
logs:DescribeLogStreams.

\b
"""
    + help_of_codes(ExitCode.INCOMPLETE)
    + """

\b
The exit code is 1 if parameters could not be restored.
""",
)
@click.argument("instance", metavar="INSTANCE")
@click.option("-o", "--output", type=NewFolder(), help="New folder for the tape.")
@click.option("--duration", type=Duration(), default="10m", show_default=True, help="Duration of the capture.")
@click.option("--poll", type=Duration(), default="5s", show_default=True, help="Interval between downloads of the log.")
@click.option(
    "--cloudwatch",
    is_flag=True,
    help="Read the log from CloudWatch Logs instead of the instance's log files. The instance must export the log.",
)
@click.option(
    "--audit",
    is_flag=True,
    help="Read the audit log instead of the slow log. The audit log has no durations, but includes sessions that were"
    " open before the capture. On Aurora, the capture enables the audit log.",
)
@click.option(
    "--query-limit", type=int, default=1024, show_default=True, help="The server's server_audit_query_log_limit."
)
@click.option("--max-disk", type=Size(), default="8G", show_default=True, help="Stop when the tape reaches this size.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the planned parameter changes and their effects. Change nothing.",
)
@click.option("--restore", "restoring", is_flag=True, help="Restore the parameters that a killed capture changed.")
@click.option(
    "--restore-file", type=click.Path(path_type=Path), help="File that keeps the old parameters during the capture."
)
@click.option(
    "--shared-group-ok",
    is_flag=True,
    help="Change the parameter group even if other instances use the group. These instances then also log everything.",
)
@click.option(
    "--sync-timeout",
    type=Duration(),
    default="10m",
    show_default=True,
    help="Maximum time to wait until the parameter group has the status in-sync.",
)
@click.option("--region", metavar="NAME", help="AWS region. Default: boto3's own setting.")
@click.option("--profile", metavar="NAME", help="Profile of the AWS configuration. Default: boto3's own setting.")
@click.option(
    "--source",
    metavar="URL",
    help="MySQL URL of the instance. The tape keeps the server's identity, variables and binary log position.",
)
@login_options
def rds_command(instance: str, **options: Any) -> int:
    """Capture the slow log or the audit log of an Amazon RDS or Aurora instance.

    Changes the instance's parameter group so that the slow log contains every statement. Waits until the instance has
    applied the change, and downloads the log files while they grow and rotate. Restores each parameter at the end, at
    Ctrl-C, and after an error. A file keeps the old values during the capture. If the capture is killed, --restore
    restores the values from this file.

    The command never changes default parameter groups or parameters that need a reboot. With --audit (Aurora only), the
    command changes server_audit_logging and server_audit_events in the cluster's parameter group. Aurora writes several
    audit files in parallel, and querytape merges them by time.

    This command was tested only against an emulator, never against Amazon.
    """
    cloud = Cloud(options["region"], options["profile"])
    if options["restoring"]:
        with unwind_on_signals():
            for line in restore_rds(cloud, instance, options["restore_file"]):
                click.echo(line)
        return 0
    limits = RdsOptions(
        **taken(RdsOptions, options),
        duration_s=options["duration"] / 1e9,
        poll_s=options["poll"] / 1e9,
        sync_s=options["sync_timeout"] / 1e9,
        shared_ok=options["shared_group_ok"],
        say=lambda text: click.echo(f"capture rds: {text}", err=True),
    )
    plan = plan_rds(cloud, instance, limits)
    click.echo("\n".join(plan.lines()), err=True)
    for lack in plan.refused:
        click.echo(f"  refused: {lack}", err=True)
    if plan.refused:
        raise RefusedError("; ".join(plan.refused))
    if options["dry_run"]:
        return 0
    if options["output"] is None:
        raise click.UsageError("expected -o TAPE, or --dry-run")
    refuse_existing(options["output"])
    return run(cloud, plan, limits, options)


def run(cloud: Cloud, plan: RdsPlan, limits: RdsOptions, options: dict[str, Any]) -> int:
    """Capture, then print the tape's contents and the state of the parameter group. Return the exit code."""
    server = None
    if options["source"]:
        from ...servers.source import describe_target

        server = describe_target(server_of(options["source"], options, what="--source"))
    with unwind_on_signals(), CaptureProgress() as progress:
        recorded = record_rds(cloud, plan, limits, options["output"], Settings(server=server, watch=progress.update))
    say_tape(options["output"], recorded.info)
    if recorded.left.refused:
        return ExitCode.ERROR
    return exit_code(recorded.info)
