# SPDX-License-Identifier: Apache-2.0
"""Victim commands that follow a growing input or connect to real servers."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pymysql
from querytape.schemas import open_folder, read_json
from querytape.servers.sandbox import Server, private_folder, start_server

from .growing_log import GrowingLog, wait_until
from .kills import ANY, Victim, judge_nothing, judge_run, judge_runs, judge_tape, sentence
from .logs import mariadb_entry, write_mariadb
from .processes import start
from .rds import emulated_aws, entries, write
from .tapes import MS, T0, make_tape

FOLLOWED_S = 2.5
TEXTS = (
    "SELECT COUNT(*), MAX(note) FROM t WHERE customer = {n}",
    "SELECT note FROM t WHERE id = {n}",
    "SELECT id, customer FROM t WHERE id BETWEEN {n} AND {n} + 9 ORDER BY customer",
    "SELECT a.id FROM t AS a JOIN t AS b ON a.customer = b.id WHERE b.id = {n}",
)


# ---- growing inputs ----


@contextmanager
def following(folder: Path, url: str, port: int) -> Iterator[dict[str, Victim]]:
    """Yield captures that follow a log and an interface, a replay of a growing tape, and server commands.

    `port` is the port of the null server.
    """
    ended = threading.Event()
    logs = [GrowingLog(folder / name / "slow.log", Random(1)) for name in made(folder, "followed", "taped")]
    threads = [threading.Thread(target=_grow, args=(log, ended), daemon=True) for log in logs]
    threads.append(threading.Thread(target=_talk, args=(port, ended), daemon=True))
    for thread in threads:
        thread.start()
    live = folder / "live.tape"
    follow = ("capture", "slowlog", str(logs[0].path), "--follow", "--from-end", "--part-every", "100ms")
    packets = ("capture", "packets", "--interface", "lo", "--port", str(port), "--duration", "800ms")
    capture = start(
        [
            *(sys.executable, "-m", "querytape", "capture", "slowlog", str(logs[1].path), "--follow", "--from-end"),
            *("--part-every", "100ms", "--keep", "4s", "-o", str(live)),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: any((live / "events").glob("*.parquet")), "the tape under way has a part")
        yield {
            "capture-follow": Victim(
                (*follow, "-o", "{out}"), judge_tape, ANY, codes=(0, 1, 4, 130), ends_s=FOLLOWED_S
            ),
            "capture-keep": Victim(
                (*follow, "--keep", "300ms", "-o", "{out}"), judge_tape, ANY, codes=(0, 1, 4, 130), ends_s=FOLLOWED_S
            ),
            "capture-interface": Victim((*packets, "-o", "{out}"), judge_tape, ANY),
            "replay-follow": Victim(
                ("replay", str(live), "--follow", "--partial-ok", "--target", url, "-o", "{out}"),
                judge_followed,
                ANY,
                ends_s=FOLLOWED_S,
            ),
            "null-server": Victim(("null-server",), judge_nothing, ends_s=0.5),
            "serve": Victim(("serve", str(live.parent), "--address", ":0"), judge_nothing, ends_s=2),
        }
    finally:
        capture.send_signal(signal.SIGTERM)
        capture.wait()
        ended.set()
        for thread in threads:
            thread.join()


def made(folder: Path, *names: str) -> tuple[str, ...]:
    """Create folders and return their names."""
    for name in names:
        (folder / name).mkdir()
    return names


def _grow(log: GrowingLog, ended: threading.Event) -> None:
    """Append to a log, and replace it with a new file from time to time."""
    number = 0
    while not ended.wait(0.02):
        for _ in range(20):
            number += 1
            second = 1_718_000_000 + number // 1000
            # The null server has no schema, so a schema in the log would make the replay fail.
            log.write(mariadb_entry(second, number % 9, 0.001, f"SELECT {number}", schema="").encode())
        if number % 4000 == 0:
            log.remove(b"")
    log.close()


def _talk(port: int, ended: threading.Event) -> None:
    """Send statements to the null server until the test ends."""
    while not ended.is_set():
        with suppress(Exception), closing(_connected(port)) as con, con.cursor() as cursor:
            for number in range(50):
                cursor.execute(f"SELECT {number}")
                ended.wait(0.005)


def _connected(port: int) -> Any:
    return pymysql.connect(host="127.0.0.1", port=port, user="app", ssl_disabled=True)


def judge_followed(path: Path, victim: Victim) -> list[str]:
    """Check that the run of a growing tape balances against the copy of the tape that the replay wrote."""
    if not path.exists():
        return []
    own = path.with_suffix(".tape")
    if not own.exists():
        return [] if not (path / "run.json").exists() else ["a run without its tape"]
    wrong = judge_tape(own, victim)
    code, more = sentence("report", str(own), str(path))
    if code or more or wrong:
        return wrong + more
    info = read_json("run", path / "run.json")
    if not info.get("finished"):
        return []
    accounting = info["accounting"]
    if not accounting["balanced"] or accounting["tape_events"] != open_folder("tape", own).info["counts"]["events"]:
        wrong.append(f"the accounting: {accounting}")
    return wrong


# ---- servers and services ----


@contextmanager
def rds_victims(folder: Path) -> Iterator[dict[str, Victim]]:
    """Yield a capture of an RDS instance. After each kill the parameters are unchanged, or --restore restores them."""
    kept = folder / "rds.json"
    command = ("capture", "rds", "shop-1", "--restore-file", str(kept))
    with emulated_aws(folder / "aws") as aws, mock.patch.dict(os.environ, aws.environ(folder / "state")):
        aws.instance()
        before = aws.values()
        write(aws, entries(0, 300))

        def after() -> list[str]:
            wrong = sentence(*command, "--restore", may=(0,))[1] if kept.exists() else []
            if aws.values() != before:
                wrong.append(f"{aws.values()}, was {before}")
            return wrong + (["the restore file is still there"] if kept.exists() else [])

        yield {
            "capture-rds": Victim(
                (*command, "--duration", "500ms", "--poll", "100ms", "-o", "{out}"),
                judge_tape,
                ANY,
                codes=(0, 1, 4, 130),
                after=after,
            )
        }


@contextmanager
def server_victims(folder: Path) -> Iterator[dict[str, Victim]]:
    """Yield the commands that query real servers or start private servers."""
    data = private_folder()
    tape = asked_tape(folder / "asked.tape")
    config = {"query_cache_type": "ON", "query_cache_size": "1M"}
    try:
        with start_server("mariadb", data) as stopped:
            prepare(stopped)
        with start_server("mariadb", config=config) as server:
            prepare(server)
            yield _asking(tape, server) | _private(tape, data / "data")
    finally:
        shutil.rmtree(data)


def prepare(server: Server) -> None:
    """Create the database `shop` with a table `t` and 2,000 rows."""
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, customer INT, name VARCHAR(40), note VARCHAR(80))", "shop")
    server.execute("INSERT INTO t SELECT seq, seq % 500, 'n', MD5(seq) FROM seq_1_to_2000", "shop")


def asked_tape(path: Path) -> Path:
    """Create a tape of reads that are 1 ms apart."""
    events = [
        {
            "statement": TEXTS[number % 4].format(n=1 + number % 1000),
            "digest": f"{1 + number % 4:016x}",
            "db": "shop",
            "session": 1 + number % 3,
            "start_ns": T0 + number * MS,
            "duration_ns": MS,
        }
        for number in range(400)
    ]
    return make_tape(path, events)


def _asking(tape: Path, server: Server) -> dict[str, Victim]:
    """Return the commands that use one server as both sides."""
    url = server.url("shop")
    sides = ("--target", f"a={url}", "--target", f"b={url}")
    log = server.folder / "any.log"
    write_mariadb(log, [(1_718_000_000, n % 9, 0.001, f"SELECT {n}") for n in range(3000)])
    rounds = ("--rounds", "1", "--pause", "0s", "--no-query-cache")
    compare = ("compare", str(tape), *sides, *rounds, "-o", "{out}", "--", "--speed", "2")

    def idle() -> list[str]:
        """Check that no statement of a killed command still runs."""
        running = "SELECT info FROM information_schema.processlist WHERE command <> 'Sleep' AND id <> connection_id()"
        try:
            wait_until(lambda: not server.execute(running), "statements end")
        except AssertionError:
            return [f"still runs: {server.execute(running)}"]
        return []

    return {
        "inspect-source": Victim(("inspect", str(tape), "--source", url), judge_nothing, after=idle),
        "capture-source": Victim(
            ("capture", "slowlog", str(log), "--source", url, "-o", "{out}"), judge_tape, 3000, after=idle
        ),
        "plans": Victim(("plans", str(tape), *sides, "-o", "{out}"), judge_plans, codes=(0, 1, 4, 130), after=idle),
        "quick": Victim(
            ("compare", str(tape), *sides, "--quick", "--within", "2s", "-o", "{out}"),
            judge_quick,
            tape=tape,
            after=idle,
        ),
        "compare-cache": Victim(compare, judge_runs, 400, tape, after=idle),
    }


def _private(tape: Path, data: Path) -> dict[str, Victim]:
    """Return the commands that start private servers."""

    def state() -> list[tuple[str, int, int]]:
        found = [(path, path.stat()) for path in sorted(data.rglob("*"))]
        return [(str(path), entry.st_size, entry.st_mtime_ns) for path, entry in found]

    before = state()

    def untouched() -> list[str]:
        return [] if state() == before else ["the data folder is another"]

    sandbox = ("--target", f"sandbox?data={data}")
    ddl = ("--ddl", "ALTER TABLE t ADD INDEX k (customer)", "--rounds", "1", "--pause", "0s")
    replay = ("replay", str(tape), *sandbox, "-o", "{out}")
    return {
        "replay-sandbox": Victim(replay, judge_run, 400, tape, after=untouched),
        "try": Victim(
            ("try", str(tape), *sandbox, *ddl, "-o", "{out}", "--", "--pace", "none"),
            judge_runs,
            400,
            tape,
            after=untouched,
        ),
        "demo": Victim(("demo", "--seconds", "2", "--keep", "{out}"), judge_demo, ANY),
    }


def judge_plans(path: Path, victim: Victim) -> list[str]:
    """Return the faults in a folder of plans: truncated JSON files."""
    if not path.exists():
        return []
    wrong = [f"{each.name}: half" for each in path.glob("*.json") if not each.read_text().rstrip().endswith(("}", "]"))]
    return wrong


def judge_quick(path: Path, victim: Victim) -> list[str]:
    """Return the faults in the result of a quick comparison. It must produce a report or an error message."""
    return sentence("report", str(path))[1] + judge_runs(path, victim) if path.exists() else []


def judge_demo(path: Path, victim: Victim) -> list[str]:
    """Return the faults in the tape and the runs of a demo. A tape or run must be readable or missing."""
    tape = path / "shop.tape"
    if not tape.exists():
        return []
    wrong = judge_tape(tape, victim)
    if wrong or not tape_is_finished(tape):
        return wrong
    events = open_folder("tape", tape).info["counts"]["events"]
    return judge_runs(path, Victim((), judge_nothing, events, tape))


def tape_is_finished(tape: Path) -> bool:
    """Return whether a tape is finished."""
    return bool(read_json("tape", tape / "tape.json").get("finished"))
