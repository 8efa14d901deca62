# SPDX-License-Identifier: Apache-2.0
"""Run private servers for tests, demo and experiments, each in its own folder; they end when their parent ends.

A server runs as an unprivileged user, listens on 127.0.0.1 and a unix socket, and lets `root` in without
a password. Its parent-death signal belongs to the *thread* that started it: start servers in the main thread.
"""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pymysql
from pymysql.connections import Connection

from ..common.errors import TargetError
from ..common.signals import held
from .data_folder import Account, check_data, copy_data, own_account
from .private_options import ALONE
from .programs import Program, find_program, missing_sentence, search_path, server_account

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
TEMPORARY = Path("/tmp")
MAX_SOCKET_PATH = 100  # sun_path has 108 bytes

# Small and quick to start.
DEFAULTS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "2",
    "performance-schema": "OFF",
    "secure-file-priv": "",
}
# `loose-`: 5.7 does not know these and starts all the same.
MYSQL_DEFAULTS = {"loose-innodb-redo-log-capacity": "16M", "loose-mysqlx": "OFF"}

_templates: dict[tuple[str, ...], Path] = {}


@dataclass
class Server:
    """One private server, running or stopped. As a context manager it stops and removes a folder it made."""

    kind: str
    program: Program
    folder: Path
    config: dict[str, str]
    owns_folder: bool = False
    user: str = "root"
    port: int = 0
    password: str = field(default="", repr=False)
    _init_file: Path | None = field(default=None, repr=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def version(self) -> str:
        """The version, such as `10.11.6` or `8.0.31`."""
        return self.program.version

    @property
    def datadir(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    @property
    def socket(self) -> Path:
        """The unix socket."""
        return self.folder / "s"

    @property
    def error_log(self) -> Path:
        """The server's error log."""
        return self.folder / "error.log"

    @property
    def slow_log(self) -> Path:
        """Where the slow log goes once `slow_query_log` is on."""
        return self.folder / "slow.log"

    @property
    def pid(self) -> int:
        """The process id. Raises TargetError where it is not running."""
        if self._process is None:
            raise TargetError(f"the private {self.kind} in {self.folder} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.poll() is None

    def url(self, db: str = "") -> str:
        """Return the address that `querytape replay --target` takes."""
        return f"mysql://{self.user}@127.0.0.1:{self.port}" + (f"/{db}" if db else "")

    def connect(self, db: str | None = None, **options: Any) -> "Connection[Any]":
        """Open a connection over TCP; `options` are PyMySQL's. Without a password it needs no TLS."""
        arguments: dict[str, Any] = {"charset": "utf8mb4", "autocommit": True, "database": db}
        arguments |= {"ssl_disabled": not self.password and "ssl" not in options, **options}
        return pymysql.connect(host="127.0.0.1", port=self.port, user=self.user, password=self.password, **arguments)

    def execute(self, sql: str, db: str | None = None) -> tuple[tuple[Any, ...], ...]:
        """Run one statement on a connection of its own and return its rows."""
        with closing(self._by_socket(database=db, autocommit=True)) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return tuple(cursor.fetchall())

    def _by_socket(self, **options: Any) -> "Connection[Any]":
        """Open a connection without TLS, whose certificates take PyMySQL 40 ms."""
        own: dict[str, Any] = {"unix_socket": str(self.socket), "user": self.user, "password": self.password}
        return pymysql.connect(**own, charset="utf8mb4", ssl_disabled=True, **options)

    def log_tail(self, lines: int = 15) -> str:
        """Return the end of the error log."""
        try:
            text = self.error_log.read_text(encoding="utf-8", errors="backslashreplace")
        except OSError:
            return "(no error log)"
        return "\n".join(text.splitlines()[-lines:])

    def use(self, account: Account) -> None:
        """Log in as an account that the server makes whenever it starts, as one that runs on data of somebody else."""
        self.user, self.password, self._init_file = account.user, account.password, account.file

    def start(self) -> Self:
        """Start it on its data folder and wait until it answers."""
        for attempt in range(3):
            self.port = _free_port()
            command = [*self.program.command, "--no-defaults", *self.program.own, *self._arguments()]
            self._process = _spawn(command, self.error_log)
            try:
                self._wait_until_ready()
                return self
            except TargetError:
                self.kill()
                taken = "already in use" in self.log_tail(60)
                if attempt == 2 or not taken:
                    raise
        return self

    def stop(self) -> None:
        """Stop it in order (SIGTERM), by force after a minute."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End it at once, as a crash would (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        """Stop it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.owns_folder:
            self.kill()
            self.remove()
        else:
            self.stop()

    def _arguments(self) -> list[str]:
        own = {
            "datadir": str(self.datadir),
            "socket": str(self.socket),
            "port": str(self.port),
            "bind-address": "127.0.0.1",
            "pid-file": str(self.folder / "pid"),
            "log-error": str(self.error_log),
            "slow-query-log-file": str(self.slow_log),
        }
        if self._init_file is not None:
            own |= {"init-file": str(self._init_file), **ALONE}
        config = {key.replace("_", "-"): value for key, value in self.config.items()}
        options = {**DEFAULTS, **(MYSQL_DEFAULTS if self.program.family == "mysql" else {}), **own, **config}
        switches = ["--skip-log-bin"] if "log-bin" not in options else []
        return [*switches, *(f"--{key}={value}" for key, value in options.items())]

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        last: object = "no answer"
        while time.monotonic() < deadline:
            if not self.running:
                raise TargetError(
                    f"the private {self.kind} {self.version} in {self.folder} ended during startup. "
                    f"The end of its error log:\n{self.log_tail()}"
                )
            try:
                self._by_socket(connect_timeout=5).close()
                return
            except pymysql.MySQLError as error:
                last = error
            time.sleep(0.02)
        raise TargetError(
            f"the private {self.kind} {self.version} in {self.folder} did not answer within "
            f"{START_TIMEOUT_S:.0f} s ({last}). The end of its error log:\n{self.log_tail()}"
        )


def start_server(
    kind: str = "mariadb",
    folder: Path | None = None,
    config: Mapping[str, str] | None = None,
    template: Path | None = None,
    data: Path | None = None,
) -> Server:
    """Start a private server of a kind: `mariadb`, `mysql`, or one with the start of a version, `mysql-8.0`.

    `folder` is made where it is missing; without it the server has a temporary one that `with` removes.
    A folder that has data is started on them; otherwise `template`, a stopped server's data folder, is
    copied, or a fresh one. `data`: a stopped server's data folder that is not ours, to be copied: its passwords are
    unknown, so the server has an account of its own; it follows no source and runs no events.
    Raises TargetError where no such server is found or it does not start, InputError where `data` will not do.
    """
    program = find_program(kind)
    if program is None:
        raise TargetError(missing_sentence(kind))
    with held():  # no signal comes between the folder and what knows that it has to go
        place = private_folder(room=copies_folder() if data else TEMPORARY) if folder is None else _own(folder)
        server = Server(kind, program, place, dict(config or {}), owns_folder=folder is None)
        if server.owns_folder:
            atexit.register(_discard, server)  # wherever a signal comes before somebody's `with` has the server
    try:
        if len(str(place / "s")) > MAX_SOCKET_PATH:
            raise TargetError(f"{place}: the path is too long for a Unix socket. Use a folder with a shorter path")
        if data is not None:
            check_data(data)
            server.use(own_account(place))
        if not server.datadir.exists():
            copy_data(data or template or template_data(program), server.datadir)
        return server.start()
    except BaseException:
        server.kill()
        if server.owns_folder:
            server.remove()
        raise


def _discard(server: Server) -> None:
    """End a server and remove its folder, if that is still there."""
    if server.folder.exists():
        server.kill()
        server.remove()


def private_folder(prefix: str = "qt-", room: Path = TEMPORARY) -> Path:
    """Make a temporary folder in `room` that the server's user can enter, and return it."""
    return _own(Path(tempfile.mkdtemp(prefix=prefix, dir=room)))


def copies_folder() -> Path:
    """Return where copies of somebody's data are made: the folder TMPDIR, else /tmp."""
    return Path(os.environ.get("TMPDIR") or TEMPORARY)


def template_data(program: Program) -> Path:
    """Return the data folder of a fresh server: made once per program in this process, removed at its end."""
    if program.command not in _templates:
        folder = private_folder("qt-template-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        data = _own(folder / "data")
        log = folder / "init.log"
        process = _spawn(program.init_command(data), log)
        if process.wait() != 0:
            tail = log.read_text(encoding="utf-8", errors="backslashreplace")[-2000:]
            raise TargetError(f"{program.command[0]} could not create a data folder. The end of its log:\n{tail}")
        _templates[program.command] = data
    return _templates[program.command]


def _own(folder: Path) -> Path:
    """Make a folder where it is missing and give it to the servers' user."""
    folder.mkdir(parents=True, exist_ok=True)
    account = server_account()
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _spawn(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a program as the servers' user; the kernel kills it when the thread that started it ends.

    Its temporary files are in a folder of its own next to the log: servers that shared /tmp removed each other's.
    setpriv sets the death signal after it has changed the user: a change of user would clear it.
    """
    guard = ["setpriv", "--pdeathsig=KILL"]
    account = server_account()
    if account is not None:
        guard += [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    with log.open("ab") as output:
        if account is not None:
            os.fchown(output.fileno(), account.pw_uid, account.pw_gid)
        return subprocess.Popen(
            [*guard, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": search_path(), "LC_ALL": "C", "TMPDIR": str(_own(log.parent / "tmp"))},
            start_new_session=True,  # Ctrl-C in the terminal is for us, not for the server
        )
