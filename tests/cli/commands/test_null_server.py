# SPDX-License-Identifier: Apache-2.0
"""`querytape null-server`: prints its port, and ends with standard input."""

import socket
import subprocess
import sys


def test_a_client_is_greeted_at_the_printed_port_until_input_ends() -> None:
    command = [sys.executable, "-m", "querytape", "null-server", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        word, port = server.stdout.readline().split()
        with socket.create_connection(("127.0.0.1", int(port)), timeout=10) as client:
            assert len(client.recv(4)) == 4
        server.communicate(timeout=20)
    assert word == "port"
    assert server.returncode == 0
