# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of complete replays."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from querytape.replay import ReplayOptions, RunSummary, parse_target
from querytape.replay.plan.pacing import Pace
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS

from .duck import query as query


def options(server: Server, output: Path, **more: Any) -> ReplayOptions:
    """Return options for a replay with writes against a private server."""
    target = parse_target(server.url("shop"), environ={})
    if "speed" in more:
        more["pace"] = Pace.of(more.pop("speed"))
    return ReplayOptions(
        target, output, **{"allow_writes": True, "target_is_disposable": True, "lead_ns": 100 * MS, **more}
    )


def logging_insert(session: int, seq: int) -> str:
    """Return an INSERT that writes its own session and seq to the table `log`."""
    return f"INSERT INTO log (conn, session, seq) VALUES (CONNECTION_ID(), {session}, {seq})"


def outcomes(run: Path, wanted: str = "session, seq, status, reason") -> list[tuple[Any, ...]]:
    """Return the given columns of every outcome, sorted by session and seq."""
    source = open_folder("run", run).source("outcomes")
    return query(f"SELECT {wanted} FROM {source} ORDER BY session, seq")


def accounting(summary: RunSummary) -> tuple[int, int, int, int]:
    """Return (executed, filtered, skipped, not sent). Fails unless the accounting balances."""
    accounting = summary.info["accounting"]
    assert accounting["balanced"]
    assert accounting["tape_events"] == len(outcomes(summary.path))
    return accounting["executed"], accounting["filtered"], accounting["skipped"], accounting["not_sent"]


@contextmanager
def killing(server: Server, text: str) -> Iterator[None]:
    """During the block, wait for a connection that runs the statement `text`, and kill the first such connection."""
    ended = threading.Event()

    def kill() -> None:
        query = f"SELECT id FROM information_schema.processlist WHERE info = '{text}'"
        while not (found := server.execute(query)) and not ended.wait(0.05):
            pass
        if found:
            server.execute(f"KILL {found[0][0]}")

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        ended.set()
        killer.join()
