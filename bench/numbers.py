# SPDX-License-Identifier: Apache-2.0
"""Writes the figures of bench/out/*.json into docs/numbers.md, and draws the chart of the cost per event.

`make numbers` runs this module.
"""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import vl_convert

from .run import HERE

DOCS = HERE.parent / "docs"
BEGIN, END = "<!-- make numbers: begin -->", "<!-- make numbers: end -->"
COST, COST_BEGIN, COST_END = "capture_cost", "<!-- capture cost: begin -->", "<!-- capture cost: end -->"
COST_TITLE = re.compile(r"(?P<way>[^:]+): (?P<load>.+) on (?P<server>.+), \d+ connections")
GROWTH = "Cost of an event as the work grows: "
MAX_GROWTH = 1.10  # maximum growth of the cost per event from the middle size to the largest


def main() -> int:
    """Write the page and the chart. Return 1 if no bench was run."""
    kept = [json.loads(path.read_text(encoding="utf-8")) | {"name": path.stem} for path in sorted(out_files())]
    if not kept:
        print("bench/out is empty: run `make bench` first", file=sys.stderr)
        return 1
    parts = [bench_text(bench) for bench in kept if bench["name"] != COST]
    points = [point for bench in kept for point in growth_points(bench)]
    if points:
        (DOCS / "growth.svg").write_text(vl_convert.vegalite_to_svg(growth_chart(points)) + "\n", encoding="utf-8")
        parts.append("### Cost of an event as the work grows\n\n![CPU of an event at three sizes](growth.svg)\n")
        if ways := not_linear(points):
            parts.append(f"**Not linear within a tenth: {', '.join(ways)}.**\n")
    page = DOCS / "numbers.md"
    text = page.read_text(encoding="utf-8")
    for bench in kept:
        if bench["name"] == COST:
            text = between(text, cost_table(bench), COST_BEGIN, COST_END)
    if parts:
        text = between(text, "\n".join(parts))
    page.write_text(text, encoding="utf-8")
    print(f"docs/numbers.md has the figures of {', '.join(bench['name'] for bench in kept)}")
    return 0


def out_files() -> list[Path]:
    """Return the result files of the benches."""
    return list((HERE / "out").glob("*.json"))


def between(page: str, text: str, begin: str = BEGIN, end: str = END) -> str:
    """Return the page with `text` between the two marks. Raises ValueError if the page has no marks."""
    before, mark, rest = page.partition(begin)
    _, closing, after = rest.partition(end)
    if not mark or not closing:
        raise ValueError(f"docs/numbers.md lacks {begin} or {end}")
    return f"{before}{begin}\n\n{text}\n{end}{after}"


def cost_table(bench: dict[str, Any]) -> str:
    """Return one table with the cost of each capture method.

    A cell has the median. Cells of ratios also have the minimum and the maximum.
    """
    rows = ["| captured by | load | server | throughput | p99, ms | CPU |", "|---|---|---|--:|--:|--:|"]
    for pair in bench["pairs"]:
        title = COST_TITLE.fullmatch(pair["title"])
        if title is None:
            raise ValueError(f"capture-cost: a title that is none of its own: {pair['title']!r}")
        ours, theirs = pair["ours"]["rounds"], pair["peer"]["rounds"]

        def ratio(key: str, ours: list[Any] = ours, theirs: list[Any] = theirs) -> str:
            return spread([a[key] / b[key] for a, b in zip(ours, theirs, strict=True)])

        p99 = " / ".join(short(median(row["p99 ms"] for row in rounds)) for rounds in (ours, theirs))
        cells = [*title.groups(), ratio("queries/s"), p99, ratio("CPU us/query")]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, "", f"{machine_line(bench)}\n"])


def bench_text(bench: dict[str, Any]) -> str:
    """Return one bench as Markdown: machine, versions, and each pair with its commands, figures and intervals."""
    name = bench["name"].replace("_", "-")
    lines = [f"### `make bench only={name}`\n"]
    lines.append(f"{machine_line(bench)}\n")
    return "\n".join(lines + [line for pair in bench["pairs"] for line in pair_lines(pair)])


def machine_line(bench: dict[str, Any]) -> str:
    """Return a line with date, versions, machine and number of rounds of a measurement."""
    machine = bench["machine"]
    version = f"querytape {bench['version']}, " if "version" in bench else ""
    return (
        f"{bench['at'][:10]}; {version}{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']},"
        f" load {machine['load']:.1f} before; {bench['rounds']} rounds."
    )


def pair_lines(pair: dict[str, Any]) -> list[str]:
    """Return a pair's title, commands and table. A cell has the median, then the minimum and maximum in brackets."""
    ours, peer = pair["ours"], pair["peer"]
    lines = [f"**{pair['title']}**\n", f"- {ours['name']}: `{plain(ours['command'])}`"]
    lines += [f"- {peer['name']}: `{plain(peer['command'])}`"] if peer else []
    heads = ["figure", ours["name"], *([peer["name"], "ratio"] if peer else [])]
    lines += ["", f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}"]
    for key in ours["rounds"][0]:
        cells = [key, spread([row[key] for row in ours["rounds"]])]
        if peer:
            theirs = [row[key] for row in peer["rounds"] if key in row]
            both = zip((row[key] for row in ours["rounds"]), theirs, strict=False)
            cells.append(spread(theirs) if theirs else "")
            cells.append(spread([a / b for a, b in both if b]) if theirs else "")
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", *([f"{pair['note']}\n"] if pair.get("note") else [])]


def plain(command: str) -> str:
    """Return a command without the folders and ports of its run."""
    return re.sub(
        r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", re.sub(r"\S*/(?:tmp|qt-bench)[^\s/]*/(?:[^\s/]+/)*", "", command)
    )


def spread(values: list[float]) -> str:
    """Return the median of the values with their minimum and maximum."""
    if not values:
        return ""
    middle, low, high = (short(value) for value in (median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low} - {high})"


def short(value: float) -> str:
    """Return a number with three significant digits. A longer integer part keeps all its digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def growth_points(bench: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one point for each command and size of the bench `growth`."""
    return [
        {"way": pair["ours"]["name"], "events": int(key.removeprefix("us at ").replace(",", "")), "us": us}
        for pair in bench["pairs"]
        if pair["title"].startswith(GROWTH)
        for key, us in pair["medians"]["ours"].items()
        if key.startswith("us at ")
    ]


def not_linear(points: list[dict[str, Any]]) -> list[str]:
    """Return the commands whose cost per event grows by over 10 % from the middle size to the largest."""
    ways: dict[str, list[tuple[int, float]]] = {}
    for point in points:
        ways.setdefault(point["way"], []).append((point["events"], point["us"]))
    last = {way: list(pairwise(sorted(sizes)))[-1] for way, sizes in ways.items() if len(sizes) > 1}
    return [way for way, ((_, before), (_, after)) in last.items() if after > MAX_GROWTH * before]


def growth_chart(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the Vega-Lite chart of CPU time per event against the number of events.

    Both axes are logarithmic. Each command has a line.
    """
    axis = {"type": "quantitative", "scale": {"type": "log"}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "width": 480,
        "height": 260,
        "data": {"values": points},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "events", "title": "events", **axis},
            "y": {"field": "us", "title": "CPU of an event, us", **axis},
            "color": {"field": "way", "type": "nominal", "title": "way"},
        },
    }


if __name__ == "__main__":
    sys.exit(main())
