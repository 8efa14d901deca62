# SPDX-License-Identifier: Apache-2.0
"""Show the report of a plans folder on a terminal of 80 columns, as Markdown or as JSON."""

import json
from typing import Any

from rich.console import Console

from ...common.staged import shown_path
from ...common.text import printable
from ...common.units import count, plural
from ...schemas.json_shapes import ServerInfo
from ..database import Row
from ..findings.plans import FAILS, SAME, SCAN, accesses, cost_text, measured, measured_text
from ..findings.slower import work_sentence
from ..plans_report import DigestPlans, PlansReport, servers_of
from ..view import differences_of
from .answer_text import show_servers
from .text_table import print_title, safe

PLANS_VERSION = 1
ENTRY = (
    "digest",
    "class",
    "text",
    "events",
    "tape_ns",
    "share",
    "tables",
    "changes",
    "server_digest",
    "samples",
    "differing",
)
TEXT_WIDTH = 74
MAX_CHANGES = 4
MAX_ROWS = 200


def headline_of(report: PlansReport) -> str:
    """Return the answer as a sentence: the number of digests with different plans and their share of the time."""
    changed, every = report.changed, len(report.digests)
    known = report.counts.get(SAME, 0) + len(changed)
    if not known:
        return "Inconclusive: no statement could be explained on both servers."
    if not changed:
        same = "plan of 1 digest is" if known == 1 else f"plans of {count(known)} digests are"
        return f"The {same} the same{_unknown(every - known)}."
    share = sum(entry["share"] for entry in changed)
    have = "has a different plan" if len(changed) == 1 else "have different plans"
    return (
        f"{count(len(changed))} of {plural(every, 'digest')} {have}"
        f" in B ({share:.0%} of the tape's time){_unknown(every - known)}."
    )


def _unknown(digests: int) -> str:
    return f", {count(digests)} {'is' if digests == 1 else 'are'} inconclusive" if digests else ""


def show_plans(report: PlansReport, console: Console, top: int = 10) -> None:
    """Print the report with at most `top` digests."""
    console.print(f"[bold]{safe(shown_path(report.tape.path))}[/]")
    for side, server in servers_of(report.folder).items():
        console.print(f"  {side.upper()}: {safe(server.get('name'))}, {safe(server.get('version'))}")
    show_servers(differences_of(report.servers), console)
    console.print(f"\n[bold]{safe(headline_of(report))}[/]")
    counts = ", ".join(f"{n:,} {word}" for word, n in report.counts.items())
    console.print(f"[dim]digests:[/] {counts or 'none'}")
    for text in report.limits:
        console.print(f"[yellow]warning:[/] {safe(text, 400)}")
    if report.changed:
        print_title(console, "Statements with different plans, by time on the tape")
    for entry in report.changed[:top]:
        style = "red" if entry["class"] in (FAILS, SCAN) else "yellow"
        console.print(
            f"[{style}]{entry['class']}[/]  {entry['share']:.1%} of the time{', '.join(['', *numbers_of(entry)])}"
        )
        console.print(f"  [dim]{safe(entry['text'], TEXT_WIDTH)}[/]", no_wrap=True)
        for text in entry["changes"][:MAX_CHANGES]:
            console.print(f"  {safe(text, 160)}")
    _show_hidden(len(report.changed) - top, console)
    if report.other_work:
        print_title(console, "Statements with the same plans but different counters")
    for entry, text in report.other_work[:top]:
        console.print(f"  [dim]{safe(entry['text'], TEXT_WIDTH)}[/]", no_wrap=True)
        console.print(f"  {safe(text)}")
    _show_hidden(len(report.other_work) - top, console)


def _show_hidden(hidden: int, console: Console) -> None:
    if hidden > 0:
        console.print(f"[dim]... {hidden:,} more (use --top N, --html or --json)[/]")


def numbers_of(entry: DigestPlans) -> list[str]:
    """Return the cost estimates of both optimizers and the measurements of ANALYZE, if known."""
    cost = cost_text(entry["a"].get("json"), entry["b"].get("json"))
    took = measured_text(entry["a"].get("analyze"), entry["b"].get("analyze"))
    return [text for text in (cost, took) if text]


def plans_dict(report: PlansReport, samples: bool = False) -> dict[str, Any]:
    """Return the report as plain values.

    Whole plans and messages are included only with `samples`, because they contain literals.
    """
    return {
        "plans_version": PLANS_VERSION,
        "tape": shown_path(report.tape.path),
        "headline": headline_of(report),
        "servers": {
            "differences": [each.row() for each in report.servers.differences],
            "problem": report.servers.problem,
        },
        "targets": {side: _target(server) for side, server in servers_of(report.folder).items()},
        "classes": report.counts,
        "limits": report.limits,
        "digests": [_entry(entry, samples) for entry in report.digests],
    }


def _target(server: ServerInfo) -> Row:
    return {
        "name": server.get("name"),
        "version": server.get("version"),
        "version_comment": server.get("version_comment"),
    }


def _entry(entry: DigestPlans, samples: bool) -> Row:
    shown: Row = {name: entry.get(name) for name in ENTRY}
    shown["work"] = work_sentence(entry) or None
    sides = {"a": entry["a"], "b": entry["b"]}
    shown["measured_ms"] = {side: measured(plan.get("analyze"))[0] for side, plan in sides.items()}
    for side, plan in sides.items():
        shown[side] = plan if samples else [vars(access) for access in accesses(plan.get("json", ""))]
    return shown


def plans_json(report: PlansReport, samples: bool = False) -> str:
    """Return the report as a JSON text."""
    return json.dumps(plans_dict(report, samples), indent=1, ensure_ascii=False, default=str) + "\n"


def plans_markdown(report: PlansReport) -> str:
    """Return the report as Markdown."""
    lines = [f"# Query plans: {_text(report.tape.path.name)}", ""]
    lines += [f"- {_text(each.text)}" for each in report.servers.shown[:MAX_ROWS]]
    lines += ["", f"**{_text(headline_of(report))}**", ""]
    lines += [f"- warning: {_text(text)}" for text in report.limits]
    lines += ["| plans | statement | share of the time | what differs |", "|---|---|--:|---|"]
    for entry in report.changed[:MAX_ROWS]:
        code = printable(entry["text"], 90).replace("`", "'").replace("|", "\\|")
        texts = "; ".join(_text(text) for text in entry["changes"][:MAX_CHANGES])
        lines.append(f"| {entry['class']} | `{code}` | {entry['share']:.1%} | {texts} |")
    for entry, text in report.other_work[:MAX_ROWS]:
        code = printable(entry["text"], 90).replace("`", "'").replace("|", "\\|")
        lines += ["", f"- `{code}`: {_text(text)}"]
    same = report.counts.get(SAME, 0)
    return "\n".join([*lines, "", f"Same plans: {plural(same, 'digest')}."]) + "\n"


def _text(value: object) -> str:
    """Return a text escaped for Markdown and for HTML made from it."""
    shown = printable(str(value or ""))
    for sign in "\\`*_[]|#":
        shown = shown.replace(sign, "\\" + sign)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
