# SPDX-License-Identifier: Apache-2.0
"""The report as Markdown, for a pull request: the verdict, what stops it, totals."""

from typing import Any

from .headline import headline
from .masking import printable
from .numbers import count, duration, ratio
from .report import Report
from .terminal import TOTALS
from .verdict import ERRORS, SAME, SLOWER

SHOWN = 20
TEXT_SHOWN = 90


def as_markdown(report: Report) -> str:
    """Return the whole text."""
    lines = [f"# {_text(report.tape.path.name)}", ""]
    for letter, run in zip("AB", report.runs, strict=False):
        target = run.info.get("target", {})
        lines.append(
            f"- **{letter}** {_text(run.path.name)}: {_text(target.get('name'))}, {_text(target.get('version'))}"
        )
    found = headline(report)
    if found:
        lines += ["", f"**{_text(found[1])}**"]
    lines.append("")
    lines += [f"- {level}: {_text(sentence)}" for level, sentence in report.trust]
    lines += [f"- {run.upper()} {_text(sentence)}" for run, sentence in report.course]
    if report.compares:
        lines += _verdicts(report)
    lines += _totals(report)
    return "\n".join(lines) + "\n"


def _verdicts(report: Report) -> list[str]:
    shown = [entry for entry in report.digests if entry["verdict"] != SAME][:SHOWN]
    lines = ["", "## Statements that changed, or may have", "", "| verdict | statement | n | p50 A | p50 B | lost |"]
    lines.append("|---|---|--:|--:|--:|--:|")
    for entry in shown:
        a, b, pair = entry["a"] or {}, entry["b"] or {}, entry["pair"] or {}
        word = f"**{entry['verdict']}**" if entry["verdict"] in (SLOWER, ERRORS) else entry["verdict"]
        cells = [
            f"{word}: {_text(entry['why'])}",
            f"`{_code(printable(entry['text'], TEXT_SHOWN))}`",
            count(b.get("n")),
            duration(a.get("p50_ns")),
            duration(b.get("p50_ns")),
            duration(pair.get("lost_ns")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    if not shown:
        lines = ["", "Every statement is the same."]
    errors = [row for row in report.answers["errors"] if row["what"] in ("new", "changed")]
    if errors:
        lines += ["", "## New errors", "", "| errno | message | events |", "|--:|---|--:|"]
        lines += [f"| {row['after']} | {_text(row['error'])} | {count(row['events'])} |" for row in errors[:SHOWN]]
    return lines


def _totals(report: Report) -> list[str]:
    rows = {row["run"]: row for row in report.answers["totals"]}
    sides = [rows.get(letter, {}) for letter in "ab"[: len(report.runs)]]
    heads = ["A", "B", "B / A"] if report.compares else ["A"]
    lines = ["", "## Totals", "", f"| | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for name, key, shown in TOTALS:
        values: list[Any] = [side.get(key) for side in sides]
        cells = [shown(value) for value in values]
        if report.compares:
            cells.append(ratio(values[1] / values[0]) if values[0] and values[1] and shown is duration else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _text(value: object) -> str:
    """Return a text that is nothing but text in Markdown and in the HTML that it may become."""
    shown = printable(str(value or ""))
    for sign in "\\`*_[]|#":
        shown = shown.replace(sign, "\\" + sign)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return text.replace("`", "'").replace("|", "\\|")
