# SPDX-License-Identifier: Apache-2.0
"""Line charts as inline SVG: both runs overlaid on one time axis, with units, readable in light and dark."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from math import floor, log10

WIDTH, HEIGHT = 720, 190
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 26


@dataclass(frozen=True)
class Series:
    """One run's line: points (x, y) in order of x; y None is a gap."""

    name: str
    css: str
    points: list[tuple[float, float | None]]


def ticks(top: float, about: int = 4) -> list[float]:
    """Return round numbers from 0 to just above `top`."""
    if top <= 0:
        return [0.0, 1.0]
    raw = top / about
    size = 10.0 ** floor(log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    found = [0.0]
    while found[-1] < top:
        found.append(round(found[-1] + step, 12))
    return found


def label(value: float) -> str:
    """Return a tick's text: 0, 12, 0.5, 12k."""
    if value >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}"


def line_chart(title: str, unit: str, series: list[Series], axis: str = "s", over: str = "time") -> str:
    """Return one chart as an `<svg>` element. x is in seconds from the run's start, or what `axis` and `over` say."""
    xs = [x for line in series for x, _ in line.points]
    ys = [y for line in series for _, y in line.points if y is not None]
    if not xs or not ys:
        return f"<p class='none'>{escape(title)}: nothing to draw.</p>"
    y_ticks = ticks(max(ys))
    x_ticks = ticks(max(max(xs), 1e-9), 8)
    x_top, y_top = max(max(xs), 1e-9), y_ticks[-1] or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (WIDTH - LEFT - RIGHT) * x / x_top,
            HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / y_top,
        )

    parts = [
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' role='img' class='chart'>",
        f"<title>{escape(title)} ({escape(unit)}) over {escape(over)}</title>",
    ]
    for value in y_ticks:
        _, y = at(0, value)
        parts.append(f"<line class='grid' x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y:.1f}' y2='{y:.1f}'/>")
        parts.append(f"<text class='y' x='{LEFT - 6}' y='{y + 3.5:.1f}'>{label(value)}</text>")
    for value in x_ticks:
        if value <= x_top:
            x, _ = at(value, 0)
            parts.append(f"<text class='x' x='{x:.1f}' y='{HEIGHT - 8}'>{label(value)}{escape(axis)}</text>")
    for line in series:
        parts += _path(line, at, axis)
    parts.append("</svg>")
    return "".join(parts)


def _path(line: Series, at: Callable[[float, float], tuple[float, float]], axis: str) -> list[str]:
    """Return a series as a path broken at gaps, and a dot with a tooltip for each point."""
    steps, dots, pen = [], [], "M"
    for x, y in line.points:
        if y is None:
            pen = "M"
            continue
        px, py = at(x, y)
        steps.append(f"{pen}{px:.1f} {py:.1f}")
        pen = "L"
        tip = f"{line.name}: {y:,.3g} at {x:g} {axis}".rstrip()
        dots.append(
            f"<circle class='{line.css}' cx='{px:.1f}' cy='{py:.1f}' r='2.4'><title>{escape(tip)}</title></circle>"
        )
    return [f"<path class='{line.css}' d='{' '.join(steps)}'/>", *dots]
