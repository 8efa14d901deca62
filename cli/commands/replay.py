# SPDX-License-Identifier: Apache-2.0
"""`querytape replay`: replays one tape, or several merged tapes, against one target."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...common.files import is_held
from ...common.staged import address_of, shown_path
from ...common.text import printable
from ...common.units import plural, utc_time
from ...replay import replay
from ...schemas import EventFilter
from ..driver_options import DRIVERS, drivers_of
from ..metrics_page import MetricsPage
from ..option_sections import SectionedCommand
from ..output import complete_tape
from ..replay_options import all_sections
from ..replay_settings import first_ns, options_of, target_of
from ..run_lines import exit_code, summary_lines
from ..shown_runs import values_of
from ..stored_folders import StoredFolder
from ..watchers import run_watcher

if TYPE_CHECKING:
    from ...capture.tools.following import Following

MAX_SLOWLOG_BYTES = 8 << 30


@click.command(
    "replay",
    cls=SectionedCommand,
    common=(
        *("target", "output", "defaults_file", "ssl_mode", "allow_writes", "target_is_disposable"),
        *("pace", "order", "from_at", "to_at"),
    ),
    epilog="""\b
Examples:
  querytape replay shop.tape --target mysql://app@10.0.0.7:3306/shop -o a.run
  querytape replay shop.tape --target mysql://app@10.0.0.7/shop -o fast.run \\
      --pace none
  querytape replay shop.tape --target 'mysql://app@/?socket=/run/mysqld/s' \\
      --defaults-file ~/.my.cnf -o s.run
  querytape replay shop.tape --target mysql://root@127.0.0.1:3307/shop \\
      --allow-writes --target-is-disposable --order commit -o w.run
  querytape replay web.tape jobs.tape --target mysql://app@10.0.0.7/shop \\
      -o both.run
  querytape replay shop.tape --target mysql://app@10.0.0.7/shop -o peak.run \\
      --from '2026-11-20 12:00' --to '2026-11-20 12:30' --amplify 2
  querytape replay live.tape --follow --target mysql://app@10.0.0.7/shop \\
      -o now.run
  querytape replay shop.tape --target mysql://app@10.0.0.7/shop -o a.run \\
      --metrics :9464       then: curl http://127.0.0.1:9464/metrics
  querytape replay big.set --drivers local:3 \\
      --target mysql://app@10.0.0.7/shop -o big.run

\b
Columns of the line that is shown each second:
  time   since the first event was due
  open   sessions that are open
  q/s    statements a second, of which read, write and other
  p95    service time that 95 % of the statements did not exceed
  err/s  statements a second that failed
  late   lateness of the statements that were sent (p99)
  done   finished share of the schedule; eta: remaining time
Columns of --order commit, in place of read and other:
  waits   statements a second that waited for other sessions' commits
  broken  waits a second that ended too early (--order-bound)

\b
On a terminal, a view replaces these lines (unless --no-live is given):
  now     the last second, then the last minute with one character a second
  queue   events that wait to be sent, and their memory
  slowest digests with the largest total time on the target so far

\b
Names for --allow-statement:
  shutdown, kill, set_global, accounts, replication, load_data, into_file,
  plugins, flush, table_maintenance, instance, set_session_unsafe, lock_tables
""",
)
@click.argument("tapes", nargs=-1, required=True, type=StoredFolder(), metavar="TAPE...")
@all_sections
@DRIVERS.add
def replay_command(tapes: tuple[Path, ...], **options: Any) -> int:
    """Replay a tape against a server.

    Each session of the tape has its own thread and connection, and each event is sent at its original time. Several
    tapes are first merged into one tape, which is kept next to the run (both.tape for both.run). If a capture is still
    writing the tape, the published part of the tape is replayed. With --follow, the replay continues until the capture
    ends or the user presses Ctrl-C. The replay keeps the tape's pace, so a run that starts an hour late stays an hour
    late.

    Only reads are sent unless --allow-writes is given. The target is checked first, and warnings are shown before
    anything is sent. Ctrl-C stops sending, waits for answers and keeps the run as partial. A second Ctrl-C ends the
    run immediately.

    `querytape speed RUN 2` changes the speed during the run. --drivers replays a set of tapes with several processes,
    on this host or on others.

    The exit code is 1 if the replay was refused, is partial, or has unaccounted events. The exit code is 4 (incomplete
    result) if the target's final data may differ from the original data. Reasons are unknown ids (--insert-id original)
    and waits that --order-bound ended (--order commit). The exit code is 5 if a driver was lost, and its last events
    may or may not have been sent.
    """
    drivers = drivers_of({**options, "tapes": tapes})
    if address_of(options["output"]) and (len(tapes) > 1 or options["follow"]):
        raise click.UsageError(
            "several tapes, or --follow: expected a local folder with -o, because the replayed tape is kept next to it"
        )
    with ExitStack() as stack:
        metrics = MetricsPage(options["metrics"], stack)
        growing = followed(tapes, options, stack)
        tape = one_tape(tapes, options["output"]) if growing is None else growing.path
        target = target_of(options, stack)
        replay_options = options_of(options, target, 0 if growing else first_ns(tape))
        lines = run_watcher(
            options["live"],
            lambda live: metrics.put(lambda: values_of(live)),
            heading=lambda name: shown_path(options["output"]),
        )
        if options["target_slowlog"]:
            from ...experiments.target_slowlog import target_slowlog

            stack.enter_context(target_slowlog(target, replay_options.output, MAX_SLOWLOG_BYTES, lines.say))
        if drivers is not None:
            from ...replay.drivers.lead import replay_by_drivers

            summary = replay_by_drivers(tape, replay_options, drivers, lines)
        else:
            summary = replay(tape, replay_options, lines, growing)
    sys.stderr.flush()
    for text in summary_lines(summary):
        click.echo(printable(text))
    return exit_code(summary)


def followed(tapes: tuple[Path, ...], options: dict[str, Any], stack: ExitStack) -> "Following | None":
    """Return the growing tape to follow. Returns None without --follow, or if its capture has ended."""
    if not options["follow"]:
        return None
    if len(tapes) > 1:
        raise click.UsageError("--follow: one tape")
    if not is_held(tapes[0]):
        click.echo(f"{shown_path(tapes[0])}: the capture has ended, so there is nothing to follow", err=True)
        return None
    from ...capture.tools.following import follow

    growing = stack.enter_context(follow(tapes[0], own_tape(options["output"])))
    until = f"{growing.begun['events']:,} events until {utc_time(growing.begun['last_ns'])} UTC"
    click.echo(
        f"{tapes[0]}: the capture is still running. The replay starts with {until} and continues with later"
        f" events. The replayed tape is kept in {growing.path}",
        err=True,
    )
    return growing


def own_tape(output: Path) -> Path:
    """Return the path of the tape that is kept next to a run."""
    return output.with_name(f"{output.name.removesuffix('.run')}.tape")


def one_tape(tapes: tuple[Path, ...], output: Path) -> Path:
    """Return the tape to replay: the only one, the merged one, or the published part of a growing tape."""
    merged = own_tape(output)
    if len(tapes) == 1 and is_held(tapes[0]):
        from ...capture.tools.snapshot import snapshot

        published = snapshot(tapes[0], merged)
        events = plural(published["counts"]["events"], "event")
        click.echo(
            f"{merged}: the {events} that {tapes[0]} has published so far (--follow also replays later events)",
            err=True,
        )
        return merged
    for each in tapes:
        complete_tape(each)
    if len(tapes) == 1:
        return tapes[0]
    from ...capture.tools.derive import derive

    info = derive(list(tapes), merged, EventFilter())
    click.echo(f"{merged}: merged {plural(info['counts']['events'], 'event')} of {len(tapes)} tapes", err=True)
    return merged
