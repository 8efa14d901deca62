# SPDX-License-Identifier: Apache-2.0
"""`querytape tape ...`: tools for tapes."""

from pathlib import Path
from typing import Any

import click

from ...capture.tools.copying import copy_folder
from ...capture.tools.deal import MAX_TAPES, Dealt, deal
from ...capture.tools.derive import derive
from ...capture.tools.gather import gather
from ...capture.tools.pseudonymize import new_key, pseudonymize, read_key
from ...capture.tools.salvage import salvage
from ...capture.tools.verify import verify
from ...common.exit_codes import ExitCode
from ...common.staged import shown_path
from ...common.temporary import temporary_folder
from ...common.units import plural
from ...schemas import EventFilter, open_folder
from ..option_sections import untitled
from ..output import readable_tape, say_tape
from ..param_types import Duration, Moment
from ..replay_options import filter_options
from ..stored_folders import LocalPath, NewFolder, StoredFolder

OUTPUT = click.option("-o", "--output", required=True, type=NewFolder(), help="New folder for the tape.")
TAPE = click.argument("tape", type=StoredFolder(exists=True, file_okay=False))

EVEN = 1.05  # limit of the heaviest tape's load, divided by the mean


@click.group("tape")
def tape_group() -> None:
    """Merge, cut, filter, split, copy, pseudonymize and check tapes.

    Commands write new tapes. The source tapes are never changed.
    """


@tape_group.command("merge", epilog="\b\nExample:\n  querytape tape merge monday.tape tuesday.tape -o both.tape")
@click.argument("tapes", nargs=-1, required=True, type=StoredFolder(exists=True, file_okay=False))
@OUTPUT
def merge_command(tapes: tuple[Path, ...], output: Path) -> None:
    """Merge several tapes into one; their sessions stay separate."""
    say_tape(output, derive([readable_tape(each) for each in tapes], output, EventFilter()))


@tape_group.command(
    "cut",
    epilog="""\b
Examples:
  querytape tape cut day.tape --from 2026-11-20T09:00 -o late.tape
  querytape tape cut live.tape --last 20m -o incident.tape
""",
)
@TAPE
@OUTPUT
@click.option(
    "--from",
    "from_at",
    type=Moment(relative=True),
    help="Keep events that begin at this time (UTC) or later. +10s means ten seconds after the tape's first event.",
)
@click.option(
    "--to", "to_at", type=Moment(relative=True), help="Keep events that begin before this time (same format as --from)."
)
@click.option(
    "--last",
    "last_ns",
    type=Duration(),
    help="Keep the events of this time span before the tape's last event. A capture may still be writing the tape.",
)
def cut_command(
    tape: Path,
    output: Path,
    from_at: tuple[bool, int] | None,
    to_at: tuple[bool, int] | None,
    last_ns: int | None,
) -> None:
    """Keep only the events of a time span.

    If a capture is still writing the tape, the command reads the published part. The capture is not disturbed.
    """
    if from_at is None and to_at is None and last_ns is None:
        raise click.UsageError("expected --from, --to, both, or --last")
    if last_ns is not None and (from_at is not None or to_at is not None):
        raise click.UsageError("--last cannot be combined with --from or --to")
    tape = readable_tape(tape)
    info = open_folder("tape", tape).info
    first_ns = int(info.get("first_ns") or 0)
    from_ns, to_ns = (None if at is None else at[1] + first_ns * at[0] for at in (from_at, to_at))
    if last_ns is not None:
        from_ns = int(info.get("last_ns") or 0) - last_ns
    say_tape(output, derive([tape], output, EventFilter(from_ns=from_ns, to_ns=to_ns)))


@tape_group.command(
    "filter",
    epilog="""\b
Examples:
  querytape tape filter shop.tape --user app --class read -o reads.tape
  querytape tape filter shop.tape --digest 3f2a90b1c4d5e6f7 -o one.tape
""",
)
@TAPE
@OUTPUT
@untitled(*filter_options("Keep"))
def filter_command(tape: Path, output: Path, **conditions: Any) -> None:
    """Keep only the events of certain users, schemas, digests, classes or sessions."""
    kept = EventFilter(**conditions)
    if kept == EventFilter():
        raise click.UsageError("expected at least one of --user, --db, --digest, --class, --session")
    say_tape(output, derive([readable_tape(tape)], output, kept))


@tape_group.command("deal", epilog="\b\nExample:\n  querytape tape deal big.tape 16 -o big.set")
@TAPE
@click.argument("number", type=click.IntRange(2, MAX_TAPES))
@click.option("-o", "--output", required=True, type=NewFolder(), help="New folder for the set.")
@click.option(
    "--by-table",
    is_flag=True,
    help="Keep sessions together if they share a table that is written or locked. For --order commit with several"
    " drivers.",
)
def deal_command(tape: Path, number: int, output: Path, by_table: bool) -> None:
    """Distribute the sessions of a tape over a set of NUMBER tapes with equal load.

    A session's load is the mean of its percentage of all events and its percentage of their total duration. No session
    is split, and each session keeps its number. All other commands accept the set or one of its tapes.

    With --by-table, no tape of the set uses a table that another tape writes or locks. The command fails if the tables
    of a statement are unknown. It also fails if one group of sessions has more than 1.2 times the mean load of a tape.
    """
    _say_dealt(output, deal(readable_tape(tape), number, output, by_table))


def _say_dealt(output: Path, dealt: Dealt) -> None:
    shares = dealt.shares
    events, sessions = [share.events for share in shares], [share.sessions for share in shares]
    click.echo(
        f"{shown_path(output)}: {len(shares)} tapes, each with {min(sessions):,} to {max(sessions):,} sessions and"
        f" {min(events):,} to {max(events):,} events"
    )
    click.echo(f"  the tape with the highest load has {dealt.heaviest:.2f} times the mean load")
    if dealt.groups is not None:
        click.echo(f"  {plural(dealt.groups, 'group')} of sessions stayed together because of their written tables")
        if dealt.heaviest > EVEN:
            click.echo("  UNEVEN: a group or a session is never split. Fewer tapes would have a more even load")
    elif dealt.heaviest > EVEN:
        click.echo(
            f"  UNEVEN: session {dealt.heaviest_session:,} has {dealt.heaviest_load:.0%} of the load, and a session"
            " is never split. Fewer tapes would have a more even load"
        )


@tape_group.command("set", epilog="\b\nExample:\n  querytape tape set captures/")
@click.argument("folder", type=LocalPath())
def set_command(folder: Path) -> None:
    """Make a set of the tapes in a folder, so that commands use them as one tape.

    The tapes may come from several servers. The tapes are not copied or changed. The command adds only set.json and a
    file with the digests of all tapes to the folder. Sessions are numbered in the order of the tapes' names.
    """
    say_tape(folder, gather(folder))


@tape_group.command(
    "copy",
    epilog="""\b
Examples:
  querytape tape copy shop.tape s3://backups/shop.tape
  querytape tape copy s3://backups/night.run night.run
""",
)
@click.argument("folder", type=StoredFolder(exists=True, file_okay=False))
@click.argument("target", type=NewFolder(source="folder"))
def copy_command(folder: Path, target: Path) -> int:
    """Copy a tape, a set or a run, for example to or from an object store.

    The JSON of the copy (tape.json, set.json, run.json) is written last, so nobody reads an incomplete copy. The
    command fails if the target exists. If FOLDER is the local folder of a copy that failed, it continues this copy.

    The exit code is 4 (incomplete result) if FOLDER is not complete, because its writer is running or was killed.
    """
    copied, name = copy_folder(folder, target), shown_path(target)
    click.get_current_context().close()  # waits for the object store
    click.echo(f"{name}: {plural(copied.files, 'file')}, {copied.size:,} bytes")
    if not copied.finished:
        click.echo("  INCOMPLETE: the writer of the source is still running, or it was killed")
    return ExitCode.SUCCESS if copied.finished else ExitCode.INCOMPLETE


@tape_group.command(
    "pseudonymize",
    epilog="""\b
Examples:
  querytape tape pseudonymize shop.tape -o shown.tape
  querytape tape pseudonymize monday.tape --key-file k -o m.tape
""",
)
@TAPE
@OUTPUT
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the key of the pseudonyms. A missing file is created. Tapes with the same key have the"
    " same pseudonyms. Default: a new key that is not saved.",
)
@click.option("--accounts", is_flag=True, help="Also replace user names, client hosts and connection attributes.")
def pseudonymize_command(tape: Path, output: Path, key_file: Path | None, accounts: bool) -> None:
    """Replace values with pseudonyms, so that a tape can be shared.

    A pseudonym has the same format as its value. Equal values get equal pseudonyms, and different values get different
    pseudonyms. Joins still match, and digests do not change. One-digit numbers and the names of tables, columns and
    schemas are not replaced.
    """
    key = read_key(key_file) if key_file is not None else new_key()
    info = pseudonymize(readable_tape(tape), output, key, accounts)
    say_tape(output, info)
    if n := info["read_in_several_ways"]:
        click.echo(
            f"  {plural(n, 'statement')} {'has' if n == 1 else 'have'} a different meaning in another sql_mode or"
            " character set. Every possible value was replaced, so a statement may be invalid"
        )


@tape_group.command(
    "verify",
    epilog="""\b
Examples:
  querytape tape verify shop.tape && echo whole
  querytape tape verify shop.tape --salvage saved.tape
""",
)
@TAPE
@click.option(
    "--salvage",
    "saved",
    type=NewFolder(),
    help="Write the events that can still be read to this new tape.",
)
def verify_command(tape: Path, saved: Path | None) -> int:
    """Check the files, the order and the counts of a tape.

    Lists the damage, and the data that can still be read. The exit code is 1 if the tape is damaged and --salvage is
    not given.
    """
    with temporary_folder() as work:
        damages = list(verify(tape, Path(work)))
    for damage in damages:
        text = f"{tape}: {damage.what}\n  {damage.saved}"
        click.echo(text.replace(str(tape), shown_path(tape)))
    if not damages:
        click.echo(f"{shown_path(tape)}: whole")
    if saved is not None:
        say_tape(saved, salvage(tape, saved))
    return 1 if damages and saved is None else 0
