# SPDX-License-Identifier: Apache-2.0
"""A foreign TPC-C, recorded by packets: 8 clients on one warehouse, 15 seconds. A replay ends with its rows.

The samples contain the data before the run, and CHECKSUM TABLE of each table after it.
"""

import lzma
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pytest
from querytape.capture import Settings
from querytape.capture.library import capture
from querytape.replay import replay
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options

PORT = 25274
MOST_BROKEN = 1 / 1000  # of the waits
UNKNOWN_VARIABLE = 1193  # the client's first SET has variables of MariaDB
CONFIG = {"innodb-buffer-pool-size": "1G", "sql-mode": ""}


@pytest.fixture
def tape(samples: Path, tmp_path: Path) -> Path:
    """The tape of the packets."""
    packets = tmp_path / "packets.pcap"
    packets.write_bytes(lzma.decompress((samples / "tpcc8" / "packets.pcap.xz").read_bytes()))
    capture([packets], tmp_path / "tpcc8.tape", "packets", Settings(extra={"port": (PORT,)}))
    return tmp_path / "tpcc8.tape"


@pytest.mark.parametrize(
    ("kind", "pace"),
    mostly_long(
        [("mariadb", "none"), ("mariadb", "schedule"), ("mysql80", "none"), ("mysql80", "schedule")],
        ("mariadb", "none"),
        ("mysql80", "none"),
    ),
)
def test_a_replay_ends_with_the_original_rows(
    kind: str,
    pace: Literal["none", "schedule"],
    tape: Path,
    samples: Path,
    server_factory: ServerFactory,
    tmp_path: Path,
) -> None:
    """No row differs, and no wait is broken but 1 in 1,000."""
    server = server_factory(kind, CONFIG)
    load(server, samples)
    given = options(
        server, tmp_path / "t.run", pace=Pace(pace), overrides=Overrides(clock=True, ids=True), commit_order=True
    )
    summary = replay(tape, given)
    waits = summary.info["accounting"]
    assert accounting(summary)[3] == 0
    assert waits["order_broken"] <= waits["order_waits"] * MOST_BROKEN
    assert set(summary.errors) <= ({UNKNOWN_VARIABLE} if kind == "mysql80" else set())
    lines = (samples / "tpcc8" / "after.checksums").read_text().splitlines()
    expected = {table: int(checksum) for table, checksum in (line.split("\t") for line in lines)}
    if kind == "mysql80":  # its checksums of times and decimals are its own: MariaDB has to hold the same rows
        other = server_factory("mariadb", CONFIG)
        load(other, samples)
        copy(server, other, list(expected))
        server = other
    assert checksums(server, expected) == expected


def load(server: Server, samples: Path) -> None:
    """Load the data before the run."""
    for schema in ("tpcc", "shop"):  # the second is where the replay connects to
        server.execute(f"CREATE DATABASE {schema}")
    run_sql(server, lzma.decompress((samples / "tpcc8" / "before.sql.xz").read_bytes()))


def run_sql(server: Server, text: bytes) -> None:
    """Execute a dump."""
    subprocess.run(["mariadb", "-uroot", f"-S{server.socket}", "tpcc"], input=text, check=True)


def checksums(server: Server, tables: Iterable[str]) -> dict[str, int]:
    """Return CHECKSUM TABLE of each table."""
    return dict(server.execute("CHECKSUM TABLE " + ", ".join(tables)))


def copy(source: Server, target: Server, tables: list[str]) -> None:
    """Replace the rows of tables with those of another server."""
    names = [table.removeprefix("tpcc.") for table in tables]
    dump = ["mariadb-dump", "-uroot", f"-S{source.socket}", "--no-create-info", "--skip-triggers", "tpcc", *names]
    run_sql(target, b"SET foreign_key_checks = 0;" + b"".join(b"TRUNCATE %s;" % name.encode() for name in names))
    run_sql(target, subprocess.run(dump, check=True, capture_output=True).stdout)
