# SPDX-License-Identifier: Apache-2.0
"""The lead's view of one driver. A thread receives the driver's messages. A silent driver counts as lost."""

import subprocess
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.errors import QuerytapeError
from ..plan.table_uses import TableUse
from .channel import Channel, ChannelClosed, Message
from .clock import Offset, RoundTrip, clock_json, offset_of
from .delivery import Receiver

BEAT_S = 0.5  # interval in seconds between two requests for a driver's time
SILENT_S = 2.5  # seconds of silence after which a remote driver counts as lost: noticed within 3 s
SILENT_LOCAL_S = 30.0  # seconds of silence for a local driver: longer, because its death is noticed at once
END_S = 1.0  # maximum seconds that a process may still run after its socket was closed
TRIPS = 64
LEASE_NS = 10_000_000_000  # a driver sends nothing this long after the last request, if another driver may replace it


@dataclass(frozen=True)
class Beginning:
    """The place at which a driver begins that replaces a lost driver.

    - `due_ns`: time since the start of the run.
    - `tape_ns`: the same moment on the tape, since the epoch.
    """

    due_ns: int
    tape_ns: int


class Member:
    """One driver. `news` is notified of each message. Hold `news` to read public attributes, except after the end.

    - `names`: the names of its tapes.
    - `part`: the folder of its files.
    - `label`: its name in messages. Without a label, the name is made from its number and host.
    - `server`: the identity of its target. None if unknown.
    - `uses`: the tables of its events, if the order of commits is kept.
    - `on_order`: takes its messages about the order of commits, in the thread that listens to it.
    - `stuck`: its next stuck wait: whether it is not the cause, and its due time. See shared_order.py.
    - `lost`: why the connection to the driver is lost.
    - `died_ns`: when its process was known to have ended. None if the process may still be running.
    - `told`: whether it was sent the start time.
    - `leases`: whether the driver sends events only until a limit, which each request for its time moves.
    - `granted_ns`: the newest limit, on CLOCK_MONOTONIC of this process. 0 means none.
    - `replaces`, `successor`: the lost driver that it replaces, and the driver that replaces it. See replacing.py.
    - `waits_for_user`: whether only a user can start the driver, and has not done so.
    - `expected_part`: the name of its part. None means any name.
    - `begins`: where it begins, if it replaces another driver.
    """

    def __init__(
        self, number: int, names: list[str], part: Path, news: threading.Condition, label: str | None = None
    ) -> None:
        self.number, self.names, self.part, self.news = number, names, part, news
        self._label = label
        self.process: subprocess.Popen[bytes] | None = None
        self.hello: dict[str, Any] = {}
        self.span: tuple[int, int] | None = None
        self.planned: dict[str, Any] | None = None
        self.planning = self.opened = self.unknown = 0
        self.ready = self.going = False
        self.late: str | None = None
        self.failed: dict[str, Any] | None = None
        self.lost: str | None = None
        self.died_ns: int | None = None
        self.leases = self.told = False
        self.granted_ns = 0
        self.waits_for_user = False
        self.expected_part: str | None = None
        self.replaces: Member | None = None
        self.successor: Member | None = None
        self.begins: Beginning | None = None
        self.info: dict[str, Any] | None = None
        self.findings: deque[dict[str, Any]] = deque()
        self.ticks: deque[dict[str, Any]] = deque()
        self.uses: list[TableUse] = []
        self.on_order: Callable[[Member, Message], None] | None = None
        self.stuck: tuple[bool, int] | None = None
        self.server: str | None = None
        self.at_zero: Offset | None = None
        self._trips: deque[RoundTrip] = deque(maxlen=TRIPS)
        self._receiver = Receiver(part)
        self._channel: Channel | None = None
        self._dismissed = False
        self._heard_ns = 0

    @property
    def name(self) -> str:
        """The name of the driver in messages."""
        if self._label is not None:
            return self._label
        where = "" if self.process is not None else f" ({self.hello.get('host', 'unknown host')})"
        return f"driver {self.number}{where}"

    @property
    def over(self) -> bool:
        """Whether the driver sends no more reports."""
        return self.info is not None or self.lost is not None or self.failed is not None

    @property
    def gone(self) -> bool:
        """Whether the driver was lost or failed."""
        return self.lost is not None or (self.failed is not None and not self.idle)

    @property
    def idle(self) -> bool:
        """Whether the driver has no events to send."""
        return self.failed is not None and self.failed["error"] == "idle"

    @property
    def reasons(self) -> Counter[tuple[str, str]]:
        """The number of the driver's events that will not be sent, by status and reason."""
        report = self.planned or self.failed or {}
        return Counter({(str(status), str(reason)): int(n) for status, reason, n in report.get("reasons") or ()})

    def connect(self, channel: Channel, process: subprocess.Popen[bytes] | None = None) -> None:
        """Start the threads that receive the driver's messages and ask for its time.

        A driver that joins after its dismissal is disconnected, so it ends without sending statements.
        """
        self._channel, self.process = channel, process
        if self._dismissed:
            channel.close()
            return
        self._heard_ns = time.monotonic_ns()
        threading.Thread(target=self._listen, args=(channel,), name=f"driver {self.number}", daemon=True).start()
        threading.Thread(target=self._beats, name=f"beat {self.number}", daemon=True).start()

    def send(self, kind: str, body: bytes = b"", **values: Any) -> None:
        """Send a message to the driver. If the driver does not accept the message, it is marked as lost."""
        if self._channel is None or self.lost is not None:
            return
        try:
            self._channel.send(kind, body, **values)
        except ChannelClosed as error:
            self.lose(str(error))

    def lose(self, why: str) -> None:
        """Mark the driver as lost. Do nothing after its final report."""
        with self.news:
            if self.over:
                return
            self.lost = why if self.process is None else self._bury(self.process, why)
            self.news.notify_all()
        if self._channel is not None:
            self._channel.close()

    def _bury(self, process: subprocess.Popen[bytes], why: str) -> str:
        """Kill a local driver that is still running, so that it sends no more statements.

        Record the time of its end.
        """
        try:
            code = process.wait(END_S)
            found = f"the driver's process ended ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            found = f"{why}; the driver's process was killed"
        self.died_ns = time.monotonic_ns()
        return found

    # ---- the driver's clock ----

    def _beats(self) -> None:
        """Ask the driver for its time regularly. Mark the driver as lost if it is silent for too long.

        The requests without an answer are counted, not the time. A lead process that was frozen for a while cannot
        know whether the driver was silent.
        """
        silent_s = SILENT_S if self.process is None else SILENT_LOCAL_S
        silent, heard_ns = 0, 0
        while self.lost is None and not self._dismissed:  # an ended driver waits until it is dismissed
            silent, heard_ns = silent + 1 if heard_ns == self._heard_ns else 0, self._heard_ns
            if not self.over and silent >= silent_s / BEAT_S:
                self.lose(f"the driver sent nothing for {silent_s:g} s")
            else:
                self.send("clock", **self._lease(), sent=time.monotonic_ns())
            time.sleep(BEAT_S)

    def go(self, zero_ns: int) -> None:
        """Send the driver the start time, as a time of its own clock."""
        self.told = True
        self.send("go", **self._lease(), zero=zero_ns)

    def _lease(self) -> dict[str, Any]:
        """Move the driver's limit. Return it as a time of the driver's clock."""
        if not self.leases or self.at_zero is None:
            return {}
        with self.news:
            offset = offset_of(tuple(self._trips)) if self._trips else self.at_zero
        self.granted_ns = time.monotonic_ns() + LEASE_NS
        return {"until": self.granted_ns + offset.offset_ns - offset.bound_ns}

    def measure(self) -> Offset:
        """Measure the driver's clock offset by TRIPS round trips and return the offset.

        Also store the offset as the offset at the start of the run. Raises QuerytapeError if the driver is lost.
        """
        self._trips.clear()
        for made in range(TRIPS):
            self.send("clock", sent=time.monotonic_ns())
            with self.news:
                self.news.wait_for(lambda made=made: self.over or len(self._trips) > made, 5)  # type: ignore[misc]
                if len(self._trips) <= made:
                    raise QuerytapeError(f"{self.name} does not answer: {self.lost or 'no reply for 5 s'}")
        with self.news:
            self.at_zero = offset_of(tuple(self._trips))
            self._trips.clear()
        return self.at_zero

    def clock(self) -> dict[str, Any]:
        """Return the clock fields of run.json: the offset at the start and the newest offset."""
        if self.at_zero is None:
            return {}
        with self.news:
            return clock_json(self.at_zero, offset_of(tuple(self._trips)) if self._trips else self.at_zero)

    # ---- the driver's messages ----

    def _listen(self, channel: Channel) -> None:
        try:
            while (message := channel.receive()) is not None and self.lost is None:
                self._heard_ns = message.at_ns
                if message.kind == "file":
                    self._receiver.take(message)
                    continue
                if message.kind in ("finished", "stuck"):
                    if self.on_order is not None:
                        self.on_order(self, message)
                    continue
                with self.news:
                    self._take(message)
                    self.news.notify_all()
        except ChannelClosed as error:
            self.lose(str(error))
        except OSError as error:
            self.lose(f"{self.part}: cannot write the files of the driver: {error.strerror or error}")
        except (QuerytapeError, KeyError, TypeError, ValueError) as error:
            self.lose(f"the driver sent an invalid message: {error}")

    def _take(self, message: Message) -> None:
        values = message.values
        if message.kind == "clock":
            self._trips.append(RoundTrip(int(values["sent"]), int(values["there"]), message.at_ns))
        elif message.kind == "hello":
            self.hello = values
        elif message.kind == "span":
            self.span = int(values["first"]), int(values["last"])
        elif message.kind == "finding":
            self.findings.append(values)
        elif message.kind == "server":
            self.server = None if values["identity"] is None else str(values["identity"])
        elif message.kind == "uses":
            self.uses += [
                TableUse(schema and str(schema), str(name), bool(locks)) for schema, name, locks in values["uses"]
            ]
        elif message.kind == "tick":
            self.ticks.append(values)
        elif message.kind in ("planned", "failed", "info"):
            setattr(self, message.kind, values)
            if message.kind == "failed":
                self.died_ns = message.at_ns  # its engine has ended
        elif message.kind == "ended":
            self.info = values["info"]
        elif message.kind == "planning":
            self.planning = int(values["events"])
        elif message.kind == "opening":
            self.opened = int(values["opened"])
        elif message.kind in ("ready", "going"):
            setattr(self, message.kind, True)
        elif message.kind == "late":
            self.late = str(values["text"])

    def dismiss(self, seconds: float, merged: bool) -> None:
        """Dismiss the driver.

        Kill a local process that does not exit. `merged`: whether the run contains the driver's part.
        """
        self._dismissed = True
        self.send("bye", merged=merged)
        if self.process is not None:
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self._channel is not None:
            self._channel.close()

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the driver in run.json: its identity and how it ended."""
        planned = self.planned or {}
        return {
            "number": self.number,
            "host": str(self.hello.get("host") or "unknown"),
            "pid": self.hello.get("pid"),
            "tapes": self.names,
            "events": planned.get("events"),
            "planned": 0 if self.idle else planned.get("planned"),
            "replaces": None if self.replaces is None else self.replaces.number,
            "begin_ns": 0 if self.begins is None else self.begins.due_ns,
            "lost": self.lost,
            "sent_unknown": self.unknown,
            "partial": (self.info or {}).get("partial"),
            **self.clock(),
        }
