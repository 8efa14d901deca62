# SPDX-License-Identifier: Apache-2.0
"""`querytape driver`: runs one driver of a replay that another host leads."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ...common.staged import shown_path
from ...common.text import printable
from ..driver_options import JOIN_KEY, Place
from ..live_lines import LiveLines
from ..option_sections import Section, SectionedCommand, option
from ..replay_options import driver_sections
from ..replay_settings import first_ns, options_of, target_of
from ..stored_folders import StoredFolder, rest_of

JOIN = Section(
    "The lead",
    (
        option(
            "--join",
            type=Place(),
            required=True,
            metavar="HOST:PORT",
            help="Address on which the lead process listens (`querytape replay --drivers join:N --listen`).",
        ),
        JOIN_KEY,
    ),
)


@click.command(
    "driver",
    cls=SectionedCommand,
    epilog="""\b
Examples: on the host that leads
  querytape replay big.set --drivers join:3 --listen 10.0.0.2:7000 \\
      --join-key join.key --target mysql://app@10.0.0.7/shop -o big.run
and on three hosts, each with a copy of the set and of join.key
  querytape driver big.set --join 10.0.0.2:7000 --join-key join.key \\
      --target mysql://app@10.0.0.7/shop -o part.run
""",
)
@click.argument("tape", type=StoredFolder(whole=False))
@JOIN.add
@driver_sections
def driver_command(tape: Path, **options: Any) -> int:
    """Replay some tapes of a set for a lead process on another host.

    The lead process (`querytape replay --drivers`) assigns tapes of the set to this driver and sets the start time of
    all drivers. TAPE is the set that the lead process replays, or a copy of the set. The lead process refuses a driver
    that has different replay options. The login, the option file and the TLS files belong to this host. Passwords and
    statements are never sent to the lead process.

    The driver writes its part of the run to -o, sends the part to the lead process, and removes the part after
    delivery. If the lead process is lost before the first event, the driver sends no events. If the lead process is
    lost later, the driver finishes its schedule and keeps its part. With --on-driver-lost resume, it stops instead
    after at most 10 s. The exit code is 1 if the part is incomplete or was
    not delivered.
    """
    for name in ("follow", "metrics"):
        if options[name]:
            raise click.UsageError(f"--{name} cannot be combined with several drivers")
    for name in ("target_slowlog", "start_at_ns", "host_metrics", "summaries"):
        if options[name]:
            raise click.UsageError(
                f"--{name.removesuffix('_ns').replace('_', '-')}: set this option on the lead process"
                " (querytape replay), not on a driver"
            )
    from ...replay.drivers.joined import replay_as_driver
    from ...replay.drivers.secured import VARIABLE, read_key
    from ...replay.plan.make_plan import NothingToSend

    key = read_key(options["join_key"])
    if key is None:
        raise click.UsageError(
            f"the key that drivers and lead process share is missing: use --join-key FILE, or set {VARIABLE}"
        )
    with ExitStack() as stack:
        replay_options = options_of(options, target_of(options, stack), first_ns(tape, has_parts=False))
        try:
            ended = replay_as_driver(tape, replay_options, options["join"], key, LiveLines(), rest_of(tape))
        except NothingToSend as error:
            click.echo(printable(f"this driver had nothing to do: {error}"))
            return 0
    sys.stderr.flush()
    counts = ended.summary.info["accounting"]
    click.echo(
        f"driver {ended.number}: {counts['tape_events']:,} events = {counts['executed']:,} executed"
        f" + {counts['filtered']:,} filtered + {counts['skipped']:,} skipped + {counts['not_sent']:,} not sent"
    )
    if ended.summary.info["partial"]:
        click.echo(printable(f"  PARTIAL: {ended.summary.info['partial']}"))
    if ended.kept is not None:
        click.echo(
            printable(f"  NOT DELIVERED ({ended.kept}): the driver's part is kept in {shown_path(ended.summary.path)}")
        )
    return 0 if ended.kept is None and ended.summary.complete else 1
