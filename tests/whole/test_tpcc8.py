# SPDX-License-Identifier: Apache-2.0
"""A TPC-C run of a third-party program, recorded as packets, with 8 clients on one warehouse for 15 seconds. The replay
ends with the same rows. The samples contain the data before the run, and CHECKSUM TABLE of each table after the run.
"""

import lzma
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from querytape.capture import Settings
from querytape.capture.library import capture
from querytape.capture.tools.deal import deal
from querytape.common.units import NS_PER_SECOND
from querytape.replay import replay
from querytape.replay.drivers.lead import replay_by_drivers
from querytape.replay.drivers.shares import Drivers
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.selection import Selection
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server, start_server

from tests.conftest import KINDS, SAMPLES, ServerFactory
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options

PORT = 25274
START, WHOLE = "start", "whole"  # replayed parts of the recording: the first seconds, or all of it
START_NS = 3 * NS_PER_SECOND
MOST_BROKEN = 1 / 1000  # highest share of order waits that may time out
UNKNOWN_VARIABLE = 1193  # the client's first SET uses MariaDB variables
# CHECKSUM TABLE after the part `start`, on MariaDB and on MySQL. A single connection that executed the transactions in
# the order of their COMMITs produced the same rows.
AFTER_START = {
    "customer1": (4070450778, 4070450778),
    "district1": (360617096, 360617096),
    "history1": (542194422, 1422464337),
    "item1": (93697852, 93697852),
    "new_orders1": (2467113736, 2467113736),
    "order_line1": (752932755, 1028198824),
    "orders1": (1359250006, 2013947915),
    "stock1": (3299277161, 3299277161),
    "warehouse1": (4180057257, 3157036992),
}
CONFIG = {"innodb-buffer-pool-size": "1G", "sql-mode": ""}


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the tape from the recorded packets."""
    folder = tmp_path_factory.mktemp("tpcc8")
    packets = folder / "packets.pcap"
    packets.write_bytes(lzma.decompress((SAMPLES / "tpcc8" / "packets.pcap.xz").read_bytes()))
    capture([packets], folder / "tpcc8.tape", "packets", Settings(extra={"port": (PORT,)}))
    packets.unlink()
    return folder / "tpcc8.tape"


@pytest.fixture(scope="module")
def loaded() -> Iterator[Callable[[str], Path]]:
    """Provide a function that returns the data folder of a stopped server. The server is of the given kind and has the
    data before the run.
    """
    with ExitStack() as stack:

        @cache
        def folder(kind: str) -> Path:
            server = stack.enter_context(start_server(KINDS[kind], config=CONFIG))
            load(server, SAMPLES)
            server.stop()
            return server.datadir

        yield folder


@pytest.mark.parametrize(
    ("kind", "pace", "part"),
    mostly_long(
        list(product(("mariadb", "mysql80"), ("none", "schedule"), (START, WHOLE))),
        *product(("mariadb", "mysql80"), ("none", "schedule"), (START,)),
    ),
)
def test_tpcc_replay_ends_with_the_original_rows(
    kind: str,
    pace: Literal["none", "schedule"],
    part: str,
    samples: Path,
    tape: Path,
    loaded: Callable[[str], Path],
    server_factory: ServerFactory,
    tmp_path: Path,
) -> None:
    """At most 1 in 1,000 order waits times out."""
    server = server_factory(kind, CONFIG, loaded(kind))
    end_ns = open_folder("tape", tape).info["first_ns"] + START_NS if part == START else None
    given = options(
        server,
        tmp_path / "t.run",
        pace=Pace(pace),
        selection=Selection(to_ns=end_ns),
        overrides=Overrides(clock=True, ids=True),
        commit_order=True,
        drain_ns=600 * NS_PER_SECOND,  # a slow machine still answers after the recorded time
    )
    summary = replay(tape, given)
    waits = summary.info["accounting"]
    assert accounting(summary)[3] == 0
    assert waits["order_broken"] <= waits["order_waits"] * MOST_BROKEN
    assert set(summary.errors) <= ({UNKNOWN_VARIABLE} if kind == "mysql80" else set())
    if part == WHOLE and kind == "mysql80":  # the checksums of MySQL differ, so the rows are compared on MariaDB
        server = copied(server, server_factory("mariadb", CONFIG, loaded("mariadb")))
    assert checksums(server) == expected(kind, part)


@pytest.mark.parametrize(
    ("kind", "part"), mostly_long(list(product(("mariadb", "mysql80"), (START, WHOLE))), ("mariadb", START))
)
def test_tpcc_replay_by_three_drivers_ends_with_the_original_rows(
    kind: str,
    part: str,
    samples: Path,
    tape: Path,
    loaded: Callable[[str], Path],
    server_factory: ServerFactory,
    tmp_path: Path,
) -> None:
    """The drivers share every table, so they wait for each other's commits."""
    server = server_factory(kind, CONFIG, loaded(kind))
    deal(tape, 3, tmp_path / "tpcc8.set")
    end_ns = open_folder("tape", tape).info["first_ns"] + START_NS if part == START else None
    given = options(
        server,
        tmp_path / "t.run",
        selection=Selection(to_ns=end_ns),
        overrides=Overrides(clock=True, ids=True),
        commit_order=True,
        drain_ns=600 * NS_PER_SECOND,
    )
    summary = replay_by_drivers(tmp_path / "tpcc8.set", given, Drivers(3))
    waits = summary.info["accounting"]
    assert accounting(summary)[3] == 0
    assert waits["order_broken"] <= waits["order_waits"] * MOST_BROKEN
    if part == WHOLE and kind == "mysql80":
        server = copied(server, server_factory("mariadb", CONFIG, loaded("mariadb")))
    assert checksums(server) == expected(kind, part)


def expected(kind: str, part: str) -> dict[str, int]:
    """Return the expected CHECKSUM TABLE of each table after a part of the recording."""
    if part == WHOLE:
        lines = (SAMPLES / "tpcc8" / "after.checksums").read_text().splitlines()
        return {table: int(checksum) for table, checksum in (line.split("\t") for line in lines)}
    column = list(KINDS).index(kind)
    return {f"tpcc.{table}": both[column] for table, both in AFTER_START.items()}


def load(server: Server, samples: Path) -> None:
    for schema in ("tpcc", "shop"):  # the replay connects to the schema shop
        server.execute(f"CREATE DATABASE {schema}")
    run_sql(server, lzma.decompress((samples / "tpcc8" / "before.sql.xz").read_bytes()))


def run_sql(server: Server, text: bytes) -> None:
    subprocess.run(["mariadb", "-uroot", f"-S{server.socket}", "tpcc"], input=text, check=True)


def checksums(server: Server) -> dict[str, int]:
    names = [f"tpcc.{name}" for (name,) in server.execute("SHOW TABLES FROM tpcc")]
    return dict(server.execute("CHECKSUM TABLE " + ", ".join(names)))


def copied(source: Server, target: Server) -> Server:
    """Replace the rows in all tables of `target` by the rows of `source`. Return the target."""
    names = [name for (name,) in source.execute("SHOW TABLES FROM tpcc")]
    dump = ["mariadb-dump", "-uroot", f"-S{source.socket}", "--no-create-info", "--skip-triggers", "tpcc", *names]
    run_sql(target, b"SET foreign_key_checks = 0;" + b"".join(b"TRUNCATE %s;" % name.encode() for name in names))
    run_sql(target, subprocess.run(dump, check=True, capture_output=True).stdout)
    return target
