# SPDX-License-Identifier: Apache-2.0
"""Tests of the metrics of a capture, from a file and from live packets."""

import contextlib
import itertools
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pymysql
import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.live import LiveCapture
from querytape.metrics.collector import Sources
from querytape.metrics.names import CAPTURE, DROPPED_BY, capture_values, coverage_value
from querytape.metrics.page import Page
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.live import may_capture, wait_until_it_listens
from tests.helpers.scrapes import Scrape, check_never_decreases, fetch, promtool, scrape

LIVE_ALONE = {
    "querytape_capture_received_packets",
    "querytape_capture_dropped_packets",
    "querytape_capture_coverage_ratio",
}


def test_capture_of_a_file_ends_with_the_numbers_of_its_tape(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    log = Path(__file__).parents[1] / "capture" / "sources" / "logs" / "mysql57_use_rule_and_restart.log"
    lives: list[LiveCapture] = []
    info = capture_source(SOURCES["slowlog"], [str(log)], tmp_path / "t.tape", Settings(running=lives.append))
    sources = Sources()
    sources.put(lambda: capture_values(lives[0]))
    sources.put(lambda: [coverage_value(0.97)], slot="coverage")
    with Page("127.0.0.1", 0, sources.registry()) as page:
        last, plain = scrape(page.url), fetch(page.url)[1]
    for name, value in {
        "events_total": info["counts"]["events"],
        "problems_total": info["counts"]["problems"],
        "not_understood_bytes_total": info["not_understood_bytes"],
        "read_bytes_total": log.stat().st_size,
        "input_bytes": log.stat().st_size,
        "last_event_timestamp_seconds": pytest.approx(info["last_ns"] / 1e9, abs=60),
        "running": 0,
        "coverage_ratio": 0.97,
    }.items():
        assert last.get(f"querytape_capture_{name}") == value
    exported = {family.name for family in last.families}
    assert {name.name for name in CAPTURE} - exported == LIVE_ALONE - {"querytape_capture_coverage_ratio"}
    promtool(request, plain)


@pytest.mark.server
def test_counters_of_a_live_capture_grow(mariadb: Server, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The capture reads packets of the loopback interface. Lost packets are counted by the part that lost them."""
    may_capture(request)
    tape = tmp_path / "live.tape"
    command = [
        sys.executable,
        "-m",
        "querytape",
        "capture",
        "packets",
        "--interface",
        "lo",
        "--port",
        str(mariadb.port),
    ]
    process = subprocess.Popen(
        [*command, "-o", str(tape), "--part-every", "1s", "--metrics", ":0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    url = next(found[1] for line in process.stderr if (found := re.match(r"metrics: (\S+)$", line)))
    wait_until_it_listens(process)
    scrapes = grown(url, mariadb, process)
    with socket.create_connection(("127.0.0.1", int(url.split(":")[2].partition("/")[0]))):  # an idle client
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    check_never_decreases(scrapes)
    last = scrapes[-1]
    assert set(last.by("querytape_capture_dropped_packets_total", "by")) == set(DROPPED_BY)
    assert last.get("querytape_capture_received_packets_total") > 0
    assert last.get("querytape_capture_running") == 1
    assert open_folder("tape", tape).info["counts"]["events"] >= last.get("querytape_capture_events_total") >= 10
    assert ("querytape_capture_input_bytes", frozenset()) not in last.values


def grown(url: str, server: Server, process: "subprocess.Popen[str]") -> list[Scrape]:
    """Send statements to the server until its capture has counted events and packets. Return all scrapes.

    A single scrape may fail while the capture runs. If the capture has ended, the error shows the output of the
    capture.
    """
    scrapes: list[Scrape] = []
    until = time.monotonic() + 60  # the capture reads the kernel's counters once per second
    for n in itertools.count():
        talk(server, f"SELECT {n}")
        try:
            scrapes.append(scrape(url))
        except OSError as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise AssertionError(process.communicate(timeout=5)[1]) from error
            assert len(scrapes) >= n - 1, "no scrape comes through"
            continue
        events = scrapes[-1].get("querytape_capture_events_total")
        if events >= 10 and scrapes[-1].get("querytape_capture_received_packets_total"):
            return scrapes
        assert time.monotonic() < until, scrapes[-1].text
        time.sleep(0.05)
    raise AssertionError


def talk(server: Server, statement: str) -> None:
    """Send a statement over TCP."""

    with (
        pymysql.connect(host="127.0.0.1", port=server.port, user="root", ssl_disabled=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
