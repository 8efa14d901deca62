# SPDX-License-Identifier: Apache-2.0
"""Tests of drivers that join a lead over the network: admission, encryption and a lost connection."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay.drivers.channel import Channel
from querytape.replay.drivers.collect import collect
from querytape.replay.drivers.member import SILENT_S
from querytape.replay.drivers.secured import client_context
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.joining import PASSWORD, Bench, shop_with_account
from tests.helpers.link import Link
from tests.helpers.primes import EVENTS, WRITTEN, balanced, prime_set, written
from tests.helpers.tapes import MS
from tests.helpers.whole import query

pytestmark = pytest.mark.server


@pytest.fixture
def shop(mariadb_factory: Any) -> Server:
    """A MariaDB server with an empty table for the statements of the sessions, and an account with a password."""
    return shop_with_account(mariadb_factory())


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """A stack that kills all started programs at its end."""
    with ExitStack() as stack:
        yield stack


def test_steps_of_a_wall_clock_change_nothing(shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """The wall clock of one driver is an hour ahead. During the run, it is set back by two hours."""
    library, clock = tmp_path / "wall_clock.so", tmp_path / "clock"
    source = Path(__file__).parents[2] / "helpers" / "wall_clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, source], check=True)
    clock.write_text("3600")
    bench = Bench(shop, tmp_path, stack, gap_ns=40 * MS)
    lead, port = bench.lead()
    faked = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(clock)}
    asked = [sys.executable, "-c", "import time; print(time.time() - 3600)"]
    shifted = subprocess.run(asked, env={**os.environ, **faked}, capture_output=True, check=True).stdout
    assert abs(float(shifted) - time.time()) < 60
    drivers = [bench.driver(number, port, environment=faked if number == 0 else {}) for number in range(3)]
    lead.saw("0:01 ")
    clock.write_text("-3600")
    code, said = lead.end()
    assert code == 0, said
    assert [driver.end()[0] for driver in drivers] == [0, 0, 0]
    assert written(shop) == WRITTEN
    assert balanced(bench.run)["executed"] == EVENTS
    assert query(f"SELECT max(abs(sent_ns - due_ns)) < 60e9 FROM '{bench.run}/outcomes/*.parquet'") == [(True,)]
    offsets = [driver["offset_ns"] for driver in json.loads((bench.run / "run.json").read_text())["drivers"]]
    assert max(map(abs, offsets)) < 60e9


@pytest.mark.long
@pytest.mark.parametrize("order", [(), ("--order", "commit")], ids=["alone", "together"])
def test_three_drivers_join_over_an_encrypted_connection(
    order: tuple[str, ...], shop: Server, tmp_path: Path, stack: ExitStack
) -> None:
    """Three drivers give the same numbers as one. The network traffic contains no password, statement or key."""
    bench = Bench(shop, tmp_path, stack)
    lead, port = bench.lead(*order)
    link = stack.enter_context(Link(port))
    drivers = [bench.driver(number, link.port, *order) for number in (1, 2, 3)]
    ends = [driver.end() for driver in drivers]
    code, said = lead.end()
    assert (code, [end for end, _ in ends]) == (0, [0, 0, 0]), said + str(ends)
    assert written(shop) == WRITTEN
    assert balanced(bench.run)["executed"] == EVENTS
    key = bench.key.read_bytes().strip()
    assert bench.key.stat().st_mode & 0o077 == 0
    for secret in (PASSWORD.encode(), b"INSERT", b"SELECT", b"shop", key, b'"kind"', b"driver"):
        assert secret not in link.passed
    assert len(link.passed) > 10_000
    info = json.loads((bench.run / "run.json").read_text())
    for driver in info["drivers"]:
        assert abs(driver["offset_ns"]) <= driver["bound_ns"]  # all programs run on one machine and share its clock
    assert not list(tmp_path.glob("part-*.run"))  # delivered parts are removed


@pytest.mark.long
def test_refused_driver_gets_the_reason(shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """The lead refuses a driver with a different key, other options, another tape or an old version. Data without TLS
    is also refused. The run of the other drivers continues.
    """
    bench = Bench(shop, tmp_path, stack, 2)
    lead, port = bench.lead(count=2)
    other = tmp_path / "other.key"
    other.write_text(secrets.token_urlsafe(32))
    other.chmod(0o600)
    code, said = bench.driver(7, port, key=other).end()
    assert code == 1
    assert "the --join-key of the lead process differs from this driver's key" in said
    lead.saw("refused a driver whose key differs from the key of the lead process")
    code, said = bench.driver(7, port, "--speed", "2").end()
    assert code == 1
    assert "differ from the options of the lead process: speed" in said
    (tmp_path / "elsewhere").mkdir()
    code, said = bench.driver(7, port, tapes=prime_set(tmp_path / "elsewhere", 2, 7 * MS)).end()
    assert code == 1
    assert "differs from the tape of the lead process" in said
    with socket.create_connection(("127.0.0.1", port)) as noise:
        noise.sendall(b"GET / HTTP/1.0\r\n\r\n")
        lead.saw("the TLS handshake failed")
    channel = Channel(client_context().wrap_socket(socket.create_connection(("127.0.0.1", port))))
    channel.send("driver", protocol=1, version="0.0.1", nonce="", proof="")
    lead.saw("refused a driver with querytape 0.0.1")
    channel.close()
    assert not list(tmp_path.glob("part-7.run"))
    assert written(shop) == {}
    drivers = [bench.driver(number, port) for number in (1, 2)]
    assert [driver.end()[0] for driver in drivers] == [0, 0]
    assert lead.end()[0] == 0
    assert written(shop) == WRITTEN
    other.chmod(0o644)
    code, said = bench.driver(7, port, key=other).end()
    assert code == 1
    assert "other users can read this key file" in said


@pytest.mark.long
def test_lost_connection_leaves_counted_unknown_events(shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """The lead notices the loss within seconds. The driver finishes its schedule and keeps its part of the run. The
    summary begins with the unknown events, and the exit code is 5.
    """
    bench = Bench(shop, tmp_path, stack, 3, 150 * MS)
    lead, port = bench.lead()
    link = stack.enter_context(Link(port))
    cut, *others = [bench.driver(1, link.port), bench.driver(2, port), bench.driver(3, port)]
    lead.saw(r"0:02 ")
    link.cut()
    at = time.monotonic()
    lead.saw("is lost: the driver sent nothing for 2.5 s")
    noticed = time.monotonic() - at
    code, said = lead.end()
    assert code == 5, said
    summary = said[said.index("UNKNOWN: ") :]
    assert "PARTIAL: driver" in summary
    counts = balanced(bench.run)
    unreported = counts["reasons"]["not_sent"]["driver_lost"]
    assert counts["sent_unknown"] == unreported > 0
    assert counts["executed"] == EVENTS - unreported
    code, said_there = cut.end()
    assert code == 1
    assert "): the driver's part is kept in" in said_there
    assert written(shop) == WRITTEN  # the driver finished its schedule
    part = json.loads((tmp_path / "part-1.run" / "run.json").read_text())
    assert part["accounting"]["balanced"]
    assert part["partial"] is None
    assert [driver.end()[0] for driver in others] == [0, 0]
    collected = collect(bench.run, [tmp_path / "part-1.run"])  # the part contains the missing outcomes
    assert collected.complete
    counts = balanced(bench.run)
    assert (counts["executed"], counts["not_sent"], counts["sent_unknown"]) == (EVENTS, 0, 0)
    assert open_folder("run", bench.run).files("sessions")
    assert query(f"SELECT count(*), sum(executed) FROM '{bench.run}/sessions.parquet'") == [(len(WRITTEN), EVENTS)]
    with pytest.raises(InputError, match="the run already contains all parts"):
        collect(bench.run, [tmp_path / "part-1.run"])
    assert noticed < 30  # 3 s on an idle machine; a busy machine needs more


@pytest.mark.long
def test_all_drivers_stop_if_a_link_is_cut_while_they_wait_for_each_other(
    shop: Server, tmp_path: Path, stack: ExitStack
) -> None:
    """Also the driver behind the link stops, because nobody passes on its commits."""
    bench = Bench(shop, tmp_path, stack, 3, 150 * MS)
    lead, port = bench.lead("--order", "commit")
    link = stack.enter_context(Link(port))
    first = bench.driver(1, link.port, "--order", "commit")
    others = [bench.driver(number, port, "--order", "commit") for number in (2, 3)]
    lead.saw(r"0:02 ")
    link.cut()
    lead.saw("ended early. The other drivers need its commits, so the run stops")
    code, said = lead.end()
    assert code == 5, said
    assert first.end()[0] == 1
    assert [driver.end()[0] for driver in others] == [1, 1]
    assert sum(written(shop).values()) < sum(WRITTEN.values())
    assert json.loads((tmp_path / "part-1.run" / "run.json").read_text())["accounting"]["balanced"]


@pytest.mark.long
def test_missing_driver_ends_the_run_before_any_statement(shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """The lead gives up after the time of `--gather`. It dismisses the drivers that have joined."""
    bench = Bench(shop, tmp_path, stack, 2)
    lead, port = bench.lead("--gather", "5s", count=2)
    there = bench.driver(1, port)
    code, said = lead.end()
    assert code == 1
    assert re.search(r"driver 2 .*did not join within 5 s\. No event was sent", said)
    code, said = there.end()
    assert code != 0
    assert written(shop) == {}
    assert not bench.run.exists()
    assert not (tmp_path / "part-1.run").exists()


@pytest.mark.parametrize("more", [(), ("--on-driver-lost", "resume")], ids=["continue", "resume"])
def test_frozen_lead_loses_no_driver(more: tuple[str, ...], shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """A lead that was frozen for longer than a driver may be silent cannot know whether a driver was silent."""
    bench = Bench(shop, tmp_path, stack, 2, gap_ns=80 * MS)
    lead, port = bench.lead(*more, count=2)
    drivers = [bench.driver(number, port) for number in range(2)]
    lead.saw("0:02 ")
    lead.process.send_signal(signal.SIGSTOP)
    time.sleep(SILENT_S + 1.5)
    lead.process.send_signal(signal.SIGCONT)
    code, said = lead.end()
    assert code == 0, said
    assert "is lost" not in said
    assert [driver.end()[0] for driver in drivers] == [0, 0]
    assert written(shop) == WRITTEN
    assert balanced(bench.run)["executed"] == EVENTS


def test_lead_that_is_lost_before_the_start_time_ends_the_drivers(
    shop: Server, tmp_path: Path, stack: ExitStack
) -> None:
    """The drivers know the start time already, but nothing is due before it."""
    bench = Bench(shop, tmp_path, stack, 2)
    start = datetime.now(UTC) + timedelta(seconds=20)
    lead, port = bench.lead("--start-at", f"{start:%Y-%m-%d %H:%M:%S}", count=2)
    drivers = [bench.driver(number, port) for number in range(2)]
    for driver in drivers:
        driver.saw("0:0[01] ")
    lead.process.send_signal(signal.SIGKILL)
    ends = [driver.end() for driver in drivers]
    assert all(code == 1 and "nothing was sent: the lead process was lost" in said for code, said in ends), ends
    assert written(shop) == {}
    assert not list(tmp_path.glob("part-*.run"))


def test_driver_without_events_succeeds_with_the_run(shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """A driver also refuses a folder that exists, before it joins."""
    bench = Bench(shop, tmp_path, stack, 2)
    chosen = ("--session", "5")
    lead, port = bench.lead(*chosen, count=2)
    (tmp_path / "part-7.run").mkdir()
    code, said = bench.driver(7, port, *chosen).end()
    assert (code, "part-7.run already exists" in said) == (1, True), said
    ends = [driver.end() for driver in [bench.driver(number, port, *chosen) for number in range(2)]]
    assert lead.end()[0] == 0
    assert [code for code, _ in ends] == [0, 0], ends
    assert sum("this driver had nothing to do" in said for _, said in ends) == 1
    assert written(shop) == {5: WRITTEN[5]}
    assert not list(tmp_path.glob("part-[01].run"))


def test_driver_with_another_deal_of_the_tape_is_refused(shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """It would send other sessions than the lead expects."""
    bench = Bench(shop, tmp_path, stack, 2)
    (tmp_path / "other").mkdir()
    other = prime_set(tmp_path / "other", 3, 20 * MS)
    _, port = bench.lead(count=2)
    code, said = bench.driver(7, port, tapes=other).end()
    assert code == 1
    assert "or was dealt differently" in said


def test_killed_lead_ends_waiting_drivers(shop: Server, tmp_path: Path, stack: ExitStack) -> None:
    """Drivers that wait for other drivers end without sending anything."""
    bench = Bench(shop, tmp_path, stack, 2)
    lead, port = bench.lead(count=2)
    there = bench.driver(1, port)
    there.saw("planning|joined")
    lead.process.send_signal(signal.SIGKILL)
    assert there.end()[0] != 0
    assert written(shop) == {}
    assert not (tmp_path / "part-1.run").exists()
