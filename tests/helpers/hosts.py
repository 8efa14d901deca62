# SPDX-License-Identifier: Apache-2.0
"""Hosts on a bridge for a replay with several drivers.

Each host is a network namespace with its own monotonic clock offset.

`unshare --net python -m tests.helpers.hosts FOLDER [cut|alone]` starts a MariaDB, a lead process and three drivers, each
on its own host. The results go to FOLDER/said.json. With `cut`, the link of the first driver goes down during the
replay. With `alone`, each host replays one tape of the set with --start-at, without a lead process.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from querytape.demo.hosts import PATIENCE_S, ip, make_bridge, start_on_host
from querytape.servers.sandbox import Server, start_server

from tests.helpers.primes import prime_set, written
from tests.helpers.tapes import MS

PASSWORD = "known-to-each-host"


def first_of_each(server: Server, tapes: Path) -> list[float]:
    """Return the times of the first statement of each tape in the server's general log (seconds since 1970)."""
    import duckdb

    driver_of = {}
    with duckdb.connect() as con:
        for name in ("01", "02", "03"):
            for (session,) in con.execute(f"SELECT session FROM '{tapes}/{name}.tape/sessions.parquet'").fetchall():
                driver_of[int(session)] = name
    first: dict[str, float] = {}
    logged = server.execute(
        "SELECT convert(argument USING utf8), unix_timestamp(event_time) FROM mysql.general_log"
        " WHERE argument LIKE 'INSERT INTO log%, 1)'"
    )
    for text, at in logged:
        name = driver_of[int(text.split(",")[-2])]
        first[name] = min(first.get(name, float("inf")), float(at))
    return sorted(first.values())


def replay_on_hosts(server: Server, folder: Path, cut: bool) -> dict[str, Any]:
    """Replay with three drivers on three hosts. Return the output and the results of all processes."""
    tapes = prime_set(folder, 3, 100 * MS if cut else 20 * MS)
    logins, key, run = folder / "my.cnf", folder / "join.key", folder / "a.run"
    logins.write_text(f"[client]\nuser=app\npassword={PASSWORD}\n")
    target = ["--target", f"mysql://10.77.0.1:{server.port}/shop", "--defaults-file", logins]
    given = [*target, "--allow-writes", "--target-is-disposable", "--partial-ok", "--join-key", key]
    program = [sys.executable, "-m", "querytape"]
    how = ["--drivers", "join:3", "--listen", "10.77.0.1:7000", "-o", run]
    lead = subprocess.Popen(
        [*map(str, [*program, "replay", tapes, *how, *given])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert lead.stderr is not None
    lines: list[tuple[float, str]] = []

    def read() -> None:
        assert lead.stderr is not None
        for line in lead.stderr:
            lines.append((time.monotonic(), line))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    wait_for(lines, "waiting for")
    drivers = []
    for number in range(3):
        words = ["driver", tapes, "--join", "10.77.0.1:7000", "-o", folder / f"part{number}.run", *given]
        drivers.append(start_on_host(number, [*program, *words]))
    cut_at = noticed_at = 0.0
    if cut:
        wait_for(lines, "0:02 ")
        ip("link", "set", "port0", "down")
        cut_at = time.monotonic()
        noticed_at = wait_for(lines, "is lost")
    assert lead.stdout is not None
    out = lead.stdout.read()
    lead.wait(PATIENCE_S)
    reader.join(PATIENCE_S)
    return {
        "code": lead.returncode,
        "said": out + "".join(line for _, line in lines),
        "info": json.loads((run / "run.json").read_text()) if (run / "run.json").exists() else None,
        "noticed_s": noticed_at - cut_at,
        "first": first_of_each(server, tapes),
        "written": written(server),
        "driver_codes": [driver.wait(PATIENCE_S) for driver in drivers],
    }


def replay_alone_on_hosts(server: Server, folder: Path) -> dict[str, Any]:
    """Replay each tape of a set on its own host at the same time, and report the runs together."""
    tapes = prime_set(folder, 3, 20 * MS, 100 * MS)
    logins, runs = folder / "my.cnf", folder / "all.runs"
    logins.write_text(f"[client]\nuser=app\npassword={PASSWORD}\n")
    runs.mkdir()
    target = ["--target", f"mysql://10.77.0.1:{server.port}/shop", "--defaults-file", logins]
    given = [*target, "--allow-writes", "--target-is-disposable"]
    program = [sys.executable, "-m", "querytape"]
    start = datetime.fromtimestamp(time.time() + 8, UTC).isoformat()
    hosts = []
    for number in range(3):
        tape, run = tapes / f"{number + 1:02d}.tape", runs / f"{number + 1:02d}.run"
        hosts.append(start_on_host(number, [*program, "replay", tape, "--start-at", start, "-o", run, *given]))
    said = [host.communicate(timeout=PATIENCE_S)[0] for host in hosts]
    report = [*map(str, [*program, "report", tapes, runs, "--json", folder / "r.json"])]
    shown = subprocess.run(report, capture_output=True, text=True, timeout=PATIENCE_S)
    return {
        "codes": [host.returncode for host in hosts],
        "said": "\n".join(said),
        "start": datetime.fromisoformat(start).timestamp(),
        "first": first_of_each(server, tapes),
        "written": written(server),
        "report_code": shown.returncode,
        "report_said": shown.stdout + shown.stderr,
        "report": json.loads((folder / "r.json").read_text()) if (folder / "r.json").exists() else None,
    }


def wait_for(lines: list[tuple[float, str]], text: str) -> float:
    """Return the time of the first line that contains this text. Raises AssertionError after PATIENCE_S."""
    until = time.monotonic() + PATIENCE_S
    while not (found := [at for at, line in lines if text in line]):
        assert time.monotonic() < until, "".join(line for _, line in lines)
        time.sleep(0.01)
    return found[0]


def main(folder: Path, how: Sequence[str]) -> None:
    """Create the bridge and the server, replay, and write the results."""
    make_bridge()
    config = {"bind_address": "0.0.0.0", "general_log": "ON", "log_output": "TABLE", "skip_name_resolve": "ON"}
    with start_server("mariadb", config=config) as server:
        server.execute("CREATE DATABASE shop")
        server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
        server.execute(f"CREATE USER app@'%' IDENTIFIED BY '{PASSWORD}'")
        server.execute("GRANT ALL ON *.* TO app@'%'")
        said = (
            replay_alone_on_hosts(server, folder) if "alone" in how else replay_on_hosts(server, folder, "cut" in how)
        )
    (folder / "said.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
