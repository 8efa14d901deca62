# SPDX-License-Identifier: Apache-2.0
"""The demo: record a small shop's traffic, replay it on a copy and on a worse server, compare the two runs.

It runs the command line's own commands and shows each, so that what is seen here can be done elsewhere.
"""

import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import ExitStack
from pathlib import Path

import click

from ..errors import QuerytapeError
from ..replay.sandbox import Server, copy_data, private_folder, start_server
from ..signals import unwind_on_signals
from .shop import create_shop
from .workload import drive

SESSIONS = 48
WIDTH = 80

PRODUCTION = {"innodb-buffer-pool-size": "128M"}
LOG_ON = "SET GLOBAL slow_query_log = ON, GLOBAL long_query_time = 0"
# What a careless migration may look like: one index forgotten, and memory as in the box it was tried on.
CANDIDATE = {
    "innodb-buffer-pool-size": "128M",
    "sort-buffer-size": "1K",
    "join-buffer-size": "128",
    "tmp-memory-table-size": "1K",
    "key-buffer-size": "8",
}
FORGOTTEN = "ALTER TABLE orders DROP INDEX customer"


def run_demo(seconds: float = 20, keep: Path | None = None) -> Path:
    """Run the whole demo and return its folder: log, tape, two runs, report.html. No server is left at the end."""
    folder = (keep or Path(tempfile.mkdtemp(prefix="querytape-demo-"))).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with unwind_on_signals(), ExitStack() as stack:
        servers = private_folder("qt-demo-")
        stack.callback(shutil.rmtree, servers, ignore_errors=True)
        data = _record(servers, folder, seconds)
        _capture(folder)
        _replay(servers, data, folder, "copy", PRODUCTION)
        _replay(servers, data, folder, "candidate", CANDIDATE)
        _report(folder)
    click.echo()
    _say(f"Done in {time.monotonic() - began:.0f} s; no server is left running. Everything is in {folder}")
    click.secho(f"\nThe report: {folder / 'report.html'}", bold=True)
    return folder


def _record(servers: Path, folder: Path, seconds: float) -> Path:
    """Drive the workload on production, keep its slow log; return a copy of its data from before."""
    _title(1, "Production")
    with start_server("mariadb", servers / "production", PRODUCTION) as production:
        _say(f"A private MariaDB {production.version} on port {production.port}, with a small shop on it ...")
        connection = production.connect(autocommit=False)
        rows = create_shop(connection)
        connection.commit()
        connection.close()
        production.stop()
        data = servers / "before"
        copy_data(production.datadir, data)
        production.start()
        _say(
            f"{rows:,} rows. Its data were copied while it was stopped: that is what it looked like before the "
            "traffic. Now its slow log is to have everything:"
        )
        click.secho(f"\nmysql> {LOG_ON};\n", bold=True)
        production.execute(LOG_ON)
        _say(f"{SESSIONS} connections browse, buy, err and reconnect for {seconds:.0f} s ...")
        tally = drive(lambda: production.connect("shop"), seconds, SESSIONS)
        _say(f"{tally.statements:,} statements on {tally.connects} connections; {tally.errors} were meant to fail.")
        production.stop()
        shutil.copyfile(production.slow_log, folder / "slow.log")
    return data


def _capture(folder: Path) -> None:
    _title(2, "Record the slow log on a tape")
    click.secho(f"\n$ cd {folder}", bold=True)
    _querytape(folder, "capture slowlog slow.log", "-o shop.tape")


def _replay(servers: Path, data: Path, folder: Path, name: str, config: dict[str, str]) -> None:
    """Restore production's data on a new server of this configuration and replay the tape there."""
    _title(3 if name == "copy" else 4, f"Replay it on the {name}")
    with start_server("mariadb", servers / name, config, template=data) as server:
        if name == "candidate":
            server.execute(FORGOTTEN, "shop")
            _say(
                "The same data, but somebody forgot the index orders.customer, and sorts, joins and temporary tables "
                "have 1 KB of memory."
            )
        else:
            _say("The same data, the same configuration: what differs here is noise.")
        _settle(server)
        _querytape(
            folder,
            "replay shop.tape",
            f"--target {server.url('shop')}",
            f"-o {name}.run",
            "--allow-writes",
            "--target-is-disposable",
        )


def _settle(server: Server) -> None:
    """Read every table once, so that no replay pays for the first reading."""
    for table in ("customers", "products", "orders", "order_lines"):
        server.execute(f"SELECT COUNT(*) FROM {table}", "shop")


def _report(folder: Path) -> None:
    _title(5, "Compare the two runs")
    # Exit code 3 says that the second run is worse: here that is the point.
    _querytape(folder, "report shop.tape copy.run candidate.run", "--html report.html", fine=(0, 3))


def _querytape(folder: Path, *parts: str, fine: tuple[int, ...] = (0,)) -> None:
    """Show a command of ours, in lines of at most the terminal's width, and run it in the folder as a user would."""
    lines = ["$ querytape"]
    for part in parts:
        if len(lines[-1]) + len(part) < WIDTH - 2:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}")
    click.secho("\n" + " \\\n".join(lines) + "\n", bold=True)
    arguments = " ".join(parts).split()
    done = subprocess.run([sys.executable, "-m", "querytape", *arguments], cwd=folder)
    if done.returncode not in fine:
        raise QuerytapeError(f"the demo's `querytape {arguments[0]}` ended with {done.returncode}")


def _title(number: int, text: str) -> None:
    click.secho(f"\n{number}. {text}", bold=True, fg="cyan")


def _say(text: str) -> None:
    click.echo(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))
