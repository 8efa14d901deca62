# SPDX-License-Identifier: Apache-2.0
"""Shows a run on a terminal, once per second: progress bar, sparklines of the last minute, slowest digests so far.

The view uses rich's Live in the lines below the earlier output. It uses no alternate screen, does not hide the cursor,
and does not change terminal settings. A killed program therefore leaves the terminal intact. The thread that handles
ticks draws the view, and gets totals from the engine. The view never reads single events.
"""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

import duckdb
from rich.console import Console, ConsoleDimensions, Group
from rich.control import Control
from rich.live import Live

from ..common.duck import small_database
from ..common.text import printable
from ..common.units import NS_PER_SECOND, plural, short_count
from ..native.bindings.engine import EngineStats
from ..replay import Finding, LiveRun, Plan, Tick
from ..schemas import Folder
from .live_lines import LiveLines, progress
from .view_frame import MOST_DIGESTS, Digest, Seen, frame

MIN_COLUMNS, MIN_ROWS = 40, 10
MOST = 200  # maximum number of characters of a digest's text in the view
EMPTY_LINE = ""  # keeps the cursor on its own line, so that ^C does not mix with the next line
# Error counters of the engine, and their texts.
TROUBLES = {
    "sessions_failed": "{} could not connect",
    "sessions_lost": "{} lost their connection",
}
NUMBERS = {
    "timeouts": "{} statements were killed after --statement-timeout",
    "overload_waits": "the queue was full {} times while events were overdue",
    "overload_drops": "{} overdue events were dropped, because the queue was full",
    "not_permitted": "{} statements were not sent, because their text is not permitted",
    "overrides_failed": "{} clocks or ids were refused by the target",
}


class ViewConsole(Console):
    """The terminal of stderr with its current size. The cursor is never hidden."""

    def __init__(self) -> None:
        super().__init__(stderr=True, highlight=False, soft_wrap=True, legacy_windows=False)

    @property
    def size(self) -> ConsoleDimensions:
        """Current columns and rows of the terminal."""
        try:
            return ConsoleDimensions(*os.get_terminal_size(2))
        except OSError:  # the terminal is gone
            return ConsoleDimensions(80, 24)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        """Reject a fixed size, because the terminal determines the size."""
        raise NotImplementedError

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is, because a killed program could not show it again."""
        return False


def has_room() -> bool:
    """Whether the terminal is large enough for the view."""
    size = ViewConsole().size
    return size.width >= MIN_COLUMNS and size.height >= MIN_ROWS


class LiveView(LiveLines):
    """Shows findings as lines, then the view. Watches runs one after another."""

    def __init__(
        self,
        running: Callable[[LiveRun], None] | None = None,
        heading: Callable[[str], str] = lambda name: name,
        one_of_many: bool = False,
        only_view: bool = False,
    ) -> None:
        """`running` is called with each run at its beginning.

        `heading` makes the view's heading from the name of the run's folder.

        `one_of_many`: a single line remains at the end instead of the last view. `only_view`: no lines are printed
        before the view, and no view remains.
        """
        super().__init__(running)
        self._console = ViewConsole()
        self._heading, self._one_of_many, self._only_view = heading, one_of_many, only_view
        self._ascii = not self._console.encoding.startswith("utf") or os.environ.get("TERM") == "linux"
        self._live: Live | None = None
        self._run: LiveRun | None = None
        self._texts: DigestTexts | None = None
        self._seen = Seen("")
        self._found: list[str] = []
        self._size = self._console.size
        self._writing = False

    # ---- watcher methods ----

    def say(self, text: str, style: str | None = None) -> None:
        """Print one line above the view. Control characters are removed."""
        with self._written():
            super().say(text, style)

    def planning(self, events: int) -> None:
        """Print the progress of planning."""
        if not self._only_view:
            super().planning(events)

    def finding(self, finding: Finding) -> None:
        """Print a pre-flight finding. Warnings also stay in the view."""
        if finding.severity == "warning":
            self._found.append(finding.text)
        if not self._only_view:
            super().finding(finding)

    def planned(self, plan: Plan) -> None:
        """Print the number of events to be sent."""
        self._texts = DigestTexts(plan.tape)
        if not self._only_view:
            super().planned(plan)

    def running(self, live: LiveRun) -> None:
        """Begin to show the run."""
        super().running(live)
        self._run = live
        self._seen = Seen(f"{self._heading(live.name)} → {live.target}".replace("→", "->" if self._ascii else "→"))

    def opening(self, opened: int, plan: Plan) -> None:
        """Show the progress of opening the sessions."""
        self._seen.state = f"opening sessions: {opened:,}"
        self._seen.planned, self._seen.sessions = plan.planned, opened
        self._draw()

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Update the view with the last second."""
        assert self._run is not None
        seen, run = self._seen, self._run
        if seen.state.startswith("opening"):
            seen.state = ""
        interval_ns = max(tick.at_ns - seen.at_ns, 1)
        for history, n in ((seen.rate, tick.reads + tick.writes + tick.others), (seen.errors, tick.errors)):
            history.append(n * NS_PER_SECOND // interval_ns)
        seen.p95.append(tick.p95_ns)
        seen.late.append(tick.late_p99_ns)
        seen.at_ns, seen.planned, seen.paced = tick.at_ns, plan.planned, plan.rules.pace.paced
        seen.sessions, seen.queued_bytes = tick.sessions_open, tick.queued_bytes
        seen.share, seen.eta_ns = until_stop(run.stop_after_ns, tick.at_ns, *_progress(tick, done, plan))
        if run.counters is not None:
            self._take_counters(run.counters, tick, interval_ns, plan)
        due = None if seen.state else run.due()
        seen.due = None if due is None else max(due, seen.sent)  # approximate, because it is read after `sent`
        seen.slowest = self._slowest(run)
        self._draw()

    def stopping(self, times: int) -> None:
        """Show the effect of Ctrl-C. The call may interrupt a write, or come before the view exists."""
        if self._live is None:
            super().stopping(times)
            return
        first = "stopping: waiting for answers. Press Ctrl-C again to stop now"
        self._seen.state = first if times == 1 else "stopping now"
        self._draw()

    def ended(self) -> None:
        """Leave the last view, a line or nothing on the terminal, and the cursor below it."""
        live, self._live = self._live, None
        self._found = []
        if live is None:
            return
        self._seen.state = "stopped" if self._seen.state.startswith("stopping") else ""
        live.transient = self._one_of_many or self._only_view
        with self._written():
            self._paint(live)
            live.stop()
        if self._one_of_many and self._run is not None:
            seen = self._seen
            errors = self._run.counters.errors if self._run.counters is not None else 0
            self.say(
                f"{self._run.name}: {seen.sent:,} statements sent in {seen.at_ns / NS_PER_SECOND:,.1f} s,"
                f" {errors:,} failed"
            )

    # ---- content of the view ----

    def _take_counters(self, counters: EngineStats, tick: Tick, interval_ns: int, plan: Plan) -> None:
        seen = self._seen
        seen.sent, seen.not_sent = counters.executed, counters.not_sent
        seen.waiting = max(counters.fed - counters.executed - counters.not_sent, 0)
        if plan.rules.commit_order:
            seen.order = tick.order_waits * NS_PER_SECOND // interval_ns, counters.order_broken
        seen.warnings = [*self._found, *troubles(counters)]

    def _slowest(self, run: LiveRun) -> list[Digest]:
        assert self._texts is not None
        found = run.slowest(MOST_DIGESTS)
        texts = self._texts.of([one.digest for one in found])
        return [
            Digest(texts[one.digest], one.count, one.sum_ns // one.count, one.sum_ns, one.unsure_ns > 0)
            for one in found
        ]

    # ---- drawing ----

    def _draw(self) -> None:
        """Draw the view. A change by a signal during a write is drawn with the next tick."""
        if self._writing:
            return
        with self._written():
            size = self._console.size
            if size.width < self._size.width or size.height < self._size.height:
                self._begin_again(size)
            self._size = size
            if self._live is None:
                self._live = Live(
                    console=self._console, auto_refresh=False, redirect_stdout=False, vertical_overflow="crop"
                )
                self._live.start()
            self._paint(self._live, EMPTY_LINE)

    def _paint(self, live: Live, *below: str) -> None:
        columns, rows = self._size
        lines = frame(self._seen, columns - 1, rows - 1 - len(below), self._ascii)
        live.update(Group(*lines, *below), refresh=True)

    def _begin_again(self, size: ConsoleDimensions) -> None:
        """Scroll all lines out of the screen, because a smaller terminal has wrapped or moved the lines of the view."""
        live, self._live = self._live, None
        if live is None:
            return
        self._console.control(Control.move_to(0, size.height - 1))
        self._console.file.write("\n" * size.height)
        self._console.control(Control.home())
        live.transient = True
        live.update("")
        live.stop()

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Guard a write to the terminal in this block. A closed terminal must not end the run."""
        before, self._writing = self._writing, True
        try:
            with suppress(OSError):
                yield
        finally:
            self._writing = before


def _progress(tick: Tick, done: int, plan: Plan) -> tuple[float, int | None]:
    return progress(tick.at_ns, plan.last_due_ns, done, plan.planned, plan.rules.pace.paced)


def until_stop(stop_after_ns: int | None, at_ns: int, share: float, eta_ns: int | None) -> tuple[float, int | None]:
    """Return the finished share and the time left of a run. The run ends at `stop_after_ns` or after its last event."""
    if not stop_after_ns:
        return share, eta_ns
    left = max(stop_after_ns - at_ns, 0)
    return (share, eta_ns) if eta_ns is not None and eta_ns < left else (at_ns / stop_after_ns, left)


def troubles(counters: EngineStats) -> list[str]:
    """Return texts for the errors so far."""
    sessions = [text.format(plural(n, "session")) for name, text in TROUBLES.items() if (n := getattr(counters, name))]
    return sessions + [text.format(short_count(n)) for name, text in NUMBERS.items() if (n := getattr(counters, name))]


class DigestTexts:
    """Normalised statements of a tape by digest, without literal values.

    A statement is read when the view shows it for the first time. A digest that is not yet on a growing tape has no
    text.
    """

    def __init__(self, tape: Folder) -> None:
        self._tape = tape
        self._known: dict[str, str] = {}

    def of(self, digests: Collection[str]) -> dict[str, str]:
        """Return one line of text for each digest, without control characters."""
        missing = [digest for digest in digests if digest not in self._known]
        if missing:
            self._known.update(dict.fromkeys(missing, ""))
            self._known.update(self._read(missing))
        return {digest: self._known[digest] or digest for digest in digests}

    def _read(self, digests: Collection[str]) -> dict[str, str]:
        query = f"SELECT digest, left(normalized, {MOST}) FROM {self._tape.source('digests')}"
        try:
            with small_database() as con:
                rows = con.execute(f"{query} WHERE list_contains(?, digest)", [list(digests)]).fetchall()
        except duckdb.Error:  # the tape was moved: the run and the view continue
            return {}
        return {digest: " ".join(printable(text).split()) for digest, text in rows}
