# SPDX-License-Identifier: Apache-2.0
"""Show the findings of `querytape lint` on a terminal of 80 columns, or as JSON."""

import json
import textwrap
from typing import Any, Literal, get_args

from rich.console import Console
from rich.markup import escape

from ...common.staged import shown_path
from ...common.text import printable
from ...common.units import count, duration, percent
from ..lint.check import Finding, LintResult
from ..lint.rules import EFFECTS
from .text_table import TEXT_WIDTH

DigestColumn = Literal["digest", "events", "duration_ns", "normalized"]
DIGEST_COLUMNS: tuple[DigestColumn, ...] = get_args(DigestColumn)
TITLES = {
    "fails": ("Fails", "red"),
    "changes": ("May return different results", "yellow"),
    "deprecated": ("Deprecated: still works", "dim"),
}


def show_lint(result: LintResult, console: Console, top: int) -> None:
    """Print the answer, the statements that were not checked, and each rule with its `top` costliest statements."""
    source = result.source or "an unknown version"
    console.print(f"May this traffic move from {source} to {result.target}?")
    console.print(_answer(result))
    succeeded = "" if result.outcome_unknown else " that succeeded"
    console.print(
        f"  {_number(result.digests, 'digest')}, {_number(result.statements, 'statement')}{succeeded};"
        f" {_number(result.rules, 'rule')}"
    )
    for sentence in limits(result):
        _wrapped(console, sentence, "  ", "yellow")
    for effect in EFFECTS:
        if findings := result.of(effect):
            title, style = TITLES[effect]
            console.print(f"\n[bold {style}]{title}[/] ({_number(result.count(effect), 'digest')})")
            for finding in findings:
                _finding(result, finding, console, top)


def limits(result: LintResult) -> list[str]:
    """Return sentences on the statements that were not checked and on assumptions."""
    found = []
    if result.source is None:
        found.append(
            "The tape does not contain the version of its server, so every rule was applied. Set the version with"
            " --from, for example --from mysql-5.7."
        )
    for version in (result.target, result.source):
        if version is not None and version.known is not None:
            found.append(
                f"The rules cover versions up to {version.known}. Changes between {version.known} and {version} are not"
                " checked."
            )
    if result.not_read:
        found.append(f"Not checked: {_number(result.not_read, 'digest')} without a sample.")
    if result.cut:
        found.append(f"Checked in part: {_number(result.cut, 'digest')} with a truncated sample.")
    if result.outcome_unknown:
        every = result.outcome_unknown == result.statements
        which = "the statements" if every else _number(result.outcome_unknown, "statement")
        found.append(f"The tape does not record whether {which} failed, so failed statements are counted as well.")
    if result.time_ns is None:
        found.append("The tape has no durations, so percentages refer to the number of statements.")
    return found


def lint_json(result: LintResult) -> str:
    """Return the whole result as JSON."""
    shown: dict[str, Any] = {
        "tape": shown_path(result.tape.path),
        "from": str(result.source) if result.source else None,
        "to": str(result.target),
        "rules": result.rules,
        "digests": result.digests,
        "statements": result.statements,
        "outcome_unknown": result.outcome_unknown,
        "duration_ns": result.time_ns,
        "not_read": result.not_read,
        "cut": result.cut,
        "limits": limits(result),
        "counts": {effect: result.count(effect) for effect in EFFECTS},
        "findings": [
            {
                "rule": finding.rule.name,
                "effect": finding.rule.effect,
                "advice": finding.rule.advice,
                "manual": finding.rule.manual,
                "events": finding.events,
                "duration_ns": finding.duration_ns,
                "digests": [{name: row[name] for name in DIGEST_COLUMNS} for row in finding.digests],
            }
            for finding in result.findings
        ],
    }
    return json.dumps(shown, indent=1, ensure_ascii=False) + "\n"


def _answer(result: LintResult) -> str:
    fails, changes = result.count("fails"), result.count("changes")
    if fails:
        return f"[bold red]No: {_number(fails, 'digest')} will fail on {result.target}.[/]"
    if changes:
        return f"[bold yellow]Check first: {_number(changes, 'digest')} may return different results.[/]"
    if result.target.known is not None:
        known = result.target.known
        return f"[bold yellow]Inconclusive: the rules cover versions up to {known}.[/] Replay the tape to find out."
    return "[bold green]No rule matches this traffic.[/] Replay the tape to be sure."


def _finding(result: LintResult, finding: Finding, console: Console, top: int) -> None:
    digests = f"{len(finding.digests):,} digest{'s' if len(finding.digests) > 1 else ''}"
    console.print(
        f"  [bold]{finding.rule.name}[/]  {digests}, {_number(finding.events, 'statement')}, {_share(result, finding)}"
    )
    _wrapped(console, finding.rule.advice, "    ")
    _wrapped(console, finding.rule.manual, "    ", "dim")
    for row in finding.digests[:top]:
        time = "" if row["duration_ns"] is None else f" {duration(row['duration_ns'])}"
        console.print(f"    {row['digest']} {count(row['events'])}x{time}", no_wrap=True)
        console.print(f"      [dim]{escape(printable(row['normalized'], TEXT_WIDTH - 4))}[/]", no_wrap=True)
    if len(finding.digests) > top:
        console.print(f"    ... {len(finding.digests) - top:,} more (use --json)")


def _wrapped(console: Console, text: str, indent: str, style: str | None = None) -> None:
    """Print a sentence in lines that begin with an indent."""
    for line in textwrap.wrap(text, console.width, initial_indent=indent, subsequent_indent=indent):
        console.print(escape(line), style=style, no_wrap=True)


def _number(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _share(result: LintResult, finding: Finding) -> str:
    if result.time_ns and finding.duration_ns is not None:
        return f"{percent(finding.duration_ns, result.time_ns)} of the time"
    return f"{percent(finding.events, result.statements)} of the statements"
