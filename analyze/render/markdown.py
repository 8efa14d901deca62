# SPDX-License-Identifier: Apache-2.0
"""Write a report as Markdown for a pull request: headline, limits, changed statements, totals."""

from ...common.text import printable
from ...common.units import count, duration
from ..model import DigestEntry, Report, sides_of
from ..verdicts.verdict import ERRORS, SAME, SLOWER
from ..view import Differences, View, view_of
from .error_rows import apart, error_rows
from .totals import totals

MAX_ROWS = 20
TASK_TEXTS = 3
MAX_DIFFERENCES = 12
TEXT_SHOWN = 140


def as_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    lines = [f"# {_text(report.tape.path.name)}", ""]
    view = view_of(report)
    for run in view.runs:
        lines.append(f"- **{run.letter}** {_text(run.name)}: {_text(run.target)}, {_text(run.version)}")
    lines += _servers(view.differences)
    if view.cache:
        lines += ["", f"**{_text(view.cache)}**"]
    if view.answer:
        lines += ["", _text(view.question), "", f"**{_text(view.answer.text)}**", *_parts(view)]
        lines += ["", *(f"- {_text(note)}" for note in view.answer_notes)] if view.answer_notes else []
        lines += _to_do(report, view)
    lines.append("")
    lines += [f"- {finding.severity}: {_text(finding.text)}" for finding in report.trust]
    lines += [f"- {observation.run.upper()} {_text(observation.text)}" for observation in report.over_time]
    if report.compares:
        lines += [*_digests(report), *_errors(report)]
    lines += _totals(report)
    return "\n".join(lines) + "\n"


def _servers(differences: Differences) -> list[str]:
    """Return the differences of the servers, for the place above the answer."""
    hidden = max(len(differences.shown) - MAX_DIFFERENCES, 0) + differences.more
    rows = [f"- {_text(said.text)}" for said in differences.shown[:MAX_DIFFERENCES]]
    rows += [
        f"- and {hidden:,} more differences" if hidden else "",
        f"- {_text(differences.problem)}" if differences.problem else "",
    ]
    shown = [row for row in rows if row]
    return ["", "**The servers differ:**", "", *shown] if shown else []


def _parts(view: View) -> list[str]:
    """Return the parts of the answer, each with its shares."""
    return ["", *(f"- **{part.name}**: {part.said}" for part in view.parts)]


def _to_do(report: Report, view: View) -> list[str]:
    """Return the tasks by cause, each with its first statements."""
    texts = {entry["digest"]: entry["text"] for entry in report.digests}
    lines = []
    for task in view.tasks[:MAX_ROWS]:
        shown = [_code(printable(texts.get(digest) or "", TEXT_SHOWN)) for digest in task.shown[:TASK_TEXTS]]
        lines += [f"1. {_text(task.said)}", *(f"   - `{text}`" for text in shown)]
    return ["", "## What to do", "", *lines] if lines else []


def _digests(report: Report) -> list[str]:
    shown = [entry for entry in report.digests if entry["verdict"] != SAME][:MAX_ROWS]
    if not shown:
        return ["", "No statement changed."]
    lines = [
        "",
        "## Statements that changed or may have changed",
        "",
        "| verdict | statement | n | p50 A | p50 B | lost |",
    ]
    return [
        *lines,
        "|---|---|--:|--:|--:|--:|",
        *map(_digest_row, shown, apart([entry["text"] for entry in shown], TEXT_SHOWN)),
    ]


def _digest_row(entry: DigestEntry, text: str) -> str:
    (a, b), pair = sides_of(entry), entry["pair"]
    word = f"**{entry['verdict']}**" if entry["verdict"] in (SLOWER, ERRORS) else entry["verdict"]
    cells = [
        f"{word}: {_text(entry['why'])}{f'; {_text(note)}' if (note := entry['note']) else ''}",
        f"`{_code(text)}`",
        count(b.get("n")),
        duration(a.get("p50_ns")),
        duration(b.get("p50_ns")),
        duration(pair["lost_ns"] if pair else None),
    ]
    return f"| {' | '.join(cells)} |"


def _errors(report: Report) -> list[str]:
    rows = [row for row in error_rows(report, TEXT_SHOWN) if row.is_new][:MAX_ROWS]
    if not rows:
        return []
    heads = "".join(f" {name} |" for name in rows[0].failed)
    lines = [
        "",
        "## Errors",
        "",
        f"| compared with A | error | statement |{heads}",
        f"|---|---|---|{'--:|' * len(rows[0].failed)}",
    ]
    for row in rows:
        cells = "".join(f" {'unknown' if n is None else count(n)} |" for n in row.failed.values())
        lines.append(f"| {row.what} | {_text(row.error)} | `{_code(row.statement)}` ({row.first}) |{cells}")
    return lines


def _totals(report: Report) -> list[str]:
    heads = ["A", "B", "B / A"] if report.compares else ["A"]
    lines = ["", "## Totals", "", f"| | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for total in totals(report):
        cells = [*total.cells, total.ratio] if report.compares else total.cells
        lines.append(f"| {total.name} | {' | '.join(cells)} |")
    return lines


def _text(value: object) -> str:
    """Return a text escaped for Markdown and for HTML made from it."""
    shown = printable(str(value or ""))
    for sign in "\\`*_[]|#":
        shown = shown.replace(sign, "\\" + sign)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return text.replace("`", "'").replace("|", "\\|")
