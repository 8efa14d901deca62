# SPDX-License-Identifier: Apache-2.0
"""The driver's side of an order of commits that several drivers keep together (shared_order.py)."""

import threading
import time
from array import array
from contextlib import suppress
from pathlib import Path

from ...native.bindings.engine import Engine
from ..plan.rules import Plan
from .channel import Channel, ChannelClosed, Message

WAIT_NS = 20_000_000  # longest wait for a finished commit; a stuck wait is reported after this time
REPEAT_S = 0.2  # interval in which a stuck wait is reported again, because another wait may have the same due time


class Passing:
    """Replaces the order of a plan by the part of the whole order that the lead process sends.

    During the run, it passes on the finished commits of this driver, and takes those of the other drivers.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._new: Path | None = None
        self._ordered: Message | None = None
        self._engine: Engine | None = None
        self._early: list[bytes] = []  # commits that finished before this driver's engine existed
        self._lock = threading.Lock()  # protects _engine and _early
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="commits", daemon=True)

    @property
    def active(self) -> bool:
        """Whether this driver waits for commits of other drivers, so that it cannot go on without the lead process."""
        return self._engine is not None

    def plan_is(self, plan: Plan) -> None:
        """Prepare to receive an order for this plan."""
        self._new = plan.order.with_suffix(".new")

    def take(self, message: Message) -> None:
        """Take a message of the lead process about the order. Only the listening thread calls it."""
        if message.kind == "order" and self._new is not None:
            with self._new.open("ab") as file:
                file.write(message.body)
        elif message.kind == "ordered":
            self._ordered = message
        elif message.kind in ("finished", "let_go"):
            with self._lock:
                if message.kind == "let_go":
                    if self._engine is not None:
                        self._engine.let_go()
                elif self._engine is not None:
                    self._engine.settle(message.body)
                elif not self._ended.is_set():
                    self._early.append(message.body)

    def apply(self, plan: Plan) -> None:
        """Use the order of the lead process, if it has sent one."""
        if self._ordered is None:
            return
        assert self._new is not None
        plan.order.unlink(missing_ok=True)
        if self._new.exists():
            self._new.rename(plan.order)
        plan.order_tables = int(self._ordered.values["tables"])
        plan.order_notes[:] = [str(note) for note in self._ordered.values["notes"]]

    def start(self, engine: Engine) -> None:
        """Begin to pass on commits, if other drivers wait for them."""
        shared = array("i", self._ordered.body if self._ordered is not None else b"")
        if not shared:
            return
        engine.share(shared.tolist())
        with self._lock:
            self._engine = engine
            for commits in self._early:
                engine.settle(commits)
            self._early.clear()
        self._thread.start()

    def end(self) -> None:
        """Pass on the last commits, and leave the engine. Called before the engine is closed."""
        self._ended.set()
        if self._engine is not None:
            self._thread.join()
            with self._lock:
                self._engine = None

    def _run(self) -> None:
        engine, told, told_at = self._engine, None, 0.0
        assert engine is not None
        with suppress(ChannelClosed):  # the lead process is lost: nobody passes on commits
            while True:
                ended = self._ended.is_set()
                commits = engine.finished(0 if ended else WAIT_NS)
                if commits:
                    self._channel.send("finished", commits)
                stuck = engine.stuck()
                if stuck != told or (stuck is not None and time.monotonic() - told_at > REPEAT_S):
                    due, cause = stuck or (None, False)
                    self._channel.send("stuck", due=due, cause=cause)
                    told, told_at = stuck, time.monotonic()
                if ended and not commits:
                    return
