# SPDX-License-Identifier: Apache-2.0
"""Packet tapes for the tests of tape tools, and queries on tapes."""

from pathlib import Path
from typing import Any

from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.tools.verify import verify

from .dialogue import Dialogue, ok, rows, write_pcap
from .duck import database


def make_tape(tmp_path: Path, name: str, connections: int = 3, offset: int = 0) -> Path:
    """Return a tape with `connections` sessions of nine events each."""
    dialogues = []
    for n in range(connections):
        dialogue = Dialogue(client_port=40000 + n).logged_in()
        for k in range(7):
            dialogue.ask(b"SELECT %d FROM t%d" % (offset + k, k % 2), rows([b"x"]) if k % 2 else ok(1))
        dialogues.append(dialogue.close())
    path = write_pcap(tmp_path / f"{name}.pcap", dialogues)
    capture_source(SOURCES["packets"], [str(path)], tmp_path / f"{name}.tape", Settings())
    return tmp_path / f"{name}.tape"


def found(tape: Path, what: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query over a tape's tables."""
    with database() as con:
        con.execute(f"CREATE VIEW events AS FROM '{tape}/events/*.parquet'")
        for name in ("sessions", "digests", "problems"):
            if (tape / f"{name}.parquet").exists():
                con.execute(f"CREATE VIEW {name} AS FROM '{tape}/{name}.parquet'")
        return con.execute(what).fetchall()


def damages(tape: Path, tmp_path: Path) -> list[str]:
    """Return the damage messages of `tape verify`."""
    (tmp_path / "work").mkdir(exist_ok=True)
    return [damage.what for damage in verify(tape, tmp_path / "work")]
