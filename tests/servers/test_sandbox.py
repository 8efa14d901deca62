# SPDX-License-Identifier: Apache-2.0
"""Tests of private servers. They are unprivileged, can be restarted and copied, and end together with their parent."""

import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from querytape.common.errors import TargetError
from querytape.common.signals import unwind_on_signals
from querytape.servers import sandbox
from querytape.servers.data_folder import copy_data
from querytape.servers.sandbox import Server, start_server

from ..conftest import skip_loudly

pytestmark = pytest.mark.server

CHILD = """
import sys, time
from pathlib import Path
from querytape.servers.sandbox import start_server
server = start_server("mariadb", template=Path(sys.argv[1]))
print(server.pid, server.folder, flush=True)
time.sleep(60)
"""


def gone(pid: int) -> bool:
    """Return whether a process has ended. A zombie has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_private_server_does_not_run_as_root(server: Server) -> None:
    """The private server answers on its own port."""
    assert server.execute("SELECT @@port") == ((server.port,),)
    assert Path(f"/proc/{server.pid}").stat().st_uid != 0
    assert server.execute("SELECT VERSION()")[0][0].startswith(server.version)


def test_copied_server_has_the_data_and_its_own_port(server_factory: Callable[..., Server]) -> None:
    """The copy is made from a stopped server."""
    first = server_factory("mariadb")
    first.execute("CREATE DATABASE d")
    first.execute("CREATE TABLE d.t (a INT PRIMARY KEY)")
    first.execute("INSERT INTO d.t VALUES (7), (23)")
    first.stop()
    second = server_factory("mariadb", template=first.datadir)
    assert second.execute("SELECT SUM(a) FROM d.t") == ((30,),)
    first.start()
    assert first.port != second.port


def test_copies_of_mysql_have_different_uuids(server_factory: Callable[..., Server]) -> None:
    one, two = server_factory("mysql80"), server_factory("mysql80")
    assert one.execute("SELECT @@server_uuid") != two.execute("SELECT @@server_uuid")


def test_options_reach_the_server(server_factory: Callable[..., Server]) -> None:
    """Options may be written with underscores and override the defaults. The slow log is at the reported path."""
    server = server_factory("mariadb", {"slow_query_log": "ON", "long_query_time": "0"})
    server.execute("SELECT 'seen'")
    server.stop()  # the server may log a statement after it has answered the client
    assert b"SELECT 'seen'" in server.slow_log.read_bytes()


def test_invalid_option_shows_the_error_log(server_factory: Callable[..., Server]) -> None:
    with pytest.raises(TargetError, match="no-such-option"):
        server_factory("mariadb", {"no-such-option": "1"})


def test_unknown_kind_has_an_install_hint() -> None:
    with pytest.raises(TargetError, match="fetch-mysql"):
        start_server("mysql-4.1")


def test_killed_parent_leaves_no_server(mariadb: Server) -> None:
    """The program that started the server is killed with kill -9."""
    command = [sys.executable, "-c", CHILD, str(sandbox.template_data(mariadb.program))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        assert not gone(int(pid))
        parent.kill()
    deadline = time.monotonic() + 10
    while not gone(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert gone(int(pid))
    subprocess.run(["rm", "-rf", folder], check=True)


def test_killed_server_starts_again_on_its_data(server_factory: Callable[..., Server]) -> None:
    server = server_factory("mariadb")
    server.execute("CREATE DATABASE kept")
    server.kill()
    assert not server.running
    server.start()
    assert ("kept",) in server.execute("SHOW DATABASES")


def test_copy_leaves_out_the_uuid(tmp_path: Path) -> None:
    """The file auto.cnf contains the UUID of MySQL."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "auto.cnf").write_text("[auto]\nserver-uuid=1\n")
    (tmp_path / "a" / "ibdata1").write_text("x")
    copy_data(tmp_path / "a", tmp_path / "b")
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["ibdata1"]


def test_private_folder_belongs_to_the_server_account(request: pytest.FixtureRequest) -> None:
    """The account of the server must be able to enter its folder."""
    if os.geteuid() != 0:
        skip_loudly(request, "not root: that a server's folder is given to another account is not tested")
    folder = sandbox.private_folder()
    try:
        assert folder.stat().st_uid != 0
    finally:
        folder.rmdir()


def test_each_server_has_its_own_temporary_folder(server_factory: Callable[..., Server]) -> None:
    """MariaDB reuses the names of temporary files, so two servers must not share a folder."""
    for kind in ("mariadb", "mysql80"):
        server = server_factory(kind)
        assert server.execute("SELECT @@tmpdir") == ((str(server.folder / "tmp"),),)


def test_signal_during_the_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal arrives at each line of the start until the caller has the server. The folder of temporary files stays
    empty.
    """
    at_exit: list[tuple[Any, ...]] = []
    monkeypatch.setattr(sandbox, "TEMPORARY", tmp_path)
    monkeypatch.setattr(sandbox, "copy_data", lambda source, target: target.mkdir())
    monkeypatch.setattr(sandbox, "template_data", lambda program: tmp_path)
    monkeypatch.setattr(Server, "start", lambda server: server)
    monkeypatch.setattr(atexit, "register", lambda *what: at_exit.append(what))
    names = {sandbox.start_server.__code__.co_name, sandbox.private_folder.__code__.co_name, "_own", "mkdtemp"}
    lines, step = 0, 0
    while step <= lines:
        step, lines = step + 1, 0

        def follow(frame: FrameType, event: str, _: Any, step: int = step) -> Any:
            nonlocal lines
            lines += event in ("line", "return")
            if event in ("line", "return") and lines == step:
                os.kill(os.getpid(), signal.SIGTERM)
            return follow

        def ours(frame: FrameType, event: str, argument: Any, follow: Any = follow) -> Any:
            return follow if frame.f_code.co_name in names else None

        try:
            with unwind_on_signals():
                sys.settrace(ours)
                start_server("mariadb").remove()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        while at_exit:
            function, *given = at_exit.pop()
            function(*given)
        assert list(tmp_path.iterdir()) == [], step
    assert lines > 10
