# SPDX-License-Identifier: Apache-2.0
"""Which process the target is."""

import os
import socket
from pathlib import Path

import pytest
from querytape.replay.observe.target_process import listener, local_process, pid_file
from querytape.servers.facts import Facts
from querytape.servers.sandbox import Server
from querytape.servers.target import Target


def test_who_listens(tmp_path: Path) -> None:
    """The kernel says; a file that is no socket, no path, and one that is too long have nobody."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert listener(str(path)) == os.getpid()
        here = {"port": "3307", "socket": str(path)}
        target = Target("u", "db", "127.0.0.1", 3307)
        assert local_process(target, Facts("8", hostname=socket.gethostname(), variables=here)) == os.getpid()
        assert local_process(target, Facts("8", hostname="elsewhere", variables=here)) is None
        assert local_process(target, Facts("8", hostname=socket.gethostname(), variables={**here, "port": "1"})) is None
    (tmp_path / "file").touch()
    for wrong in ("", "relative", str(tmp_path / "file"), str(tmp_path / "none"), "/" + "x" * 200, "/a\0b"):
        assert listener(wrong) is None


def test_a_relative_pid_file_is_in_the_data_folder() -> None:
    assert pid_file({"pid_file": "db.pid", "datadir": "/var/lib/mysql/"}) == "/var/lib/mysql/db.pid"
    assert pid_file({"pid_file": "/run/db.pid"}) == "/run/db.pid"
    assert pid_file({}) == ""


@pytest.mark.server
def test_a_real_server_is_found_by_socket_and_by_port(shop: Server) -> None:
    assert listener(str(shop.socket)) == shop.pid
