# SPDX-License-Identifier: Apache-2.0
"""The driver's side: replays its tapes like any other replay and reports to the lead process.

The lead process sets the start time. If the driver loses its connection before the start, it sends no statements. After
the start, the driver completes its schedule and keeps its part.
"""

import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import duckdb

from ...common.duck import plain_reason
from ...common.errors import InputError, NativeFault, QuerytapeError, RefusedError, TargetError
from ...common.signals import hear
from ...native.bindings.engine import Engine, State
from ...schemas import Folder
from ...servers.facts import Facts
from ..checks.preflight import Finding
from ..observe.ticks import Tick
from ..options import ReplayOptions
from ..plan.make_plan import NothingToSend
from ..plan.rules import Plan
from ..replay_tape import replay
from ..summary import RunSummary
from ..watcher import ReplayGroup, Watcher
from .channel import Channel, ChannelClosed, Message
from .delivery import Sender
from .passing import Passing

READY_EVERY_S = 0.005
USES_AT_ONCE = 1000  # tables in one message
SILENT_LOCAL_S, SILENT_S = 60.0, 10.0
# Error classes by their names in messages.
ERRORS: dict[str, type[QuerytapeError]] = {
    "idle": NothingToSend,
    "refused": RefusedError,
    "input": InputError,
    "target": TargetError,
    "other": QuerytapeError,
}
# Fields of run.json that a driver reports to the lead process. The lead process knows all other fields.
REPORTED = (
    "started_ns",
    "partial",
    "accounting",
    "lateness",
    "generator",
    "drain",
    "sessions",
    "state",
    "speed_changes",
    "problems_afterwards",
)


class Driver(Watcher, ReplayGroup):
    """One driver of a run.

    `replay` reports progress to this object and asks it for the values that all drivers share.
    """

    holds = True

    def __init__(
        self,
        channel: Channel,
        silent_s: float = SILENT_LOCAL_S,
        shown: Watcher | None = None,
        about: dict[str, Any] | None = None,
        alone: bool = False,
    ) -> None:
        """Set up the driver's connection to the lead process.

        - `silent_s`: a lead process that sends or accepts nothing for this many seconds counts as lost. A live lead
          process asks for the time twice a second.
        - `shown`: a watcher that gets the same calls.
        - `about`: what run.json says about the run that this part belongs to.
        - `alone`: whether no other driver uses the same target.
        """
        self._about, self.alone = about or {}, alone
        self._shown = shown or Watcher()
        self._channel, self._silent_s = channel, silent_s
        channel.send_s = silent_s
        self._spans: queue.Queue[Message | None] = queue.Queue()
        self._goes: queue.Queue[Message | None] = queue.Queue()
        self._opens: queue.Queue[Message | None] = queue.Queue()
        self._dismissed = threading.Event()
        self._passing = Passing(channel)
        self._engine: Engine | None = None
        self._begun = self._ended = self._limited = self._late = False
        self._zero_ns = 0
        self.lead_lost: str | None = None
        self.merged = False

    @property
    def begun(self) -> bool:
        """Whether the driver has reached its start time with a lead process."""
        return self._begun and not self._late

    def listen(self) -> None:
        """Start a thread that answers the lead process."""
        hear(signal.SIGTERM)
        threading.Thread(target=self._listen, name="lead", daemon=True).start()

    def _listen(self) -> None:
        try:
            while (message := self._channel.receive(self._silent_s)) is not None:
                self._take(message)
                if self._dismissed.is_set():
                    return
            self.lead_lost = f"the lead process sent nothing for {self._silent_s:g} s"
            self._channel.close()
        except ChannelClosed as error:
            self.lead_lost = str(error)
        for waiting in (self._spans, self._opens, self._goes):
            waiting.put(None)
        self._dismissed.set()
        self._begun &= time.monotonic_ns() >= self._zero_ns
        if not self._begun or self._passing.active or self._limited:
            self.stopped_because = f"the lead process was lost ({self.lead_lost})"
            self._stop()

    def _take(self, message: Message) -> None:
        if "until" in message.values:
            self._limit(int(message.values["until"]))
        if message.kind == "clock":
            self._send("clock", sent=message.values["sent"], there=message.at_ns)
        elif message.kind == "span":
            self._spans.put(message)
        elif message.kind == "open":
            self._opens.put(message)
        elif message.kind == "go":
            self._goes.put(message)
        elif message.kind in ("order", "ordered", "finished", "let_go"):
            self._passing.take(message)
        elif message.kind == "stop":
            self.stopped_because = "the lead process stopped the run"
            self._stop()
        elif message.kind == "bye":
            self.merged = bool(message.values.get("merged"))
            self._dismissed.set()

    def _limit(self, until_ns: int) -> None:
        """Send nothing after this time of CLOCK_MONOTONIC, because another driver may then continue."""
        self._limited = True
        with suppress(ValueError):  # the engine may be freed
            if self._engine is not None:
                self._engine.send_until(until_ns)

    def _stop(self) -> None:
        """Send this process SIGTERM. The signal unwinds the program before the run and stops the run during the run."""
        if not self._ended:
            os.kill(os.getpid(), signal.SIGTERM)

    def _send(self, kind: str, **values: Any) -> None:
        """Send a message to the lead process. Does nothing if the connection is closed."""
        with suppress(ChannelClosed):
            self._channel.send(kind, **values)

    # ---- values that all drivers share ----

    def about(self) -> dict[str, Any]:
        """Return the run.json fields that describe the whole run."""
        return self._about

    def connected(self, facts: Facts) -> None:
        """Report which server the target is."""
        self._send("server", identity=facts.identity)

    def span(self, first_ns: int, last_ns: int) -> tuple[int, int]:
        """Return the first and last time over all drivers. Raises QuerytapeError if the lead process is lost."""
        self._send("span", first=first_ns, last=last_ns)
        message = self._wait_for(self._spans)
        return int(message.values["first"]), int(message.values["last"])

    def _wait_for(self, waiting: "queue.Queue[Message | None]") -> Message:
        message = waiting.get()
        if message is None:
            raise QuerytapeError(f"the lead process was lost before the first event was sent: {self.lead_lost}")
        return message

    def started(self, engine: Engine) -> None:
        """Start a thread that waits for the start time. The replay continues in its own thread."""
        self._engine = engine
        self._passing.start(engine)
        threading.Thread(target=self._begin, args=(engine,), name="go", daemon=True).start()

    def _begin(self, engine: Engine) -> None:
        with suppress(ValueError):  # the run may have ended and the engine may be freed
            while (state := engine.peek().state) in (State.NEW, State.OPENING):
                time.sleep(READY_EVERY_S)
            if state is not State.READY:
                return
            self._send("ready", opened=engine.peek().sessions_open)
            message = self._goes.get()
            if message is None:
                return
            self._zero_ns, self._begun = int(message.values["zero"]), True
            try:
                engine.go(self._zero_ns)
            except NativeFault as error:
                self._late = True
                self._send("late", text=str(error))
                self._stop()
                return
            self._send("going")

    # ---- reports to the lead ----

    def planning(self, events: int) -> None:
        """Report how many events are planned."""
        self._send("planning", events=events)
        self._shown.planning(events)

    def finding(self, finding: Finding) -> None:
        """Report a finding of the pre-flight."""
        self._send("finding", severity=finding.severity, text=finding.text)
        self._shown.finding(finding)

    def planned(self, plan: Plan) -> None:
        """Report the plan and wait until all drivers have planned.

        No session opens before all drivers have planned. Raises QuerytapeError.
        """
        names = ("events", "planned", "sessions", "peak_sessions", "last_due_ns", "ids_unknown", "now_uncertain")
        values = {name: getattr(plan, name) for name in names}
        uses = [[use.schema, use.name, use.locks] for use in plan.table_uses or ()]
        for at in range(0, len(uses), USES_AT_ONCE):
            self._send("uses", uses=uses[at : at + USES_AT_ONCE])
        self._passing.plan_is(plan)
        self._send("planned", reasons=reasons_json(plan.reasons), notes=plan.order_notes, **values)
        self._shown.planned(plan)
        self._wait_for(self._opens)
        self._passing.apply(plan)

    def ended(self) -> None:
        """Pass on the last commits before the engine is closed."""
        self._passing.end()
        self._engine = None
        self._shown.ended()

    def opening(self, opened: int, plan: Plan) -> None:
        """Report the number of open sessions."""
        self._send("opening", opened=opened)
        self._shown.opening(opened, plan)

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Report the counters of the last second."""
        self._send("tick", **asdict(tick))
        self._shown.tick(tick, done, plan)

    def stopping(self, times: int) -> None:
        """Show that the lead process or a signal is stopping the run."""
        self._shown.stopping(times)

    def failed(self, error: QuerytapeError) -> None:
        """Report the error that prevents the replay."""
        kind = next(name for name, each in ERRORS.items() if isinstance(error, each))
        excluded = reasons_json(error.reasons) if isinstance(error, NothingToSend) else []
        self._send("failed", error=kind, text=str(error), reasons=excluded)

    # ---- the run ----

    def prepare(self, work: Callable[[], None]) -> None:
        """Do work before the run. Report an error to the lead process, and raise it."""
        try:
            work()
        except QuerytapeError as error:
            self.failed(error)
            raise

    def run(self, tape: Folder, options: ReplayOptions, delivers: bool) -> RunSummary:
        """Replay these tapes and report the result to the lead process. Raises QuerytapeError.

        Raises NothingToSend at the end of the whole run. `delivers`: also send the files of the part.
        """
        sender = Sender(self._channel, options.output) if delivers else None
        try:
            if sender is not None:
                sender.start()
            summary = replay(tape, options, self, group=self)
        except NothingToSend as error:
            self._ended = True
            self.failed(error)
            self._dismissed.wait()
            if self.lead_lost is not None:
                raise QuerytapeError(f"the lead process was lost: {self.lead_lost}") from error
            raise
        except QuerytapeError as error:
            self.failed(error)
            raise
        except (OSError, duckdb.Error) as error:  # such as a full disk
            told = QuerytapeError(plain_reason(error) if isinstance(error, duckdb.Error) else str(error))
            self.failed(told)
            raise told from error
        self._ended = True
        with suppress(ChannelClosed):
            if sender is not None:
                sender.finish()
            self._channel.send("ended", info=end_report(summary))
            self._dismissed.wait()  # also set if the lead process is lost
        return summary


def reasons_json(reasons: Mapping[tuple[str, str], int]) -> list[list[Any]]:
    """Return the numbers of events that will not be sent, for a message."""
    return [[status, reason, n] for (status, reason), n in reasons.items()]


def end_report(summary: RunSummary) -> dict[str, Any]:
    """Return the fields of run.json that the driver reports to the lead process at the end."""
    return {name: summary.info.get(name) for name in REPORTED} | {"now_ns": summary.info.get("elapsed_ns")}
