# SPDX-License-Identifier: Apache-2.0
"""Lays out the state of a running replay for a terminal of any size. The layout never exceeds the columns or rows."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.text import Text

from ..common.text import printable
from ..common.units import clock, megabytes, plural, short_count, short_duration

SECONDS = 60  # length of a sparkline
MOST_DIGESTS, FEW_DIGESTS = 10, 2
MOST_WARNINGS = 3
BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.:-=+*#"
FULL, EMPTY = "━", "─"
LABELS = 19  # columns next to a sparkline: name, newest value, maximum, blanks


def _history() -> deque[int | None]:
    return deque(maxlen=SECONDS)


@dataclass
class Digest:
    """One of the slowest digests: text, number of answers, mean and total service time.

    `at_least`: values are lower bounds.
    """

    text: str
    count: int
    mean_ns: int
    total_ns: int
    at_least: bool = False


@dataclass
class Seen:
    """The known state of a run. Rates are per second, times in nanoseconds. The histories have one value per second.

    `heading` names the run and the target. `state` is the current state. It is empty during normal replay. `share` is
    the finished share of the run. `due` is the number of events whose time has come, None without a schedule. `order`
    is used with --order commit: the waits per second, and the number of waits that --order-bound has ended.
    """

    heading: str
    state: str = ""
    at_ns: int = 0
    share: float = 0.0
    eta_ns: int | None = None
    sent: int = 0
    planned: int = 0
    due: int | None = None
    not_sent: int = 0
    waiting: int = 0
    queued_bytes: int = 0
    sessions: int = 0
    rate: deque[int | None] = field(default_factory=_history)
    p95: deque[int | None] = field(default_factory=_history)
    errors: deque[int | None] = field(default_factory=_history)
    late: deque[int | None] = field(default_factory=_history)
    paced: bool = True
    order: tuple[int, int] | None = None
    slowest: Sequence[Digest] = ()
    warnings: Sequence[str] = ()


def frame(seen: Seen, columns: int, rows: int, ascii_only: bool = False) -> list[Text]:
    """Return at most `rows` lines of at most `columns` columns. The least important lines are omitted first."""
    lines = [
        Text(printable(seen.heading), style="bold"),
        _time_line(seen, columns, ascii_only),
        *([Text(seen.state, style="yellow")] if seen.state else []),
        _counts_line(seen, columns),
        *_histories(seen, columns, ascii_only),
        *([_order_line(*seen.order)] if seen.order is not None else []),
    ]
    warnings = _warnings(seen.warnings, min(MOST_WARNINGS, rows - len(lines)))
    room = rows - len(lines) - len(warnings)
    lines += _slowest(seen.slowest, columns, min(room - 1, MOST_DIGESTS), ascii_only)
    lines = [*lines, *warnings][: max(rows, 0)]
    for line in lines:
        if ascii_only:
            line.plain = line.plain.replace("µ", "u").encode("ascii", "replace").decode()
        line.truncate(max(columns, 1), overflow="ellipsis" if not ascii_only else "crop")
    return lines


def _time_line(seen: Seen, columns: int, ascii_only: bool) -> Text:
    left = "" if seen.eta_ns is None else f"  {clock(seen.eta_ns)} left"
    before, after = f"{clock(seen.at_ns)} ", f" {min(max(seen.share, 0.0), 1.0):4.0%}{left}"
    done, open_ = bar(seen.share, max(columns - len(before) - len(after), 0), ascii_only)
    return Text.assemble(before, (done, "green"), (open_, "bright_black"), after)


def _counts_line(seen: Seen, columns: int) -> Text:
    """Return the line of counts. Counts that do not fit are omitted."""
    parts = [
        (f"sent {seen.sent:,} of {seen.planned:,}", ""),
        ("", "") if seen.due is None else (f"due {seen.due:,}", ""),
        (f"not sent {seen.not_sent:,}", "red") if seen.not_sent else ("", ""),
        (plural(seen.sessions, "session"), ""),
        (f"queue {short_count(seen.waiting)} ({megabytes(seen.queued_bytes)})", ""),
    ]
    line = Text()
    for text, style in parts:
        gap = "   " if line.plain and text else ""
        if len(line.plain) + len(gap) + len(text) <= columns:
            line.append(gap + text, style)
    return line


def _histories(seen: Seen, columns: int, ascii_only: bool) -> list[Text]:
    width = min(SECONDS, columns - LABELS)
    title = f"last {min(width, SECONDS)} s".ljust(max(width, 0))
    lines = [Text(f"{'':>5} {'now':>5} {title} {'most':>5}", style="bright_black")]

    def row(name: str, values: Sequence[int | None], show: Callable[[int | None], str], bad: bool = False) -> None:
        shown = [value for value in list(values)[-width:] if value is not None] if width > 0 else []
        most = max(shown, default=None)
        newest = values[-1] if values else None
        line = Text(f"{name:<5} {show(newest):>5} ", style="red" if bad else "")
        line.append(sparkline(values, width, ascii_only), style="red" if bad else "cyan")
        line.append(f" {show(most):>5}")
        lines.append(line)

    def number(value: int | None) -> str:
        return "-" if value is None else short_count(value)

    row("q/s", seen.rate, number)
    row("p95", seen.p95, short_duration)
    row("err/s", seen.errors, number, bad=bool(seen.errors and seen.errors[-1]))
    if seen.paced:
        row("late", seen.late, short_duration)
    return lines


def _order_line(waits: int, broken: int) -> Text:
    return Text(
        f"commit order: {short_count(waits)} waits/s, {broken:,} waits ended by --order-bound",
        style="red" if broken else "",
    )


def _slowest(digests: Sequence[Digest], columns: int, room: int, ascii_only: bool) -> list[Text]:
    """Return a heading and up to `room` digests. Returns nothing if FEW_DIGESTS digests do not fit."""
    if not digests or room < min(FEW_DIGESTS, len(digests)):
        return []
    width = max(columns - 20, 10)
    lines = [Text(f"{'slowest so far':<{width}}  count  mean  total", style="bright_black")]
    for digest in list(digests)[:room]:
        line = Text(digest.text)
        line.truncate(width, overflow="crop" if ascii_only else "ellipsis", pad=True)
        total = ("≥" if digest.at_least and not ascii_only else ">" * digest.at_least) + short_duration(digest.total_ns)
        line.append(f"  {short_count(digest.count):>5} {short_duration(digest.mean_ns):>5} {total:>6}")
        lines.append(line)
    return lines


def _warnings(texts: Sequence[str], room: int) -> list[Text]:
    """Return up to `room` lines, the newest last. The number of omitted warnings is shown."""
    if room < 1 or not texts:
        return []
    if len(texts) <= room:
        return [Text(printable(f"warning: {text}"), style="yellow") for text in texts]
    hidden = len(texts) - room + 1
    return [Text(plural(hidden, "warning") + " above", style="yellow"), *_warnings(texts[hidden:], room - 1)]


def sparkline(values: Sequence[int | None], width: int, ascii_only: bool = False) -> str:
    """Return a sparkline of the last `width` values.

    The newest is at the right end. The maximum gets the highest block.

    None is a blank. Zero is the lowest block. Values above zero get a higher block.
    """
    levels = PLAIN if ascii_only else BLOCKS
    shown = list(values)[-width:] if width > 0 else []
    most = max((value for value in shown if value is not None), default=0)
    return "".join(" " if value is None else levels[_level(value, most, len(levels) - 1)] for value in shown).rjust(
        max(width, 0)
    )


def _level(value: int, most: int, highest: int) -> int:
    if value <= 0:
        return 0
    return max(1, (value * highest + most // 2) // most)


def bar(share: float, width: int, ascii_only: bool = False) -> tuple[str, str]:
    """Return the finished part and the open part of a bar."""
    done = int(min(max(share, 0.0), 1.0) * width)
    full, empty = ("#", "-") if ascii_only else (FULL, EMPTY)
    return full * done, empty * (width - done)
