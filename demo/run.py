# SPDX-License-Identifier: Apache-2.0
"""Runs the demo: records the traffic of a shop, replays the tape on a copy and on a worse server, compares the runs.

The demo runs querytape commands and prints each command, so that a user can repeat the commands on other servers.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..common.errors import QuerytapeError, TargetError
from ..common.signals import unwind_on_signals
from ..common.temporary import check_temporary
from ..servers.data_folder import copy_data
from ..servers.programs import find_program, missing_sentence
from ..servers.sandbox import Server, private_folder, start_server
from ..servers.target import PASSWORD_VARIABLES
from .shop import create_shop
from .workload import drive

SESSIONS = 48
WIDTH = 80
ENDS_WITHIN_S = 60

PRODUCTION = {"innodb-buffer-pool-size": "128M"}
LOG_ON = "SET GLOBAL slow_query_log = ON, GLOBAL long_query_time = 0"
# A careless migration: one index is missing, and the memory settings are those of a small test machine.
CANDIDATE = {
    "innodb-buffer-pool-size": "128M",
    "sort-buffer-size": "1K",
    "join-buffer-size": "128",
    "tmp-memory-table-size": "1K",
    "key-buffer-size": "8",
}
FORGOTTEN = "ALTER TABLE orders DROP INDEX customer"


Style = Literal["text", "command", "title"]
Show = Callable[[str, Style], None]


def run_demo(show: Show, seconds: float = 20, keep: Path | None = None) -> Path:
    """Run the whole demo and return its folder: log, tape, two runs, report.html. All servers are stopped at the end.

    `show` prints one text and flushes. `seconds` is the length of the workload. `keep` is the folder, or None for a
    temporary folder. Raises TargetError with the install command if this machine has no MariaDB.
    """
    needs_mariadb()
    if keep is None:
        check_temporary()
    folder = keep or Path(tempfile.mkdtemp(prefix="querytape-demo-"))
    began = time.monotonic()
    with open_demo(show, folder) as demo:
        folder = demo.folder
        data = demo.record(seconds, demo.servers / "before")
        demo.capture()
        demo.replay(data, "copy", PRODUCTION)
        demo.replay(data, "candidate", CANDIDATE)
        demo.report()
    show("", "text")
    demo.say(f"Done in {time.monotonic() - began:.0f} s. All private servers are stopped. All files are in {folder}")
    show(f"\nThe report: {folder / 'report.html'}", "command")
    return folder


def record_demo(show: Show, seconds: float, folder: Path) -> None:
    """Run only the first step of the demo.

    Keeps the slow log. Also keeps a copy of the data folder from before the traffic as `data`. Raises QuerytapeError if
    `data` already exists, because this folder may belong to a user. Raises TargetError if this machine has no MariaDB.
    """
    needs_mariadb()
    if (folder / "data").exists():
        raise QuerytapeError(f"{folder / 'data'} already exists: choose another folder")
    with open_demo(show, folder) as demo:
        demo.record(seconds, demo.folder / "data")
        demo.say(
            f"The slow log is {demo.folder / 'slow.log'}. The data from before the traffic is in {demo.folder / 'data'}"
        )


def needs_mariadb() -> None:
    """Raise TargetError with the install command if this machine has no MariaDB."""
    if find_program("mariadb") is None:
        raise TargetError(f"{missing_sentence('mariadb')}\nThen run `querytape demo` again.")


@contextmanager
def open_demo(show: Show, folder: Path) -> "Iterator[Demo]":
    """Make the folders of a demo. Remove the folder of its servers afterwards."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with unwind_on_signals(), ExitStack() as stack:
        servers = private_folder("qt-demo-")
        stack.callback(shutil.rmtree, servers, ignore_errors=True)
        yield Demo(show, servers, folder)


@dataclass(frozen=True)
class Demo:
    """The steps of the demo. `servers` is the folder of its private servers. `folder` is the folder of its results."""

    show: Show
    servers: Path
    folder: Path

    def record(self, seconds: float, data: Path) -> Path:
        """Run the workload on the production server and keep its slow log.

        The data before the workload is copied to `data`. Returns the path of this copy.
        """
        self.title(1, "Production")
        with start_server("mariadb", self.servers / "production", PRODUCTION) as production:
            self.say(
                f"A private MariaDB {production.version} runs on port {production.port}. The demo creates the data of"
                f" a small shop ..."
            )
            connection = production.connect(autocommit=False)
            rows = create_shop(connection)
            connection.commit()
            connection.close()
            production.stop()
            copy_data(production.datadir, data)
            production.start()
            self.say(
                f"The shop has {rows:,} rows. The data folder was copied while the server was stopped, before the"
                " traffic. From now on, the slow log records every statement:"
            )
            self.show(f"\nmysql> {LOG_ON};\n", "command")
            production.execute(LOG_ON)
            self.say(f"{SESSIONS} connections browse, buy, cause errors and reconnect for {seconds:.0f} s ...")
            tally = drive(lambda: production.connect("shop"), seconds, SESSIONS)
            self.say(
                f"{tally.statements:,} statements ran on {tally.connects} connections. {tally.errors} of them failed"
                " intentionally."
            )
            production.stop()
            shutil.copyfile(production.slow_log, self.folder / "slow.log")
        return data

    def capture(self) -> None:
        """Capture the slow log into a tape."""
        self.title(2, "Record the slow log on a tape")
        self.show(f"\n$ cd {self.folder}", "command")
        self.querytape("capture slowlog slow.log", "-o shop.tape")

    def replay(self, data: Path, name: str, config: dict[str, str]) -> None:
        """Restore the production data on a new server with this configuration, and replay the tape on this server."""
        self.title(3 if name == "copy" else 4, f"Replay the tape on the {name}")
        with start_server("mariadb", self.servers / name, config, template=data) as server:
            if name == "candidate":
                server.execute(FORGOTTEN, "shop")
                self.say(
                    "This server has the data of the production server, but the index orders.customer is missing."
                    " Sorts, joins and"
                    " temporary tables have 1 KB of memory."
                )
            else:
                self.say(
                    "This server has the data and the configuration of the production server. Any difference is noise."
                )
            warm_up(server)
            self.querytape(
                "replay shop.tape",
                f"--target {server.url('shop')}",
                f"-o {name}.run",
                "--allow-writes",
                "--target-is-disposable",
            )

    def report(self) -> None:
        """Compare the two runs."""
        self.title(5, "Compare the two runs")
        # Exit code 3 means that the second run is worse than the first. The demo expects this result.
        self.querytape("report shop.tape copy.run candidate.run", "--html report.html", accepted=(0, 3))

    def querytape(self, *parts: str, accepted: tuple[int, ...] = (0,)) -> None:
        """Print a querytape command, wrapped to the terminal's width. Run the command in the folder as a user would.

        Raises QuerytapeError if the exit code of the command is not in `accepted`.
        """
        self.show_command("$ querytape", *parts)
        arguments = " ".join(parts).split()
        code = run_to_its_end([sys.executable, "-m", "querytape", *arguments], self.folder)
        if code not in accepted:
            raise QuerytapeError(f"`querytape {arguments[0]}` in the demo ended with exit code {code}")

    def show_command(self, program: str, *parts: str) -> None:
        """Print a command, wrapped to the terminal's width between its parts."""
        lines = [program]
        for part in parts:
            if len(lines[-1]) + len(part) < WIDTH - 2:
                lines[-1] += f" {part}"
            else:
                lines.append(f"    {part}")
        self.show("\n" + " \\\n".join(lines) + "\n", "command")

    def title(self, number: int, text: str) -> None:
        """Print the title of a step."""
        self.show(f"\n{number}. {text}", "title")

    def say(self, text: str) -> None:
        """Print a text, wrapped to the terminal's width."""
        self.show(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False), "text")


def run_to_its_end(words: list[str], folder: Path) -> int:
    """Run a program in a folder and return its exit code. An interrupt terminates the program and waits for its end.

    Password variables for servers of the caller are removed from the environment. The demo's servers have no passwords.
    """
    environ = {name: value for name, value in os.environ.items() if name not in PASSWORD_VARIABLES}
    with subprocess.Popen(words, cwd=folder, env=environ) as child:
        try:
            return child.wait()
        except BaseException:
            child.terminate()
            try:
                child.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                child.kill()
            raise


def warm_up(server: Server) -> None:
    """Read every table once, so that no replay pays for cold caches."""
    for table in ("customers", "products", "orders", "order_lines"):
        server.execute(f"SELECT COUNT(*) FROM {table}", "shop")
