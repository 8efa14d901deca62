# SPDX-License-Identifier: Apache-2.0
"""`querytape tape ...`: what is done to tapes."""

from pathlib import Path
from typing import Any

import click

from ...capture.tools.deal import MAX_TAPES, Dealt, deal
from ...capture.tools.derive import derive
from ...capture.tools.gather import gather
from ...capture.tools.pseudonymize import new_key, pseudonymize, read_key
from ...capture.tools.salvage import salvage
from ...capture.tools.verify import verify
from ...common.temporary import temporary_folder
from ...schemas import EventFilter, open_folder
from ..option_sections import untitled
from ..output import readable_tape, say_tape
from ..param_types import Duration, Moment
from ..replay_options import filter_options

OUTPUT = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Tape to write (a new folder)."
)
TAPE = click.argument("tape", type=click.Path(path_type=Path, exists=True, file_okay=False))

EVEN = 1.05  # the heaviest tape of a set, by the mean


@click.group("tape")
def tape_group() -> None:
    """Merge, cut, filter, deal, pseudonymize and check tapes.

    Each command but verify writes a new tape; the tapes it reads are never changed.
    """


@tape_group.command("merge", epilog="\b\nExample:\n  querytape tape merge monday.tape tuesday.tape -o both.tape")
@click.argument("tapes", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
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
    help="Keep events that begin at this time (UTC) or later; +10s is ten seconds after the tape's first.",
)
@click.option("--to", "to_at", type=Moment(relative=True), help="Keep events that begin before this time, as --from.")
@click.option(
    "--last",
    "last_ns",
    type=Duration(),
    help="Keep this much before the tape's last event. The tape may be one that a capture is writing.",
)
def cut_command(
    tape: Path,
    output: Path,
    from_at: tuple[bool, int] | None,
    to_at: tuple[bool, int] | None,
    last_ns: int | None,
) -> None:
    """Keep the events of a period of time.

    If a capture is writing the tape, its published part is cut. The capture is not disturbed.
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
    """Keep events of some users, schemas, digests, classes or sessions."""
    kept = EventFilter(**conditions)
    if kept == EventFilter():
        raise click.UsageError("expected at least one of --user, --db, --digest, --class, --session")
    say_tape(output, derive([readable_tape(tape)], output, kept))


@tape_group.command("deal", epilog="\b\nExample:\n  querytape tape deal big.tape 16 -o big.set")
@TAPE
@click.argument("number", type=click.IntRange(2, MAX_TAPES))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Set to write (a new folder).")
def deal_command(tape: Path, number: int, output: Path) -> None:
    """Deal the sessions of a tape into NUMBER tapes of equal load: a set.

    Half of a session's load is its share of the events, half its share of the time that they took. No session is split;
    each keeps its number. inspect, replay, report, tape verify and all others take the set (or one of its tapes)
    wherever they take a tape.
    """
    _say_dealt(output, deal(readable_tape(tape), number, output))


def _say_dealt(output: Path, dealt: Dealt) -> None:
    shares = dealt.shares
    events, sessions = [share.events for share in shares], [share.sessions for share in shares]
    click.echo(
        f"{output}: {len(shares)} tapes, each of {min(sessions):,} to {max(sessions):,} sessions and {min(events):,} to"
        f" {max(events):,} events"
    )
    click.echo(f"  the heaviest has {dealt.heaviest:.2f} of the mean load")
    if dealt.heaviest > EVEN:
        click.echo(
            f"  UNEVEN: sessions are few and unlike (session {dealt.heaviest_session:,} alone is"
            f" {dealt.heaviest_load:.0%} of the load), and a session is never split: fewer tapes would be more even"
        )


@tape_group.command("set", epilog="\b\nExample:\n  querytape tape set captures/")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def set_command(folder: Path) -> None:
    """Make a set of the tapes in a folder, as of several servers: they are then used as one tape.

    Nothing is copied and no tape is changed: the folder gets a set.json and the digests of all. The sessions are
    numbered in the order of the tapes' names.
    """
    say_tape(folder, gather(folder))


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
    help="File with the key of the pseudonyms; created if it does not exist. Tapes with the same key have the same"
    " pseudonyms. Default: a new key that is not kept.",
)
@click.option("--accounts", is_flag=True, help="Also replace user names, client hosts and connection attributes.")
def pseudonymize_command(tape: Path, output: Path, key_file: Path | None, accounts: bool) -> None:
    """Replace values by pseudonyms, so that a tape can be shared.

    A pseudonym has the format of its value. Equal values get equal pseudonyms everywhere and different values different
    ones, so joins still join and digests stay the same. Names of tables, columns and schemas, and numbers of one digit,
    are not replaced.
    """
    key = read_key(key_file) if key_file is not None else new_key()
    info = pseudonymize(readable_tape(tape), output, key, accounts)
    say_tape(output, info)
    if info["read_in_several_ways"]:
        click.echo(
            f"  {info['read_in_several_ways']:,} statements have another meaning in another sql_mode or character"
            " set: every possible value was replaced, so they may fail"
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
    type=click.Path(path_type=Path),
    help="Write the events that can still be read to this new tape.",
)
def verify_command(tape: Path, saved: Path | None) -> int:
    """Check the files, the order and the counts of a tape.

    Prints each damage and what can still be read. The exit code is 1 if there is any and --salvage is not given.
    """
    with temporary_folder() as work:
        damages = list(verify(tape, Path(work)))
    for damage in damages:
        click.echo(f"{tape}: {damage.what}\n  {damage.saved}")
    if not damages:
        click.echo(f"{tape}: whole")
    if saved is not None:
        say_tape(saved, salvage(tape, saved))
    return 1 if damages and saved is None else 0
