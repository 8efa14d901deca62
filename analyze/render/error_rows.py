# SPDX-License-Identifier: Apache-2.0
"""Rows of the error tables for every output: error, side, number of events and statement."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ...common.units import count
from ..findings.errors import NEW_ERRORS, WORDS
from ..model import Report
from .explanations_text import wrapped
from .text_table import print_title

NO_TEXT = "(the tape has no text of this statement)"
HEAD_SHOWN, BEFORE_SHOWN = 30, 12  # shown characters of the common beginning, and before the first difference
NAME_WIDTH, CELL_WIDTH, STATEMENT_WIDTH = 47, 11, 220


class ErrorRow(NamedTuple):
    """Events of one digest that failed in the same way. `failed`: their number by column (tape, A, B). None: unknown.

    `error`: number and message of the judged side, or of the other side if the judged side has no error.
    """

    what: str
    is_new: bool
    digest: str | None
    statement: str
    error: str
    failed: dict[str, int | None]
    first: str


def error_rows(report: Report, most: int = 160) -> list[ErrorRow]:
    """Return the rows of errors.sql.

    Statements are cut to `most` characters so that different statements look different.
    """
    rows = report.answers["errors"]
    texts = {entry["digest"]: entry["text"] for entry in report.digests}
    shown = apart([texts.get(row["digest"] or "") or NO_TEXT for row in rows], most)
    found = []
    for row, statement in zip(rows, shown, strict=True):
        n, tape = row["events"], row["tape"]
        failed: dict[str, int | None] = {"tape": None if tape is None else n if tape else 0}
        failed |= {"A": n if row["before"] else 0} if report.compares else {}
        failed |= {"B" if report.compares else "run": n if row["after"] else 0}
        errno, message = row["after"] or row["before"], row["error"] or row["error_before"] or ""
        if row["before"] and row["after"] and row["before"] != row["after"]:
            message += f" ({row['before']} before)"
        first = f"session {row['first_session']}, event {row['first_seq']}"
        is_new = row["what"] in NEW_ERRORS
        found.append(
            ErrorRow(WORDS[row["what"]], is_new, row["digest"], statement, f"{errno} {message}", failed, first)
        )
    return found


def apart(texts: Sequence[str], most: int) -> list[str]:
    """Return texts cut to `most` characters. Texts with an equal beginning show the place where they differ."""
    shown = [printable(text, most) for text in texts]
    alike: dict[str, set[str]] = {}
    for text, cut in zip(texts, shown, strict=True):
        alike.setdefault(cut, set()).add(text)
    return [
        _parting(text, alike[cut], most) if len(alike[cut]) > 1 else cut for text, cut in zip(texts, shown, strict=True)
    ]


def _parting(text: str, others: Iterable[str], most: int) -> str:
    """Return the beginning of a text, and its part from the first difference to the other texts on."""
    begin = next((place for place, signs in enumerate(zip(*others, strict=False)) if len(set(signs)) > 1), len(text))
    return printable(f"{text[:HEAD_SHOWN]} ... {text[max(begin - BEFORE_SHOWN, HEAD_SHOWN) :]}", most)


def show_errors(report: Report, console: Console, top: int) -> None:
    """Print the section of errors on a terminal."""
    rows = error_rows(report, STATEMENT_WIDTH)
    if not rows:
        if not report.compares:
            events = sum(row["events"] for row in report.answers["error_counts"])
            known = "errno" in report.tape.tape_info.get("known_columns", [])
            reason = (
                "the same as on the tape" if known else "the tape does not record which statements failed originally"
            )
            print_title(console, "Errors", f"  {events:,} ({reason})")
        return
    heads = "".join(f"{name:>{CELL_WIDTH}}" for name in rows[0].failed)
    title = f"Errors, compared with {'A' if report.compares else 'the tape'}"
    print_title(console, f"{title:{NAME_WIDTH}}", f"[dim]{heads}[/]")
    for row in rows[:top]:
        cells = "".join(f"{count(n) if n is not None else 'unknown':>{CELL_WIDTH}}" for n in row.failed.values())
        style = "red" if row.is_new else "bold"
        name = f"{row.what}: error {row.error.partition(' ')[0]}"
        console.print(f"[{style}]{escape(f'{name:{NAME_WIDTH}}')}[/]{cells}", no_wrap=True, crop=False)
        for line in [*wrapped(row.error.partition(" ")[2], "  "), *wrapped(row.statement, "  ")]:
            console.print(f"[dim]{escape(line)}[/]", no_wrap=True, overflow="ignore", crop=False)
        console.print(f"[dim]    first: {row.first}; show its values with --show {row.digest}[/]", no_wrap=True)
    if len(rows) > top:
        console.print(f"[dim]... {len(rows) - top:,} more (use --top N, --html or --json)[/]")
