# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape null-server`, which prints its port and ends when its standard input closes."""

import socket
import subprocess
import sys


def test_null_server_greets_clients_until_stdin_closes() -> None:
    command = [sys.executable, "-m", "querytape", "null-server", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        word, port = server.stdout.readline().split()
        with socket.create_connection(("127.0.0.1", int(port)), timeout=10) as client:
            assert len(client.recv(4)) == 4
        server.communicate(timeout=20)
    assert word == "port"
    assert server.returncode == 0
