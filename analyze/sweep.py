# SPDX-License-Identifier: Apache-2.0
"""Throughput and latency of one workload at growing concurrency: a level from each run, and a page with both drawn."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..schemas import open_folder
from .charts import Series, line_chart
from .questions import open_desk

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "svg{width:100%;height:auto}svg text{font-size:11px;fill:currentColor}text.y{text-anchor:end}"
    "text.x{text-anchor:middle}"
    ".grid{stroke:currentColor;opacity:.15}path{fill:none;stroke-width:1.6}.line-a{stroke:#2a6fdb;fill:#2a6fdb}"
    ".line-b{stroke:#d9480f;fill:#d9480f}path.line-a,path.line-b{fill:none}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:right}"
)


@dataclass(frozen=True)
class Level:
    """One level: so many sessions at once, and what they did. Times in nanoseconds."""

    sessions: int
    statements: int
    errors: int
    elapsed_ns: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None

    @property
    def per_second(self) -> float:
        """Statements a second."""
        return self.statements / max(self.elapsed_ns / 1e9, 1e-9)


def measure(run: Path, sessions: int) -> Level:
    """Return what a run came to."""
    desk = open_desk()
    try:
        desk.con.execute(f"CREATE VIEW run_outcomes AS FROM {open_folder('run', run).source('outcomes')}")
        (row,) = desk.ask("sweep")
    finally:
        desk.close()
    return Level(
        sessions, **{name: value if value is not None or name.startswith("p") else 0 for name, value in row.items()}
    )


def page(title: str, levels: list[Level]) -> str:
    """Return the levels as one HTML page that opens from disk."""
    throughput = Series("statements/s", "line-a", [(level.sessions, level.per_second) for level in levels])
    middle = Series("p50", "line-a", [(level.sessions, _ms(level.p50_ns)) for level in levels])
    tail = Series("p99", "line-b", [(level.sessions, _ms(level.p99_ns)) for level in levels])
    rows = "".join(
        f"<tr><td>{level.sessions:,}</td><td>{level.per_second:,.0f}</td>"
        + "".join(
            f"<td>{'-' if ns is None else f'{ns / 1e6:,.2f}'}</td>" for ns in (level.p50_ns, level.p95_ns, level.p99_ns)
        )
        + f"<td>{level.errors:,}</td></tr>"
        for level in levels
    )
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>"
        f"<h1>{escape(title)}</h1><h2>Statements a second, by sessions at once</h2>"
        f"{line_chart('Throughput', 'statements/s', [throughput], axis='', over='sessions at once')}"
        "<h2>Service time in ms: <span style='color:#2a6fdb'>p50</span> and <span style='color:#d9480f'>p99</span>"
        "</h2>"
        f"{line_chart('Service time', 'ms', [middle, tail], axis='', over='sessions at once')}"
        "<table><tr><th>sessions</th><th>statements/s</th><th>p50 ms</th><th>p95 ms</th><th>p99 ms</th>"
        "<th>errors</th></tr>"
        f"{rows}</table></html>\n"
    )


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6
