# SPDX-License-Identifier: Apache-2.0
"""`querytape tape ...`: what is done to tapes."""

import tempfile
from pathlib import Path

import click

from .capture.tools.derive import Choice, derive
from .capture.tools.redact import new_key, read_key, redact
from .capture.tools.salvage import salvage
from .capture.tools.verify import verify
from .cli_capture import say_result
from .parameters import Moment

OUTPUT = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The tape to write (a new folder)."
)
TAPE = click.argument("tape", type=click.Path(path_type=Path, exists=True, file_okay=False))


@click.group("tape", short_help="Merge, cut, filter and check tapes.")
def tape_group() -> None:
    """Make new tapes of old ones, and check them. The old ones are never changed."""


@tape_group.command("merge", epilog="\b\nExample:\n  querytape tape merge monday.tape tuesday.tape -o both.tape")
@click.argument("tapes", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@OUTPUT
def merge_command(tapes: tuple[Path, ...], output: Path) -> None:
    """Put several captures on one tape, each session for itself."""
    say_result(output, derive(tapes, output, Choice()))


@tape_group.command(
    "cut",
    epilog="\b\nExample:\n  querytape tape cut day.tape --from 2026-11-20T09:00 -o late.tape",
)
@TAPE
@OUTPUT
@click.option("--from", "from_ns", type=Moment(), help="Keep what begins then or later (UTC).")
@click.option("--to", "to_ns", type=Moment(), help="Keep what begins before (UTC).")
def cut_command(tape: Path, output: Path, from_ns: int | None, to_ns: int | None) -> None:
    """Keep a window of time."""
    if from_ns is None and to_ns is None:
        raise click.UsageError("give --from, --to or both")
    say_result(output, derive([tape], output, Choice(from_ns=from_ns, to_ns=to_ns)))


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
@click.option("--user", "users", multiple=True, help="Keep this account's events; may be given several times, as all.")
@click.option("--db", "dbs", multiple=True, help="Keep events in this default schema.")
@click.option("--digest", "digests", multiple=True, help="Keep this digest.")
@click.option("--class", "classes", multiple=True, help="Keep this class: read, write, transaction, ...")
@click.option("--session", "sessions", multiple=True, type=int, help="Keep this session.")
def filter_command(
    tape: Path,
    output: Path,
    users: tuple[str, ...],
    dbs: tuple[str, ...],
    digests: tuple[str, ...],
    classes: tuple[str, ...],
    sessions: tuple[int, ...],
) -> None:
    """Keep events by account, schema, digest, class or session."""
    choice = Choice(users, dbs, digests, classes, sessions)
    if choice.where() == "true":
        raise click.UsageError("give at least one of --user, --db, --digest, --class, --session")
    say_result(output, derive([tape], output, choice))


@tape_group.command(
    "redact",
    epilog="""\b
Examples:
  querytape tape redact shop.tape -o shown.tape
  querytape tape redact monday.tape --key-file k -o m.tape
""",
)
@TAPE
@OUTPUT
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Key of the stand-ins; made where it is not there. Tapes redacted under one key still join. Without it: a"
    " new key that nobody keeps.",
)
@click.option("--accounts", is_flag=True, help="Replace users, hosts and what clients say of themselves, too.")
def redact_command(tape: Path, output: Path, key_file: Path | None, accounts: bool) -> None:
    """Replace values by stand-ins of the same shape, so that a tape can be shown.

    The same value gets the same stand-in everywhere, two values never the same one: joins still join, digests stay.
    Names of tables, columns and schemas stay, and numbers of one digit.
    """
    key = read_key(key_file) if key_file is not None else new_key()
    say_result(output, redact(tape, output, key, accounts))


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
    help="Write the events that can still be read as a new tape.",
)
def verify_command(tape: Path, saved: Path | None) -> int:
    """Check files, order and numbers of a tape.

    Exits with 1 where something is wrong, and says what can be saved.
    """
    with tempfile.TemporaryDirectory(prefix="querytape-") as work:
        found = list(verify(tape, Path(work)))
    for damage in found:
        click.echo(f"{tape}: {damage.what}\n  {damage.saved}")
    if not found:
        click.echo(f"{tape}: whole")
    if saved is not None:
        say_result(saved, salvage(tape, saved))
    return 1 if found and saved is None else 0
