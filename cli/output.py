# SPDX-License-Identifier: Apache-2.0
"""Output that several commands share: a new tape, its problems, and a tape's recovery. Also creates the console."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..common.errors import InputError
from ..common.exit_codes import ExitCode
from ..common.files import is_held
from ..common.staged import address_of, shown_path
from ..common.text import printable
from ..common.units import plural, seconds, utc_time

if TYPE_CHECKING:
    from rich.console import Console

    from ..schemas import Folder

COLUMNS = 80
MAX_PROBLEMS_SHOWN = 10_000
MAX_OF_A_KIND = 10_000  # maximum number of problems on a tape; more_problems marks further problems
# Problem kinds that mean a certain loss: texts for one and for several.
LOSSES = {
    "foreign_file": ("file contains no event of the expected kind", "files contain no event of the expected kind"),
    "not_understood": ("part of the input could not be parsed", "parts of the input could not be parsed"),
    "wrapped_record": (
        "part of the input has other text in front of its records",
        "parts of the input have other text in front of their records",
    ),
    "too_large": ("event was too large and was truncated", "events were too large and were truncated"),
    "damaged_archive": ("compressed file is damaged or truncated", "compressed files are damaged or truncated"),
    "damaged_capture": ("capture file is damaged or truncated", "capture files are damaged or truncated"),
    "bad_query_time": ("duration could not be read", "durations could not be read"),
    "bad_value": ("entry has values that could not be read", "entries have values that could not be read"),
    "execution_does_not_fit": (
        "execution does not match its prepared statement",
        "executions do not match their prepared statements",
    ),
    "ip_fragment": ("IP packet lacks fragments", "IP packets lack fragments"),
    "no_event": ("connection has bytes, but no MySQL event", "connections have bytes, but no MySQL event"),
    "x_protocol": ("connection uses the X protocol", "connections use the X protocol"),
}
# Problem kinds without missing data but with uncertain times.
UNSURE = {
    "ambiguous_time": (
        "clock change in local times is ambiguous: use --log-timezone with the name of a zone",
        "clock changes in local times are ambiguous: use --log-timezone with the name of a zone",
    ),
}
UNREAD = "unread_"  # prefix of kinds for unreadable values; the column's name follows


def show_problems(tape: "Folder") -> None:
    """Print every problem of a tape as `file, line N: expected ..., found ...`.

    Problems of packets have the packet number instead of a line.
    """
    found = problems(tape, f'true ORDER BY file, line, "offset" LIMIT {MAX_PROBLEMS_SHOWN + 1}')
    for line in found[:MAX_PROBLEMS_SHOWN]:
        click.echo(line)
    if len(found) > MAX_PROBLEMS_SHOWN:
        click.echo(
            f"... only the first {MAX_PROBLEMS_SHOWN:,} problems are shown. {tape.path / 'problems.parquet'}"
            " contains all problems"
        )


def problems(tape: "Folder", where: str) -> list[str]:
    """Return problems of a tape as text. `where`: SQL that selects and orders the problems."""
    from ..common.duck import small_database
    from ..schemas import file_name

    with small_database() as con:
        rows = con.execute(
            f'SELECT file, line, "offset", kind, detail FROM {tape.source("problems")} WHERE {where}'
        ).fetchall()
    places = [f", line {line}" if line else f", packet {offset}" if offset else "" for _, line, offset, _, _ in rows]
    return [
        printable(f"{file_name(tape.info, file)}{place}: {kind}: {detail}")
        for (file, _, _, kind, detail), place in zip(rows, places, strict=True)
    ]


def is_loss(kind: str) -> bool:
    """Return whether a kind of problem means a certain loss."""
    return kind in LOSSES or kind.startswith(UNREAD)


def describe(kind: str, count: int) -> str:
    """Return the effect of `count` problems of a kind on the tape. The kind must be in UNSURE or pass is_loss()."""
    more = " or more" * (count >= MAX_OF_A_KIND)
    if named := {**LOSSES, **UNSURE}.get(kind):
        return f"{count:,}{more} {named[count != 1]}"
    return f"{count:,}{more} {'value' if count == 1 else 'values'} of {kind.removeprefix(UNREAD)} could not be read"


def lost_sentence(info: dict[str, Any]) -> str:
    """Return a text about input that is certainly missing or incomplete on a tape. Empty if no loss is known."""
    parts = [describe(kind, n) for kind, n in info["problems"].items() if is_loss(kind)]
    if parts and (skipped := info.get("not_understood_bytes", 0)):
        parts.append(f"{plural(skipped, 'byte')} {'was' if skipped == 1 else 'were'} skipped")
    return "; ".join([*parts, *(str(text) for text in info.get("lost") or ())])


def unsure_sentence(info: dict[str, Any]) -> str:
    """Return a text about uncertain times on a tape. Empty if all times are certain."""
    return "; ".join(describe(kind, n) for kind, n in info["problems"].items() if kind in UNSURE)


def exit_code(info: dict[str, Any]) -> int:
    """Return the exit code of a capture. INCOMPLETE: input is missing on the tape, or times are uncertain."""
    return ExitCode.INCOMPLETE if lost_sentence(info) or unsure_sentence(info) else ExitCode.SUCCESS


def say_tape(output: Path, info: dict[str, Any]) -> None:
    """Print the contents of a new tape and its missing input."""
    from ..capture.finish import position_sentence
    from ..schemas import Folder

    counts = info["counts"]
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in info["problems"].items())
    sizes = [plural(counts[f"{word}s"], word) for word in ("event", "session", "digest", "problem")]
    click.echo(f"{shown_path(output)}: {', '.join(sizes)}{f' ({kinds})' if kinds else ''}")
    if losses := lost_sentence(info):
        click.echo(f"  NOT ALL OF THE INPUT IS ON THE TAPE: {losses}")
    if unsure := unsure_sentence(info):
        click.echo(f"  NOT ALL TIMES ON THE TAPE ARE CERTAIN: {unsure}")
    if told := [kind for kind in info["problems"] if is_loss(kind) or kind in UNSURE]:
        first = 'QUALIFY row_number() OVER (PARTITION BY kind ORDER BY file, line, "offset") = 1 ORDER BY kind'
        listed = ", ".join(f"'{kind}'" for kind in told)
        for line in problems(Folder("tape", output, info), f"kind IN ({listed}) {first}"):
            click.echo(f"    first: {line}")
    lasted = seconds(info["last_ns"] - info["first_ns"])
    click.echo(f"  from {utc_time(info['first_ns'])} to {utc_time(info['last_ns'])} UTC ({lasted})")
    if late := position_sentence(info.get("server"), info["first_ns"]):
        click.echo(f"  {late}")
    for note in info.get("notes", []):
        click.echo(printable(f"  {note}"))
    for warning in info["warnings"]:
        click.echo(f"  partial tape: {warning['text']}")
    if info["warnings"]:
        click.echo("  a replay requires --partial-ok")


def readable_tape(path: Path) -> Path:
    """Complete a tape like complete_tape, or return a snapshot if its capture is still running.

    The snapshot is removed at the end of the command.
    """
    if not is_held(path):
        complete_tape(path)
        return path
    from ..capture.tools.snapshot import snapshot_of

    click.echo(f"{path}: the capture is still running. The output covers the events published so far", err=True)
    return click.get_current_context().with_resource(snapshot_of(path))


def complete_tape(path: Path) -> None:
    """Complete a tape whose capture was killed, and print a message. A finished tape is not changed.

    Raises InputError if the capture is still running.
    """
    from ..capture import recover
    from ..schemas import open_folder

    if is_held(path):
        raise InputError(
            f"{path}: the capture is still running. Cut a part out of the tape first: `querytape tape cut {path}"
            " --last 20m -o piece.tape`"
        )
    tape = open_folder("tape", path)
    if tape.finished:
        return
    info = recover(path)
    if address := address_of(path):
        found = plural(info["counts"]["events"], "event")
        click.echo(
            f"{address}: the capture is still running, or it was killed. The store has {found} so far",
            err=True,
        )
        return
    click.echo(f"{path}: the capture was killed. Recovered {plural(info['counts']['events'], 'event')}", err=True)


def console(err: bool = False) -> "Console":
    """Return the console on which reports are printed. `err`: use stderr.

    The console is as wide as the terminal, or has 80 columns in a pipe or file.
    """
    from rich.console import Console

    return Console(width=None if Console(stderr=err).is_terminal else COLUMNS, highlight=False, stderr=err)
