# SPDX-License-Identifier: Apache-2.0
"""`--metrics` of complete commands. If the metrics server cannot start, no statement is sent. A slow metrics client
delays nothing.
"""

import http.client
import re
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from querytape.servers.sandbox import Server

from tests.helpers.command_line import run_here
from tests.helpers.scrapes import Scrape, scrape
from tests.helpers.tapes import MS, T0, make_tape


def begun(*arguments: str) -> tuple["subprocess.Popen[str]", str]:
    """Start a command with `--metrics :0`. Return its process and the URL of the metrics."""
    command = [sys.executable, "-m", "querytape", *arguments, "--metrics", ":0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.match(r"metrics: (http://127\.0\.0\.1:\d+/metrics)$", line):
            return process, found[1]
    raise AssertionError(process.communicate())


def until(process: "subprocess.Popen[str]", words: str) -> None:
    """Read the command's error output until a line contains these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("command", ["replay", "sweep", "compare", "capture"])
def test_metrics_port_in_use_is_an_error_before_any_work(command: str, mariadb: Server, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        before = int(mariadb.execute("SHOW GLOBAL STATUS LIKE 'Connections'")[0][1])
        words = [*arguments_of(command, tape, mariadb, tmp_path / "out"), "--metrics", f":{port}"]
        ended = run_here(*words)
        after = int(mariadb.execute("SHOW GLOBAL STATUS LIKE 'Connections'")[0][1])
    sentence = f"querytape: --metrics 127.0.0.1:{port}: Address already in use; use port 0 for a free port\n"
    assert (ended.code, ended.out, ended.err) == (1, "", sentence)
    assert not (tmp_path / "out").exists()
    assert after - before <= 1


def arguments_of(command: str, tape: Path, server: Server, output: Path) -> list[str]:
    """Return the arguments of a command that replays the tape, or that captures a log."""
    if command == "capture":
        log = output.with_name("slow.log")
        log.write_bytes(slow_log(3))
        return [command, "slowlog", str(log), "-o", str(output)]
    targets = (
        [f"--target={side}={server.url()}" for side in "ab"] if command == "compare" else ["--target", server.url()]
    )
    return [command, str(tape), *targets, "-o", str(output)]


def slow_log(events: int) -> bytes:
    """Return a slow log with the given number of statements in two sessions."""
    entries = [
        f"# Time: 2026-11-20T12:00:{n % 60:02}.000000Z\n# User@Host: app[app] @ h [10.0.0.1]  Id: {8 + n % 2}\n"
        f"# Query_time: 0.001000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795176000;\nSELECT {n};\n"
        for n in range(events)
    ]
    return "".join(entries).encode()


def scrapes_of(url: str) -> tuple[list[Scrape], threading.Thread]:
    """Read the metrics until their server stops. Return the results and the reading thread."""
    found: list[Scrape] = []

    def ask() -> None:
        with suppress(OSError, http.client.HTTPException):
            while True:
                found.append(scrape(url))

    thread = threading.Thread(target=ask)
    thread.start()
    return found, thread


@pytest.mark.long
def test_metrics_of_compare_are_labelled_by_side_and_round(mariadb: Server, tmp_path: Path) -> None:
    """Warm-up rounds have metrics as well. The last metrics of each run count all of its events."""
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * 50 * MS} for n in range(20)]
    tape = make_tape(tmp_path / "t.tape", events)
    words = arguments_of("compare", tape, mariadb, tmp_path / "c")
    process, url = begun(*words, "--rounds", "2", "--warmup", "1", "--pause", "1s")
    found, thread = scrapes_of(url)
    assert process.communicate(timeout=300)
    assert process.returncode == 0
    thread.join()
    name = "querytape_replay_statements_total"
    most: dict[tuple[str, str], float] = {}
    for each in found:
        sides = []
        for (metric, labels), value in each.values.items():
            if metric == name and ("class", "read") in labels:
                side, number = (dict(labels)[label] for label in ("side", "round"))
                sides.append(side)
                assert value >= most.get((side, number), 0)
                most[side, number] = value
        assert len(sides) == len(set(sides))
    assert most == {(side, number): 20 for side in "ab" for number in ("warm-1", "1", "2")}
    assert ("querytape_replay_lateness_seconds_count", frozenset({("side", "b"), ("round", "2")})) in found[-1].values


@pytest.mark.long
def test_metrics_of_sweep_are_labelled_by_sessions(mariadb: Server, tmp_path: Path) -> None:
    events = [
        {"session": s, "statement": f"SELECT {n}", "start_ns": T0 + n * MS} for s in range(1, 4) for n in range(50)
    ]
    words = arguments_of("sweep", make_tape(tmp_path / "t.tape", events), mariadb, tmp_path / "s")
    process, url = begun(*words, "--sessions", "1,2", "--each", "2s")
    found, thread = scrapes_of(url)
    assert process.communicate(timeout=300)
    assert process.returncode == 0
    thread.join()
    levels = [list(each.by("querytape_replay_open_sessions", "sessions")) for each in found]
    assert {tuple(each) for each in levels} <= {(), ("1",), ("2",)}
    assert ["1"] in levels
    assert ["2"] in levels


def test_quick_mode_refuses_the_metrics_option(mariadb: Server, tmp_path: Path) -> None:
    words = arguments_of("compare", tmp_path / "t.tape", mariadb, tmp_path / "c")
    ended = run_here(*words, "--quick", "--metrics", ":0")
    assert ended.code == 2
    assert "--metrics cannot be combined with --quick" in ended.err


@pytest.mark.long
def test_hanging_metrics_clients_do_not_delay_the_end_of_a_run(mariadb: Server, tmp_path: Path) -> None:
    """Each client has sent only half of its request."""
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * 50 * MS} for n in range(40)]
    tape = make_tape(tmp_path / "t.tape", events)
    process, url = begun("replay", str(tape), "--target", mariadb.url(), "-o", str(tmp_path / "a.run"))
    port = int(url.split(":")[2].partition("/")[0])
    until(process, "time   open")
    assert scrape(url).get("querytape_replay_planned_events") == 40
    with ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            connection.sendall(b"GET /met")
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "40 events = 40 executed" in out
    assert "Traceback" not in err
