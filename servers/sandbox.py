# SPDX-License-Identifier: Apache-2.0
"""Run private servers for tests, demo and experiments, each in its own folder. The servers end when their parent ends.

A server runs as an unprivileged user and listens on 127.0.0.1 and a Unix socket. `root` needs no password. The
parent-death signal belongs to the *thread* that started the server. Start servers in the main thread for this reason.
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
from ..common.temporary import check_temporary
from .data_folder import Account, check_data, copy_data, own_account
from .private_options import ALONE
from .programs import Program, find_program, missing_sentence, search_path, server_account

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
TEMPORARY = Path("/tmp")
MAX_SOCKET_PATH = 100  # maximum length of a socket path; the system allows 108 bytes (sun_path)

# Settings for a small server that starts quickly.
DEFAULTS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "2",
    "performance-schema": "OFF",
    "secure-file-priv": "",
}
# `loose-` lets MySQL 5.7 start, although MySQL 5.7 does not know these options.
MYSQL_DEFAULTS = {"loose-innodb-redo-log-capacity": "16M", "loose-mysqlx": "OFF"}

_templates: dict[tuple[str, ...], Path] = {}


@dataclass
class Server:
    """A private server, running or stopped.

    After its `with` block, the server is stopped and its temporary folder is removed.
    """

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
        return self.folder / "data"

    @property
    def socket(self) -> Path:
        return self.folder / "s"

    @property
    def error_log(self) -> Path:
        """The path of the error log."""
        return self.folder / "error.log"

    @property
    def slow_log(self) -> Path:
        """The path of the slow log, which is written when `slow_query_log` is on."""
        return self.folder / "slow.log"

    @property
    def pid(self) -> int:
        """The process id. Raises TargetError if the server is not running."""
        if self._process is None:
            raise TargetError(f"the private {self.kind} in {self.folder} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the server process is running."""
        return self._process is not None and self._process.poll() is None

    def url(self, db: str = "") -> str:
        """Return the URL of the server for `querytape replay --target`."""
        return f"mysql://{self.user}@127.0.0.1:{self.port}" + (f"/{db}" if db else "")

    def connect(self, db: str | None = None, **options: Any) -> "Connection[Any]":
        """Open a connection over TCP.

        `options` are arguments of PyMySQL. Without a password, TLS is off unless `options` enable it.
        """
        arguments: dict[str, Any] = {"charset": "utf8mb4", "autocommit": True, "database": db}
        arguments |= {"ssl_disabled": not self.password and "ssl" not in options, **options}
        return pymysql.connect(host="127.0.0.1", port=self.port, user=self.user, password=self.password, **arguments)

    def execute(self, sql: str, db: str | None = None) -> tuple[tuple[Any, ...], ...]:
        """Run one statement on a separate connection and return its rows."""
        with closing(self._by_socket(database=db, autocommit=True)) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return tuple(cursor.fetchall())

    def _by_socket(self, **options: Any) -> "Connection[Any]":
        """Open a connection over the Unix socket without TLS, because loading certificates takes PyMySQL 40 ms."""
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
        """Log in as an account that the server creates at each start. Used for a server that runs on copied data."""
        self.user, self.password, self._init_file = account.user, account.password, account.file

    def start(self) -> Self:
        """Start the server on its data folder and wait until it answers."""
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
        """Stop the server with SIGTERM. Kill the server if it still runs after a minute."""
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
        """Kill the server at once (SIGKILL), as in a crash."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        """Stop the server and remove its folder."""
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
    """Start a private server of a kind: `mariadb`, `mysql`, or a version such as `mysql-8.0`.

    - `folder`: the server's folder, created if missing. Existing data in the folder are used. None means a temporary
      folder, which `with` removes.
    - `template`: a stopped server's data folder, copied if `folder` has no data. Without a template, fresh data are
      created.
    - `data`: a stopped server's data folder of another user. A copy of it is used. Its passwords are unknown, so the
      server
      creates its own account. The server follows no source and runs no events.

    Raises TargetError if no such server is found or the server does not start. Raises InputError if `data` cannot be
    used.
    """
    program = find_program(kind)
    if program is None:
        raise TargetError(missing_sentence(kind))
    with held():  # delays signals until the cleanup is registered
        place = private_folder(room=copies_folder() if data else TEMPORARY) if folder is None else _own(folder)
        server = Server(kind, program, place, dict(config or {}), owns_folder=folder is None)
        if server.owns_folder:
            atexit.register(_discard, server)  # removes the server if a signal arrives before the caller's `with`
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
    """Kill a server and remove its folder, if the folder still exists."""
    if server.folder.exists():
        server.kill()
        server.remove()


def private_folder(prefix: str = "qt-", room: Path = TEMPORARY) -> Path:
    """Create a temporary folder in `room` that the servers' account can enter. Return the folder."""
    return _own(Path(tempfile.mkdtemp(prefix=prefix, dir=room)))


def copies_folder() -> Path:
    """Return the parent folder for copies of data: TMPDIR, or else /tmp. Raises InputError for an invalid TMPDIR."""
    check_temporary()
    return Path(os.environ.get("TMPDIR") or TEMPORARY)


def template_data(program: Program) -> Path:
    """Return the data folder of a fresh server.

    The folder is created once per program and removed when this process ends.
    """
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
    """Create a folder if it is missing and make the servers' account its owner."""
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
    """Start a program as the servers' account. The kernel kills the program when the thread that started it ends.

    Its temporary files are in a separate folder next to the log. Servers with a shared /tmp removed each other's files.
    setpriv changes the user and then sets the death signal, because changing the user clears the signal.
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
            start_new_session=True,  # Ctrl-C in the terminal must not reach the server
        )
