# SPDX-License-Identifier: Apache-2.0
"""The demo: record a small shop's traffic, replay it on a copy and on a worse server, compare the two runs.

It runs the command line's own commands and shows each, so that what is seen here can be done elsewhere.
"""

import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import click

from ..errors import QuerytapeError
from ..replay.sandbox import Server, copy_data, private_folder, start_server
from .shop import create_shop
from .workload import drive

SESSIONS = 48
WIDTH = 80

PRODUCTION = {"slow-query-log": "ON", "long-query-time": "0", "innodb-buffer-pool-size": "128M"}
COPY = {"innodb-buffer-pool-size": "128M"}
# What a careless migration may look like: one index forgotten, and memory as in the box it was tried on.
CANDIDATE = {
    "innodb-buffer-pool-size": "8M",
    "sort-buffer-size": "1K",
    "join-buffer-size": "128",
    "tmp-memory-table-size": "1K",
    "key-buffer-size": "8",
}
FORGOTTEN = "ALTER TABLE orders DROP INDEX customer"


def run_demo(seconds: float = 20, keep: Path | None = None) -> Path:
    """Run the whole demo and return its folder: tape, two runs, report.html. No server is left at the end."""
    folder = keep or Path(tempfile.mkdtemp(prefix="querytape-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with _terminated_like_interrupted(), ExitStack() as stack:
        servers = private_folder("qt-demo-")
        stack.callback(shutil.rmtree, servers, ignore_errors=True)
        data, log = _record(servers, seconds)
        tape = _capture(log, folder)
        runs = [
            _replay(stack, servers, tape, data, "copy", COPY, folder),
            _replay(stack, servers, tape, data, "candidate", CANDIDATE, folder),
        ]
        report = _report(tape, runs, folder)
    _say(f"Done in {time.monotonic() - began:.0f} s; no server is left running.")
    click.echo(f"  report  {report}\n  tape    {tape}")
    click.echo("".join(f"  run     {run}\n" for run in runs), nl=False)
    return folder


def _record(servers: Path, seconds: float) -> tuple[Path, Path]:
    """Drive the workload on production; return a copy of its data from before, and its slow log."""
    _title(1, "Production")
    with start_server("mariadb", servers / "production", {"innodb-buffer-pool-size": "128M"}) as production:
        _say(f"A private MariaDB {production.version} on port {production.port} with a small shop on it ...")
        connection = production.connect(autocommit=False)
        rows = create_shop(connection)
        connection.commit()
        connection.close()
        production.stop()
        data = servers / "before"
        copy_data(production.datadir, data)
        _say(
            f"{rows:,} rows. Its data were copied while it was stopped: the copy is what production looked "
            "like before the traffic. Now it runs with slow_query_log=ON, long_query_time=0."
        )
        production.config = dict(PRODUCTION)
        production.start()
        _say(f"{SESSIONS} connections browse, buy, err and reconnect for {seconds:.0f} s ...")
        tally = drive(lambda: production.connect("shop"), seconds, SESSIONS)
        _say(f"{tally.statements:,} statements on {tally.connects} connections, {tally.errors} meant to fail.")
        log = production.slow_log
    return data, log


def _capture(log: Path, folder: Path) -> Path:
    _title(2, "Record the slow log on a tape")
    tape = folder / "shop.tape"
    _querytape("capture", "slowlog", str(log), "-o", str(tape))
    return tape


def _replay(
    stack: ExitStack, servers: Path, tape: Path, data: Path, name: str, config: dict[str, str], folder: Path
) -> Path:
    """Restore production's data on a new server of this configuration and replay the tape there."""
    number = 3 if name == "copy" else 4
    _title(number, f"Replay it on the {name}")
    server = stack.enter_context(start_server("mariadb", servers / name, config, template=data))
    if name == "candidate":
        server.execute(FORGOTTEN, "shop")
        _say(
            "The same data, but somebody forgot the index orders.customer, and the buffer pool has 5 MB, "
            "sorts and temporary tables 1 KB."
        )
    else:
        _say("The same data, the same configuration: what differs here is noise.")
    _settle(server)
    run = folder / f"{name}.run"
    _querytape(
        "replay",
        str(tape),
        "--target",
        server.url("shop"),
        "-o",
        str(run),
        "--allow-writes",
        "--target-is-disposable",
    )
    server.stop()
    return run


def _settle(server: Server) -> None:
    """Read every table once, so that no replay pays for the first reading."""
    for table in ("customers", "products", "orders", "order_lines"):
        server.execute(f"SELECT COUNT(*) FROM {table}", "shop")


def _report(tape: Path, runs: list[Path], folder: Path) -> Path:
    _title(5, "Compare the two runs")
    report = folder / "report.html"
    # Exit code 3 says that the second run is worse: here that is the point.
    _querytape("report", str(tape), *map(str, runs), "--html", str(report), fine=(0, 3))
    return report


def _querytape(*arguments: str, fine: tuple[int, ...] = (0,)) -> None:
    """Show a command of ours and run it as a user would."""
    shown = " \\\n    ".join(_lines(("querytape", *arguments)))
    click.secho(f"\n$ {shown}\n", bold=True)
    done = subprocess.run([sys.executable, "-m", "querytape", *arguments])
    if done.returncode not in fine:
        raise QuerytapeError(f"the demo's `querytape {arguments[0]}` ended with {done.returncode}")


def _lines(words: tuple[str, ...]) -> Iterator[str]:
    """Yield a command in lines of the terminal's width, as it could be typed."""
    line = ""
    for word in map(shlex.quote, words):
        if line and len(line) + len(word) > WIDTH - 8:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def _title(number: int, text: str) -> None:
    click.secho(f"\n{number}. {text}", bold=True, fg="cyan")


def _say(text: str) -> None:
    click.echo(textwrap.fill(text, WIDTH))


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind as Ctrl-C does, so that servers and their folders go in order."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
